"""The types that a column may have, in one spelling."""

import pytest

from spark_jobs.config.types import check_type, decimal_precision, is_complex


@pytest.mark.parametrize(
    ("written", "spelling"),
    [
        ("string", "string"),
        ("BIGINT", "bigint"),
        ("integer", "int"),
        ("long", "bigint"),
        ("decimal", "decimal(10,0)"),
        ("Decimal( 12 , 2 )", "decimal(12,2)"),
        ("decimal(5)", "decimal(5,0)"),
        ("decimal(38,38)", "decimal(38,38)"),
        ("array<Integer>", "array<int>"),
        ("map<string, array<long>>", "map<string,array<bigint>>"),
        ("struct<a: int, b struct<Name:string>>", "struct<a:int,b:struct<Name:string>>"),
    ],
)
def test_a_type_has_one_spelling(written: str, spelling: str) -> None:
    assert check_type(written) == spelling
    assert check_type(spelling) == spelling


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("bigin", "'bigin' is not a type that Spark knows; did you mean 'bigint'? allowed: string, boolean"),
        ("datetime", "did you mean 'timestamp'?"),
        ("datetime64[ns]", "did you mean 'timestamp'?"),
        ("number", "did you mean 'decimal(p,s)'?"),
        ("numeric(12,2)", "did you mean 'decimal(p,s)'?"),
        ("text", "did you mean 'string'?"),
        ("str", "did you mean 'string'?"),
        ("object", "did you mean 'string'?"),
        ("int64", "did you mean 'bigint'?"),
        ("float64", "did you mean 'double'?"),
        ("bool", "did you mean 'boolean'?"),
        ("list<string>", "did you mean 'array<type>'?"),
        ("double precision", "'precision' stands after its end; write double alone"),
        ("timestamp with time zone", "'with' stands after its end; write timestamp alone"),
        ("string[]", "write array<string> alone"),
        ("array<strin>", "'strin' is not a type that Spark knows; did you mean 'string'?"),
        ("decimal(39,2)", "decimal(39,2) is not possible; allowed: 1 to 38 digits"),
        ("decimal(4,5)", "decimal(4,5) is not possible"),
        ("decimal(0)", "decimal(0,0) is not possible"),
        ("timestamp_ntz", "not every Delta reader has; use timestamp"),
        ("variant", "not every Delta reader has; use string"),
        ("array<binary>", "records are kept as text; use string"),
        ("array", "the text ends where '<' after array is expected"),
        ("array<int", "the text ends where '>' at the end of array"),
        ("int int", "'int' stands after its end"),
        ("map<array<int>,int>", "'array<int>' cannot be the key of a map; use string"),
        ("struct<a:int,A:string>", "has the field 'A' twice"),
        ("struct<>", "'>' stands where the name of a field is expected"),
        ("array<" * 30 + "int" + ">" * 30, "nested deeper than 20 levels"),
        ("", "the type is empty; allowed: string"),
        ("int; drop table x", "';' stands after its end"),
    ],
)
def test_other_types_are_refused_with_the_reason(written: str, reason: str) -> None:
    with pytest.raises(ValueError, match=r"^.+$") as caught:
        check_type(written)

    assert reason in str(caught.value)


def test_complex_and_decimal_types_are_told_apart() -> None:
    assert [
        is_complex(name)
        for name in ("array<int>", "map<string,int>", "struct<a:int>", "string", "decimal(10,0)")
    ] == [True] * 3 + [False] * 2
    assert decimal_precision("decimal(12,2)") == (12, 2)
    assert decimal_precision("bigint") is None
