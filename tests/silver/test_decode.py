"""Every way in which a record can fit or not fit its columns. One row: a record, its columns, and the reasons against it."""

from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

pytestmark = pytest.mark.spark

Decode = Callable[..., list[tuple[dict[str, Any], list[tuple[str, str | None, str | None]], bool]]]

NOT_AN_OBJECT = ("decodable", None, "not one JSON object")
OTHER_SHAPE = ("decodable", None, "the record has another shape than its columns expect")


def test_a_value_is_cast_to_its_type_or_named_in_a_reason(decode_records: Decode) -> None:
    """Each case: type, the value as it stands in JSON, what the column holds, or None where it must be refused."""
    cases: list[tuple[str, str, Any]] = [
        ("bigint", "12", 12),
        ("bigint", '"12"', 12),
        ("bigint", "-9223372036854775808", -(2**63)),
        ("bigint", "9007199254740993", 9007199254740993),
        ("bigint", "9223372036854775808", None),
        ("bigint", "12.7", None),
        ("bigint", '"12.7"', None),
        ("bigint", '"twelve"', None),
        ("bigint", '""', None),
        ("bigint", "true", None),
        ("bigint", '{"a":1}', None),
        ("bigint", "[1]", None),
        ("int", "2147483647", 2147483647),
        ("int", "2147483648", None),
        ("tinyint", "128", None),
        ("double", "0.1", 0.1),
        ("double", '"1e3"', 1000.0),
        ("double", '"x"', None),
        ("decimal(12,2)", "10.005", Decimal("10.01")),
        ("decimal(12,2)", "-10.005", Decimal("-10.01")),
        ("decimal(12,2)", '"10.004"', Decimal("10.00")),
        ("decimal(12,2)", "9999999999.99", Decimal("9999999999.99")),
        ("decimal(12,2)", '"9999999999.995"', None),
        ("decimal(12,2)", '"ten"', None),
        ("decimal(30,10)", "12345678901234567890.0123456789", Decimal("12345678901234567890.0123456789")),
        ("decimal(30,10)", '"12345678901234567890.0123456789"', Decimal("12345678901234567890.0123456789")),
        ("decimal(30,10)", "0.00000000005", Decimal("0.0000000001")),
        ("decimal(30,10)", "7", Decimal("7.0000000000")),
        ("decimal(30,10)", '"ten"', None),
        ("decimal(30,10)", "123456789012345678901", None),
        ("boolean", "true", True),
        ("boolean", '"false"', False),
        ("boolean", '"maybe"', None),
        ("string", '"x"', "x"),
        ("string", '""', ""),
        ("string", "12", "12"),
        ("string", "false", "false"),
        ("string", '"été 中 \\" \\\\"', 'été 中 " \\'),
        ("timestamp", '"2024-05-01T10:00:00Z"', datetime(2024, 5, 1, 10)),
        ("timestamp", '"2024-05-01 10:00:00"', datetime(2024, 5, 1, 10)),
        ("timestamp", '"2024-05-01T10:00:00.123456+02:00"', datetime(2024, 5, 1, 8, 0, 0, 123456)),
        ("timestamp", '"2024-05-01"', datetime(2024, 5, 1)),
        ("timestamp", '"12:30"', None),
        ("timestamp", '"T12"', None),
        ("timestamp", '"12:30:00"', None),
        ("timestamp", "1714557600", None),
        ("timestamp", '"2024-02-30T10:00:00Z"', None),
        ("timestamp", '"2024-05-01T25:00:00Z"', None),
        ("timestamp", '"yesterday"', None),
        ("timestamp", '"now"', None),
        ("date", '"2024-05-01"', date(2024, 5, 1)),
        ("date", '"2024-05"', None),
        ("date", '"today"', None),
        ("date", '"2024-02-30"', None),
        ("array<string>", '["a","b"]', ["a", "b"]),
        ("array<string>", "[]", []),
        ("array<string>", '"a"', None),
        ("array<int>", '[1,"x"]', None),
        ("struct<a:int,b:string>", '{"a":1,"b":"x"}', (1, "x")),
        ("struct<a:int,b:string>", '{"a":1,"c":0}', (1, None)),
        ("struct<a:int,b:string>", '{"a":"x"}', None),
        ("struct<a:int,b:string>", '"x"', None),
        ("struct<a:int,b:string>", "[1]", None),
        ("map<string,int>", '{"a":1}', {"a": 1}),
        ("map<string,int>", '{"a":"x"}', None),
        ("map<string,int>", "3", None),
    ]
    columns = {f"c{n}": kind for n, (kind, _, _) in enumerate(cases)}
    records = [f'{{"c{n}":{text}}}' for n, (_, text, _) in enumerate(cases)]

    decoded = decode_records(records, columns)

    found, expected = {}, {}
    for n, (kind, text, value) in enumerate(cases):
        row, reasons, is_filtered = decoded[n]
        values = {name: one for name, one in row.items() if one is not None}
        shown = text[1:-1] if text.startswith('"') else text
        found[kind, text] = (values, reasons, is_filtered)
        expected[kind, text] = ({}, [(f"type {kind}", f"c{n}", shown)], False) if value is None else ({f"c{n}": value}, [], False)
    assert found == expected


def test_a_row_is_given_all_its_reasons(decode_records: Decode) -> None:
    columns = {"id": "bigint", "amount": "decimal(12,2)", "at": "timestamp", "page": {"type": "string", "required": True}}
    records = [
        '{"id":"x","amount":"y","at":"z"}',
        '{"id":1,"amount":1,"at":"2024-05-01T00:00:00Z","page":"p","more":{"unknown":[1]}}',
        '{"id":null,"page":null,"at":"2024-05-01T00:00:00Z"}',
        "{}",
        '{"id":1,"page":"","at":"2024-05-01T00:00:00Z"}',
    ]

    decoded = decode_records(records, columns, required=("id", "at"))

    assert [reasons for _, reasons, _ in decoded] == [
        [("type bigint", "id", "x"), ("type decimal(12,2)", "amount", "y"), ("type timestamp", "at", "z"), ("required", "page", None)],
        [],
        [("required", "id", None), ("required", "page", None)],
        [("required", "id", None), ("required", "at", None), ("required", "page", None)],
        [],
    ]


def test_a_record_that_is_not_one_object_is_refused_as_a_whole(decode_records: Decode) -> None:
    columns = {"id": "bigint", "amount": {"type": "bigint", "from": "payment.amount"}}
    broken = [
        '{"id":1',
        "id=1",
        '{"id":1}{"id":2}',
        '{"id":1},{"id":2}',
        '{"id":1},"id":2',
        '{"id":1},"record":{"id":2}',
        '{"id":1}}',
        '{"id":1}} {"id":2}',
        '{"id":1} and more',
        '{"id":1}]}',
        '[{"id":1}]',
        "[]",
        '"text"',
        "12",
        "null",
    ]
    misshaped = ['{"id":1,"payment":"cash"}', '{"id":1,"payment":[{"amount":1}]}', '{"id":1,"payment":12}']
    fine = ['{"id":1,"payment":{"amount":2,"more":3}}', '{"id":1,"payment":null}', '{"id":1}', '  {"id":1} ', '\t{"id":1}\t']

    decoded = decode_records([*broken, *misshaped, *fine], columns, required=("id",))

    reasons = dict(zip([*broken, *misshaped, *fine], (found for _, found, _ in decoded), strict=True))
    assert reasons == {
        **{text: [NOT_AN_OBJECT] for text in broken},
        **{text: [OTHER_SHAPE] for text in misshaped},
        **{text: [] for text in fine},
    }
    assert [row for row, found, _ in decoded if not found] == [{"id": 1, "amount": 2}, *[{"id": 1, "amount": None}] * 4]


def test_a_record_that_bronze_could_not_tell_apart_keeps_its_problem(decode_records: Decode) -> None:
    decoded = decode_records(
        ['["1","2","3"]'], {"id": "bigint"}, source_format="csv", problem="3 fields, the header has 1", required=("id",)
    )

    assert decoded == [({"id": None}, [("readable", None, "3 fields, the header has 1")], False)]


def test_an_event_time_may_be_ahead_of_its_arrival_by_the_bound_and_no_more(decode_records: Decode) -> None:
    records = [f'{{"at":{text}}}' for text in ('"2024-05-02T12:00:00Z"', '"2024-05-02T12:00:00.000001Z"', '"1999-01-01"', "null")]

    decoded = decode_records(records, {"at": "timestamp"}, required=("at",), event_time="at", future="1 day")

    assert [reasons for _, reasons, _ in decoded] == [
        [],
        [("at most 1 day after arrival", "at", "2024-05-02 12:00:00.000001")],
        [],
        [("required", "at", None)],
    ]


def test_a_failing_expression_gives_null_and_does_not_stop_the_others(decode_records: Decode) -> None:
    columns = {
        "a": "bigint",
        "b": "string",
        "ratio": {"type": "double", "sql": "10 / a"},
        "number": {"type": "int", "sql": "cast(b as int)"},
        "at": {"type": "timestamp", "sql": "to_timestamp(b, 'yyyy-MM-dd')"},
        "item": {"type": "string", "sql": "element_at(split(b, ','), 3)"},
        "sum": {"type": "bigint", "sql": "a + 9223372036854775807"},
        "must": {"type": "int", "sql": "cast(b as int)", "required": True},
    }

    decoded = decode_records(['{"a":0,"b":"x"}', '{"a":4,"b":"7"}'], columns)

    assert [(row, reasons) for row, reasons, _ in decoded] == [
        (
            {"a": 0, "b": "x", "ratio": None, "number": None, "at": None, "item": None, "sum": 2**63 - 1, "must": None},
            [("required", "must", None)],
        ),
        ({"a": 4, "b": "7", "ratio": 2.5, "number": 7, "at": None, "item": None, "sum": -(2**63) + 3, "must": 7}, []),
    ]


def test_rows_outside_the_condition_are_filtered_unless_they_are_quarantined(decode_records: Decode) -> None:
    columns = {"id": "bigint", "kind": "string", "is_big": {"type": "boolean", "sql": "id > 5"}}
    records = ['{"id":1,"kind":"sale"}', '{"id":2,"kind":"test"}', '{"id":3}', '{"id":"x","kind":"test"}', '{"id":9,"kind":"test"}']

    decoded = decode_records(records, columns, where="kind = 'sale' OR is_big")

    assert [(len(reasons), is_filtered) for _, reasons, is_filtered in decoded] == [
        (0, False),
        (0, True),
        (0, True),
        (1, False),
        (0, False),
    ]


def test_an_array_gives_a_row_per_element_and_an_empty_one_is_filtered(decode_records: Decode) -> None:
    columns = {"id": "bigint", "line": {"type": "int", "from": "items.line"}, "sku": {"type": "string", "from": "items.info.sku"}}
    records = [
        '{"id":1,"items":[{"line":1,"info":{"sku":"a"}},{"line":"2"},{"line":"x"}]}',
        '{"id":2,"items":[]}',
        '{"id":3}',
        '{"id":4,"items":null}',
        '{"id":5,"items":[null,{"line":1}]}',
        '{"id":6,"items":{"line":1}}',
        '{"id":7,"items":["x",{"line":1}]}',
        '{"id":8,"items":[{"line":1},{"line":2}',
        '{"id":null,"items":[]}',
    ]

    decoded = decode_records(records, columns, explode="items", required=("id", "line"))

    assert decoded == [
        ({"id": 1, "line": 1, "sku": "a"}, [], False),
        ({"id": 1, "line": 2, "sku": None}, [], False),
        ({"id": 1, "line": None, "sku": None}, [("type int", "line", "x")], False),
        ({"id": 2, "line": None, "sku": None}, [], True),
        ({"id": 3, "line": None, "sku": None}, [], True),
        ({"id": 4, "line": None, "sku": None}, [], True),
        ({"id": 5, "line": None, "sku": None}, [("required", "line", None)], False),
        ({"id": 5, "line": 1, "sku": None}, [], False),
        *[(decoded[8][0], [OTHER_SHAPE], False), (decoded[9][0], [OTHER_SHAPE], False), (decoded[10][0], [NOT_AN_OBJECT], False)],
        ({"id": None, "line": None, "sku": None}, [], True),
    ]


def test_the_elements_of_an_array_may_be_scalars(decode_records: Decode) -> None:
    columns = {"id": "bigint", "tag": {"type": "int", "from": "a.tags"}}

    decoded = decode_records(['{"id":1,"a":{"tags":[7,"8",null,"x"]}}', '{"id":2,"a":{}}'], columns, explode="a.tags")

    assert decoded == [
        ({"id": 1, "tag": 7}, [], False),
        ({"id": 1, "tag": 8}, [], False),
        ({"id": 1, "tag": None}, [], False),
        ({"id": 1, "tag": None}, [("type int", "tag", "x")], False),
        ({"id": 2, "tag": None}, [], True),
    ]


def test_a_csv_field_is_taken_by_its_whole_name_and_an_empty_one_is_null(decode_records: Decode) -> None:
    columns = {
        "id": "bigint",
        "unit_price": {"type": "decimal(30,10)", "from": "price.unit"},
        "city": {"type": "string", "from": "the city"},
    }
    records = [
        '{"id":"1","price.unit":"12345678901234567890.5","the city":"Ulm"}',
        '{"id":"2","price.unit":"","the city":""}',
        '{"id":"","price.unit":"x","the city":" "}',
    ]

    decoded = decode_records(records, columns, source_format="csv", required=("id",))

    assert decoded == [
        ({"id": 1, "unit_price": Decimal("12345678901234567890.5000000000"), "city": "Ulm"}, [], False),
        ({"id": 2, "unit_price": None, "city": None}, [], False),
        ({"id": None, "unit_price": None, "city": " "}, [("required", "id", None), ("type decimal(30,10)", "unit_price", "x")], False),
    ]


def test_a_text_record_is_taken_apart_by_sql(decode_records: Decode) -> None:
    columns = {
        "line": {"type": "string", "from": "value"},
        "level": {"type": "string", "sql": "nullif(regexp_extract(line, '^([A-Z]+) ', 1), '')", "required": True},
        "code": {"type": "int", "sql": "regexp_extract(line, 'code=(\\\\d+)', 1)"},
    }

    decoded = decode_records(["WARN code=7 {", "nothing"], columns, source_format="text")

    assert decoded == [
        ({"line": "WARN code=7 {", "level": "WARN", "code": 7}, [], False),
        ({"line": "nothing", "level": None, "code": None}, [("required", "level", None)], False),
    ]


@pytest.mark.parametrize("name", ["record", "Record"])
def test_a_column_may_have_the_name_of_bronzes_text(decode_records: Decode, name: str) -> None:
    decoded = decode_records(
        ['{"record":"x","Record":"x"}'], {name: "string", "double": {"type": "string", "sql": f"concat({name}, {name})"}}
    )

    assert decoded == [({name: "x", "double": "xx"}, [], False)]
