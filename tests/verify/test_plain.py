"""Records decoded in plain Python: what fits its type exactly, what does not, and what is not judged."""

from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.config.silver import Column
from spark_jobs.verify import plain
from spark_jobs.verify.plain import (
    MISFIT,
    UNSURE,
    BrokenRecordError,
    PlainTable,
    UnsureRecordError,
    decode_plain,
)


def table(record_format: str = "json", explode: str | None = None, **columns: Any) -> PlainTable:
    declared = {
        name: Column.model_validate(column if isinstance(column, dict) else {"type": column})
        for name, column in columns.items()
    }
    return PlainTable(record_format, declared, explode)


def value(kind: str, token: str) -> Any:
    return decode_plain(f'{{"a": {token}}}', table(a=kind))[0]["a"]


@pytest.mark.parametrize(
    ("kind", "token", "expected"),
    [
        ("bigint", "12", 12),
        ("bigint", '"12"', 12),
        ("bigint", "9223372036854775808", MISFIT),
        ("tinyint", "128", MISFIT),
        ("int", '"x"', MISFIT),
        ("int", "true", MISFIT),
        ("int", "12.0", UNSURE),
        ("int", '" 12"', UNSURE),
        ("int", "null", None),
        ("decimal(12,2)", "1.5", Decimal("1.50")),
        ("decimal(12,2)", '"-0.05"', Decimal("-0.05")),
        ("decimal(12,2)", "1.005", MISFIT),
        ("decimal(12,2)", "1.500", UNSURE),
        ("decimal(12,2)", "10000000000", MISFIT),
        ("decimal(12,2)", "1234567890.1234567", UNSURE),
        ("decimal(30,4)", "12345678901234567890123456.7891", Decimal("12345678901234567890123456.7891")),
        ("decimal(12,2)", "1e2", UNSURE),
        ("decimal(12,2)", '"1,5"', MISFIT),
        ("boolean", "false", False),
        ("boolean", '"true"', True),
        ("boolean", '"yes"', UNSURE),
        ("boolean", "1.0", UNSURE),
        ("decimal(38,0)", "9" * 38, Decimal("9" * 38)),
        ("boolean", '"maybe"', MISFIT),
        ("string", '"\\u00e9 "', "é "),
        ("string", '""', ""),
        ("string", "12", "12"),
        ("string", "1.50", UNSURE),
        ("string", '"\\ud800"', UNSURE),
        ("string", "{}", UNSURE),
        ("date", '"2024-02-29"', "2024-02-29"),
        ("date", '"2023-02-29"', MISFIT),
        ("date", '"2024-2-1"', UNSURE),
        ("date", '"today"', MISFIT),
        ("timestamp", '"1970-01-01T00:00:01.5Z"', 1_500_000),
        ("timestamp", '"1970-01-01 05:30:00+05:30"', 0),
        ("timestamp", '"1969-12-31T16:00:00-08:00"', 0),
        ("timestamp", '"2024-01-01T24:00:00Z"', MISFIT),
        ("timestamp", '"12:30"', UNSURE),
        ("timestamp", '"now"', MISFIT),
        ("timestamp", '"2024-01-01T10:00:00 Europe/Berlin"', UNSURE),
    ],
)
def test_a_value_fits_its_type_exactly_or_is_none_or_is_not_judged(
    kind: str, token: str, expected: Any
) -> None:
    found = value(kind, token)
    assert (found, type(found)) == (expected, type(expected))


def test_paths_lead_into_objects_and_stop_at_what_is_not_there() -> None:
    nested = table(city={"type": "string", "from": "who.address.city"})
    assert decode_plain('{"who": {"address": {"city": "Ulm"}}}', nested) == {0: {"city": "Ulm"}}
    assert decode_plain('{"who": null}', nested) == {0: {"city": None}}
    with pytest.raises(UnsureRecordError):
        decode_plain('{"who": "me"}', nested)


def test_each_element_of_an_exploded_array_is_a_row_with_what_is_beside_it() -> None:
    lines = table(
        explode="order.lines",
        id={"type": "int", "from": "order.id"},
        sku={"type": "string", "from": "order.lines.sku"},
    )
    assert decode_plain('{"order": {"id": 7, "lines": [{"sku": "a"}, {}]}}', lines) == {
        1: {"id": 7, "sku": "a"},
        2: {"id": 7, "sku": None},
    }
    assert decode_plain('{"order": {"id": 7}}', lines) == {}
    with pytest.raises(UnsureRecordError):
        decode_plain('{"order": {"lines": [1]}}', lines)


def test_a_record_with_too_many_elements_for_its_length_is_no_record(monkeypatch: pytest.MonkeyPatch) -> None:
    lines, record = table(explode="lines", n={"type": "int", "from": "lines.n"}), '{"lines": [{}, {}]}'
    monkeypatch.setattr(plain, "MOST_EXPLODED", 2 * len(record))

    assert decode_plain(record, lines) == {1: {"n": None}, 2: {"n": None}}
    with pytest.raises(BrokenRecordError):
        decode_plain(f"{record} ", lines)


@pytest.mark.parametrize("record", ["[]", "7", '"a"', "null", '{"a": 1, "a": 2}'])
def test_what_is_no_object_or_says_a_field_twice_is_no_record(record: str) -> None:
    with pytest.raises(BrokenRecordError):
        decode_plain(record, table(a="int"))


@pytest.mark.parametrize(
    "record", ["{'a': 1}", '{"a": NaN}', '{"a": 1', '{"a": 1, "A": 2}', '{"A": 1}', "[" * 100_000]
)
def test_what_another_parser_may_take_is_not_judged(record: str) -> None:
    with pytest.raises(UnsureRecordError):
        decode_plain(record, table(a="int"))


def test_in_a_sheet_names_are_whole_and_an_empty_field_is_null() -> None:
    sheet = table("csv", price={"type": "decimal(9,2)", "from": "net.price"}, name="string")
    assert decode_plain('{"net.price": "2.50", "name": ""}', sheet) == {
        0: {"price": Decimal("2.50"), "name": None}
    }


def test_a_line_of_text_is_its_value() -> None:
    notes = table("text", line={"type": "string", "from": "value"}, level="string")
    assert decode_plain("any {text", notes) == {0: {"line": "any {text"}}
    assert notes.why_not("level") == "fields"


def test_columns_that_are_never_judged_say_why() -> None:
    kinds = table(
        a={"type": "int", "sql": "b + 1"},
        b="int",
        c={"type": "string", "rest": True},
        d="double",
        e="array<int>",
    )
    assert {name: kinds.why_not(name) for name in kinds.columns} == {
        "a": "sql",
        "b": None,
        "c": "rest",
        "d": "double",
        "e": "array<int>",
    }
