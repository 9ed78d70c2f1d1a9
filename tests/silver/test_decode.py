"""Every way in which a record can fit or not fit its columns. One row: a record, its columns, and the reasons
against it.
"""

import time
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from spark_jobs.config.expectations import Rule
from spark_jobs.lake.queries import ReadsTheClock
from spark_jobs.silver import fields
from spark_jobs.silver.strict_sql import CannotHold

pytestmark = pytest.mark.spark

Decode = Callable[..., list[tuple[dict[str, Any], list[tuple[str, str | None, str | None]], bool]]]

CUT = ("decodable", None, "not one JSON object: a bracket is opened and never closed: the line may be cut")
OTHER_SHAPE = ("decodable", None, "the record has another shape than its columns expect")


def test_a_value_is_cast_to_its_type_or_named_in_a_reason(decode_records: Decode) -> None:
    """Each case: type, the value as it stands in JSON, what the column holds, or None where it must be
    refused.
    """
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
        ("bigint", "12.0", 12),
        ("bigint", "1e3", 1000),
        ("bigint", '"1.2E3"', 1200),
        ("bigint", '"1.25e1"', None),
        ("bigint", "9007199254740993.0", 9007199254740993),
        ("bigint", "9007199254740993e0", None),
        ("bigint", '" 12\\t"', 12),
        ("bigint", '"\\u000012"', None),
        ("bigint", '"1 2"', None),
        ("bigint", '"0x10"', None),
        ("bigint", "-0", 0),
        ("double", "1e400", None),
        ("string", "1e400", None),
        ("string", "-1e400", None),
        ("string", "1e-400", None),
        ("string", '"1e400"', "1e400"),
        ("string", '{"a":[1.10]}', '{"a":[1.1]}'),
        ("string", '{"a":{"b":1e400}}', None),
        ("string", '[1e400,"x"]', None),
        ("string", '[{"a":1234567890123456789012345678901234567.891}]', None),
        ("array<string>", '[{"a":1e-400}]', None),
        ("string", '"Infinity"', "Infinity"),
        ("double", "1e-400", None),
        ("double", "NaN", None),
        ("double", '"Infinity"', None),
        ("double", '"1d"', None),
        ("double", "9007199254740993", None),
        ("double", "9007199254740992", 9007199254740992.0),
        ("float", '"1e39"', None),
        ("float", "16777217", None),
        ("float", "0.5", 0.5),
        ("float", '"16777217.0"', None),
        ("float", "1.6777217e7", 16777216.0),
        ("float", '"1.5e7"', 15000000.0),
        ("double", '"9007199254740993.00"', None),
        ("double", '"1e23"', 1e23),
        ("decimal(12,2)", "1.005", None),
        ("decimal(12,2)", "-10.005", None),
        ("decimal(12,2)", '"10.004"', None),
        ("decimal(12,2)", '"10.500000"', Decimal("10.50")),
        ("decimal(12,2)", '"1.05e1"', Decimal("10.50")),
        ("decimal(12,2)", "1.005e0", None),
        ("decimal(12,2)", "5e-2", Decimal("0.05")),
        ("decimal(12,2)", "5e-3", None),
        ("decimal(12,2)", "10e-3", Decimal("0.01")),
        ("decimal(12,2)", "0e-9", Decimal("0.00")),
        ("decimal(12,2)", "1.00000000000000000001", None),
        ("decimal(12,2)", "1.00000000000000000000000000000000000000000000001", None),
        ("decimal(12,2)", "9999999999.99", Decimal("9999999999.99")),
        ("decimal(12,2)", '"9999999999.995"', None),
        ("decimal(12,2)", '"ten"', None),
        ("decimal(30,10)", "12345678901234567890.0123456789", Decimal("12345678901234567890.0123456789")),
        ("decimal(30,10)", '"12345678901234567890.0123456789"', Decimal("12345678901234567890.0123456789")),
        ("decimal(30,10)", "0.00000000005", None),
        ("decimal(30,10)", "7", Decimal("7.0000000000")),
        ("decimal(30,10)", '"ten"', None),
        ("decimal(30,10)", "123456789012345678901", None),
        (
            "decimal(38,0)",
            "12345678901234567890123456789012345678",
            Decimal("12345678901234567890123456789012345678"),
        ),
        ("boolean", "true", True),
        ("boolean", '"false"', False),
        ("boolean", '"maybe"', None),
        ("boolean", '"No"', False),
        ("boolean", "1", True),
        ("boolean", "2", None),
        ("string", "12345678901234567890.123", "12345678901234567890.123"),
        ("string", "1234567890123456789012345678901234567890", None),
        ("string", '"a\\u0000b"', "a\0b"),
        ("string", '"\\ud83d\\ude00"', "\U0001f600"),
        ("string", '"x"', "x"),
        ("string", '""', ""),
        ("string", "12", "12"),
        ("string", "false", "false"),
        ("string", '"été 中 \\" \\\\"', 'été 中 " \\'),
        ("timestamp", '"2024-05-01T10:00:00Z"', datetime(2024, 5, 1, 10)),
        ("timestamp", '"2024-05-01 10:00:00"', datetime(2024, 5, 1, 10)),
        ("timestamp", '"2024-05-01T10:00:00.123456+02:00"', datetime(2024, 5, 1, 8, 0, 0, 123456)),
        ("timestamp", '"2024-05-01"', datetime(2024, 5, 1)),
        ("timestamp", '"2024-03-01T10:00Z"', datetime(2024, 3, 1, 10)),
        ("timestamp", '"2024-03-01t10:00:00z"', datetime(2024, 3, 1, 10)),
        ("timestamp", '"2024-03-01 10:00"', datetime(2024, 3, 1, 10)),
        ("timestamp", '"2024-03-01T10:00+02"', datetime(2024, 3, 1, 8)),
        ("timestamp", '"2024-03-01T10:00:00.5-0330"', datetime(2024, 3, 1, 13, 30, 0, 500000)),
        ("timestamp", '"2024-03-01T10:00:00.123456000Z"', datetime(2024, 3, 1, 10, 0, 0, 123456)),
        ("timestamp", '"2024-03-01T10:00:00.123456789Z"', None),
        ("timestamp", '"2024-03-01T10:00:00 Europe/Berlin"', None),
        ("timestamp", '"2024-03-31T02:30:00Europe/Berlin"', None),
        ("timestamp", '"2024-03-01T10:00:00 UTC"', None),
        ("timestamp", '"2024-03-01T10:00:00+19:00"', None),
        ("timestamp", '"2024-03-01T10:00:60Z"', None),
        ("timestamp", '"2024-03-01T24:00:00Z"', None),
        ("timestamp", '"2024-03-01T10"', None),
        ("timestamp", '"2024-3-1"', None),
        ("timestamp", '"0000-06-01T00:00:00Z"', None),
        ("timestamp", '"0001-01-01T00:00:00+05:00"', None),
        ("timestamp", '"9999-12-31T23:59:59-05:00"', None),
        ("timestamp", '"0999-06-01T00:00:00Z"', datetime(999, 6, 1)),
        ("timestamp", '"12:30"', None),
        ("timestamp", '"T12"', None),
        ("timestamp", '"12:30:00"', None),
        ("timestamp", "1714557600", None),
        ("timestamp", '"2024-02-30T10:00:00Z"', None),
        ("timestamp", '"2024-05-01T25:00:00Z"', None),
        ("timestamp", '"yesterday"', None),
        ("timestamp", '"now"', None),
        ("date", '"2024-05-01"', date(2024, 5, 1)),
        ("date", '"2024-05-01T00:00:00Z"', date(2024, 5, 1)),
        ("date", '"2024-05-01T10:00:00Z"', None),
        ("date", '"0000-05-01"', None),
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
        ("map<string,int>", '{"App":1,"app":2}', {"App": 1, "app": 2}),
        ("map<int,string>", '{"1":"x"}', {1: "x"}),
        ("map<int,string>", '{"1":"x","01":"y"}', None),
        ("struct<a:int,b:string>", '{"a":1,"A":2}', None),
        ("struct<a:decimal(4,2)>", '{"a":1.005}', None),
        ("struct<at:timestamp>", '{"at":"12:30"}', None),
        ("array<decimal(4,2)>", "[1.50,null]", [Decimal("1.50"), None]),
        ("array<bigint>", "[9007199254740993,1.5]", None),
    ]
    found, expected = {}, {}
    decoded = [
        row
        for start in range(0, len(cases), 40)
        for row in decode_cases(decode_records, cases[start : start + 40])
    ]

    for n, (kind, text, value) in enumerate(cases):
        row, reasons, is_filtered = decoded[n]
        n %= 40
        values = {name: one for name, one in row.items() if one is not None}
        found[kind, text] = ({} if reasons else values, [reason[:2] for reason in reasons], is_filtered)
        expected[kind, text] = (
            ({}, [(f"type {kind}", f"c{n}")], False) if value is None else ({f"c{n}": value}, [], False)
        )
    assert found == expected


def decode_cases(decode_records: Decode, cases: list[tuple[str, str, Any]]) -> list[Any]:
    """A record and a column for each case."""
    records = [f'{{"c{n}":{text}}}' for n, (_, text, _) in enumerate(cases)]
    return decode_records(records, {f"c{n}": kind for n, (kind, _, _) in enumerate(cases)})


def test_a_row_of_zeros_takes_no_longer_than_other_digits(decode_records: Decode) -> None:
    """By patterns that began anew at each zero it took the square of its length: one record held up a run."""
    zeros, started = "0" * 150_000, time.monotonic()

    decoded = decode_records([f'{{"d": "1.{zeros}1e5"}}', f'{{"d": "1{zeros}1e5"}}'], {"d": "decimal(12,2)"})

    assert [[rule for rule, *_ in reasons] for _, reasons, _ in decoded] == [["type decimal(12,2)"]] * 2
    assert time.monotonic() - started < 30


def test_a_row_is_given_all_its_reasons(decode_records: Decode) -> None:
    columns = {
        "id": "bigint",
        "amount": "decimal(12,2)",
        "at": "timestamp",
        "page": {"type": "string", "required": True},
    }
    records = [
        '{"id":"x","amount":"y","at":"z"}',
        '{"id":1,"amount":1,"at":"2024-05-01T00:00:00Z","page":"p","more":{"unknown":[1]}}',
        '{"id":null,"page":null,"at":"2024-05-01T00:00:00Z"}',
        "{}",
        '{"id":1,"page":"","at":"2024-05-01T00:00:00Z"}',
    ]

    decoded = decode_records(records, columns, required=("id", "at"))

    assert [reasons for _, reasons, _ in decoded] == [
        [
            ("type bigint", "id", "x"),
            ("type decimal(12,2)", "amount", "y"),
            ("type timestamp", "at", "z"),
            ("required", "page", None),
        ],
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
        '{"id":1}],"x":[{"id":2}',
        '{"id":1}],"records":[{"id":2}',
        '{"id":1},{"id":2}],"x":[{"id":3}',
        '{"id":1}],"is_whole":true}{"records":[{"id":2}',
        '[{"id":1}]',
        "[]",
        '"text"',
        "12",
        "null",
    ]
    misshaped = ['{"id":1,"payment":"cash"}', '{"id":1,"payment":[{"amount":1}]}', '{"id":1,"payment":12}']
    fine = [
        '{"id":1,"payment":{"amount":2,"more":3}}',
        '{"id":1,"payment":null}',
        '{"id":1}',
        '  {"id":1} ',
        '\t{"id":1}\t',
    ]

    decoded = decode_records([*broken, *misshaped, *fine], columns, required=("id",))

    reasons = dict(zip([*broken, *misshaped, *fine], (found for _, found, _ in decoded), strict=True))
    assert all(str(reasons[text][0][2]).startswith("not one JSON object") for text in broken)
    assert reasons == {
        **{text: [("decodable", None, reasons[text][0][2])] for text in broken},
        **{text: [OTHER_SHAPE] for text in misshaped},
        **{text: [] for text in fine},
    }
    assert [row for row, found, _ in decoded if not found] == [
        {"id": 1, "amount": 2},
        *[{"id": 1, "amount": None}] * 4,
    ]


def test_a_record_that_bronze_could_not_tell_apart_keeps_its_problem(decode_records: Decode) -> None:
    decoded = decode_records(
        ['["1","2","3"]'],
        {"id": "bigint"},
        source_format="csv",
        problem="3 fields, the header has 1",
        required=("id",),
    )

    assert decoded == [({"id": None}, [("readable", None, "3 fields, the header has 1")], False)]


def test_an_event_time_may_be_ahead_of_its_arrival_by_the_bound_and_no_more(decode_records: Decode) -> None:
    records = [
        f'{{"at":{text}}}'
        for text in ('"2024-05-02T12:00:00Z"', '"2024-05-02T12:00:00.000001Z"', '"1999-01-01"', "null")
    ]

    decoded = decode_records(records, {"at": "timestamp"}, required=("at",), event_time="at", future="1 day")

    assert [reasons for _, reasons, _ in decoded] == [
        [],
        [("at most 1 day after arrival", "at", "2024-05-02 12:00:00.000001")],
        [],
        [("required", "at", None)],
    ]


def test_a_record_that_says_two_things_or_half_a_character_is_refused(decode_records: Decode) -> None:
    columns = {
        "id": "bigint",
        "amount": {"type": "bigint", "from": "payment.amount"},
        "tags": "map<string,int>",
    }
    twice, half = (
        "an object of the record has a field twice",
        "the text holds half a character (a lone surrogate such as \\ud800)",
    )
    several = "the record has several fields {!r} (names are compared without case)".format
    wrong = {
        '{"id":1,"id":2}': several("id"),
        '{"id":1,"id":1}': several("id"),
        '{"id":1,"ID":2}': several("id"),
        '{"id":1,"\\u0049d":2}': several("id"),
        '{"id":1,"payment":{"amount":1,"Amount":2}}': several("amount"),
        '{"id":1,"payment":{"amount":1,"amount":2}}': twice,
        '{"id":1,"payment":{"amount":1},"Payment":{"amount":2}}': several("payment"),
        '{"id":1,"more":1,"more":2}': twice,
        '{"id":1,"tags":{"a":1,"a":2}}': twice,
        '{"id":1,"unread":[{"x":{"y":1,"y":2}}]}': twice,
        '{"id":1,"note":"\\ud800"}': half,
        '{"id":1,"note":"\\ude00\\ud83d"}': half,
        '{"id":1,"note":"\\\\\\ud83d\\\\\\ude00"}': half,
    }
    fine = [
        '{"id":1,"more":1,"More":2}',
        '{"id":1,"payment":{"id":2,"ID":3}}',
        '{"id":1,"tags":{"a":1,"A":2}}',
        '{"id":1,"note":"\\ud83d\\ude00 \\\\ud800"}',
    ]

    decoded = decode_records([*wrong, *fine], columns)

    said = {
        text: [reason[2] for reason in reasons]
        for text, (_, reasons, _) in zip([*wrong, *fine], decoded, strict=True)
    }
    assert said == {text: [reason] for text, reason in wrong.items()} | {text: [] for text in fine}


def test_an_element_with_a_field_twice_is_refused_alone(decode_records: Decode) -> None:
    columns = {"id": "bigint", "line": {"type": "int", "from": "items.line"}}

    decoded = decode_records(['{"id":1,"items":[{"line":1,"Line":2},{"line":3}]}'], columns, explode="items")

    assert [(row["line"], [rule for rule, _, _ in reasons]) for row, reasons, _ in decoded] == [
        (1, ["decodable"]),
        (3, []),
    ]


def test_an_event_time_may_be_behind_its_arrival_by_the_bound_and_no_more(decode_records: Decode) -> None:
    records = [f'{{"at":"{text}"}}' for text in ("2024-04-24T12:00:00Z", "2024-04-24T11:59:59.999999Z")]

    decoded = decode_records(
        records, {"at": "timestamp"}, required=("at",), event_time="at", future="1 day", past="1 week"
    )

    assert [reasons for _, reasons, _ in decoded] == [
        [],
        [("at most 1 week before arrival", "at", "2024-04-24 11:59:59.999999")],
    ]


def test_a_computed_date_or_time_outside_of_the_years_1_to_9999_does_not_fit(decode_records: Decode) -> None:
    columns = {
        "n": "bigint",
        "day": {"type": "date", "sql": "date_add(DATE '9999-12-31', CAST(n AS int))"},
        "at": {"type": "timestamp", "sql": "timestamp_seconds(n * 299999999999)"},
        "days": {"type": "array<date>", "sql": "array(NULL, date_add(DATE '0001-01-01', CAST(n AS int)))"},
        "span": {
            "type": "struct<until:date>",
            "sql": "named_struct('until', date_add(DATE '9999-12-31', CAST(n AS int)))",
        },
    }

    decoded = decode_records(['{"n":0}', '{"n":1}', '{"n":-1}'], columns)

    assert [[(rule, column) for rule, column, _ in reasons] for _, reasons, _ in decoded] == [
        [],
        [("type date", "day"), ("type timestamp", "at"), ("type struct<until:date>", "span")],
        [("type timestamp", "at"), ("type array<date>", "days")],
    ]


def test_a_failing_expression_quarantines_its_row_with_what_it_was_computed_from(
    decode_records: Decode,
) -> None:
    columns = {
        "a": "bigint",
        "b": "string",
        "ratio": {"type": "double", "sql": "10 / a"},
        "product": {"type": "bigint", "sql": "a * 4611686018427387904"},
        "again": {"type": "bigint", "sql": "a * 4611686018427387904 + 1"},
        "negated": {"type": "bigint", "sql": "-a"},
        "total": {"type": "bigint", "sql": "aggregate(array(a, 9223372036854775807), 0L, (x, y) -> x + y)"},
        "item": {"type": "string", "sql": "element_at(split(b, ','), 2)"},
        "number": {"type": "int", "sql": "cast(b as int)", "required": True},
        "tried": {"type": "int", "sql": "try_cast(b as int)"},
    }

    decoded = decode_records(
        [
            '{"a":0,"b":"x"}',
            '{"a":2,"b":"7,8"}',
            '{"a":-9223372036854775808,"b":"7,8"}',
            '{"a":-1,"b":null}',
            '{"a":"?","b":null}',
        ],
        columns,
    )

    assert [[(rule, column, value) for rule, column, value in reasons] for _, reasons, _ in decoded] == [
        [("sql", "ratio", "a = 0"), ("sql", "item", "b = x"), ("sql", "number", "b = x")],
        [
            ("sql", "product", "a = 2"),
            ("sql", "again", "a = 2"),
            ("sql", "total", "a = 2"),
            ("sql", "number", "b = 7,8"),
        ],
        [
            ("sql", "product", "a = -9223372036854775808"),
            ("sql", "again", "a = -9223372036854775808"),
            ("sql", "negated", "a = -9223372036854775808"),
            ("sql", "number", "b = 7,8"),
        ],
        [("required", "number", None)],
        [("type bigint", "a", "?"), ("required", "number", None)],
    ]
    assert decoded[3][0] == {
        "a": -1, "b": None, "ratio": -10.0, "product": -(2**62), "again": 1 - 2**62, "negated": 1, "total": 2**63 - 2,
        "item": None, "number": None, "tried": None,
    }  # fmt: skip


def test_a_constant_that_fails_quarantines_its_rows_and_stops_no_others(decode_records: Decode) -> None:
    """Spark computes constants while it plans: an error of one would be that of the whole table."""
    columns = {
        "a": "bigint",
        "is_x": {"type": "boolean", "sql": "a = 'x'"},
        "plus": {"type": "bigint", "sql": "a + 1 / 0"},
        "half": {"type": "bigint", "sql": "if(a > 1, a, cast('y' as bigint))"},
    }

    decoded = decode_records(['{"a":1}', '{"a":2}'], columns, where="a >= 0 or a = 'z'")

    assert [[(rule, column) for rule, column, _ in reasons] for _, reasons, _ in decoded] == [
        [("sql", "is_x"), ("sql", "plus"), ("sql", "half")],
        [("sql", "is_x"), ("sql", "plus")],
    ]


def test_a_computed_column_may_name_others_wherever_they_stand(decode_records: Decode) -> None:
    """And a row is not refused a second time for what follows from its first reason."""
    columns = {
        "label": {"type": "string", "sql": "concat(NAME, ' ', per_share)"},
        "per_share": {"type": "bigint", "sql": "100 / safe_share"},
        "safe_share": {"type": "bigint", "sql": "coalesce(share, 0)"},
        "share": {"type": "bigint", "sql": "cast(raw.s as bigint)"},
        "raw": "struct<s:string>",
        "name": {"type": "string", "sql": "upper(first)"},
        "first": "string",
    }

    decoded = decode_records(
        [
            '{"first":"ann","raw":{"s":"20"}}',
            '{"first":"bob","raw":{"s":"x"}}',
            '{"first":"cas","raw":{"s":"0"}}',
        ],
        columns,
    )

    assert {name: decoded[0][0][name] for name in ("label", "per_share", "share", "name")} == {
        "label": "ANN 5", "per_share": 5, "share": 20, "name": "ANN",
    }  # fmt: skip
    assert [[(rule, column) for rule, column, _ in reasons] for _, reasons, _ in decoded] == [
        [],
        [("sql", "share")],
        [("sql", "per_share")],
    ]


def test_the_type_of_a_computed_column_is_as_strict_as_that_of_a_field(decode_records: Decode) -> None:
    """Each case: type, expression, what it gives, or None where its value does not fit."""
    cases: list[tuple[str, str, Any]] = [
        ("int", "n", None),
        ("bigint", "n", 3000000000),
        ("int", "t", None),
        ("bigint", "cast(t as decimal(10,1))", None),
        ("bigint", "cast(t as double)", None),
        ("bigint", "cast(12.0 as double)", 12),
        ("decimal(12,2)", "cast(1.005 as decimal(10,3))", None),
        ("decimal(12,2)", "round(1.005, 2)", Decimal("1.01")),
        ("decimal(12,2)", "cast(0.1 as double)", Decimal("0.10")),
        ("decimal(12,2)", "cast(1.005 as double)", None),
        ("double", "cast(1 as decimal(38,18)) / 3", 1 / 3),
        ("double", "power(10D, 400)", None),
        ("double", "sqrt(-1D)", None),
        ("float", "cast(1e39 as double)", None),
        ("float", "n / 3000000000", 1.0),
        ("double", "9007199254740993", None),
        ("date", "timestamp'2024-05-01 10:00:00'", None),
        ("date", "timestamp'2024-05-01 00:00:00'", date(2024, 5, 1)),
        ("timestamp", "clock", None),
        ("timestamp", "'2024-05-01T10:00Z'", datetime(2024, 5, 1, 10)),
        ("boolean", "2", None),
        ("string", "n", "3000000000"),
        ("array<int>", "array(n)", None),
        ("array<string>", "split(t, '[.]')", ["12", "7"]),
        ("array<int>", "'[1,2]'", [1, 2]),
        ("decimal(38,10)", "small + 1", Decimal("1.0000000001")),
        ("decimal(38,20)", "small * small", Decimal("1e-20")),
        ("bigint", "ceil(zero + 1e30D)", None),
        ("bigint", "ceil(zero + 1.5D)", 2),
        ("string", "zero", "0.0"),
        ("string", "unhex('41')", "A"),
        ("string", "unhex('ff')", None),
        ("string", "cast(unhex('c3') as string)", None),
        ("array<string>", "array(unhex('ff'))", None),
        ("array<string>", "array(t, cast(unhex('c3') as string))", None),
        ("array<double>", "array(sqrt(zero - 1))", None),
        ("struct<r:float>", "named_struct('r', cast(sqrt(zero - 1) as float))", None),
        ("bigint", "big / 1", None),
        ("bigint", "big / 2", None),
        ("bigint", "(big - 1) / 1", 9007199254740992),
        ("decimal(20,2)", "big / 100", None),
        ("decimal(20,2)", "(big - 2) / 100", None),
        ("decimal(38,20)", "cast(0.1 as double)", Decimal("0.1")),
        ("decimal(20,3)", "(big - 9) / 8000", Decimal("1125899906842.623")),
        ("decimal(20,3)", "1714557600123456L / 1000", Decimal("1714557600123.456")),
        ("decimal(20,2)", "n / 100", Decimal("30000000.00")),
        ("bigint", "big * 1D", None),
        ("double", "big / 1", 9007199254740992.0),
        ("bigint", "cast(big as double)", 9007199254740992),
        ("bigint", "digits * 1.0", None),
        ("string", "concat(big / 1, '')", None),
        ("bigint", "floor(big / 1)", None),
        ("bigint", "aggregate(array(n), 0D, (x, y) -> x + y)", 3000000000),
        ("bigint", "if(big / 1 > 0, 1, 1)", None),
        ("decimal(38,20)", "coalesce(fine, n)", Decimal("0.12345678901234567891")),
        ("decimal(38,20)", "coalesce(fine, whole)", Decimal("0.12345678901234567891")),
        ("boolean", "fine + 1 = 1.12345678901234567891", True),
    ]
    columns = {
        "n": "bigint",
        "t": "string",
        "clock": "string",
        "small": "decimal(38,10)",
        "zero": "double",
        "big": "bigint",
        "digits": "string",
        "fine": "decimal(38,20)",
        "whole": "decimal(38,0)",
    } | {f"c{at}": {"type": c[0], "sql": c[1]} for at, c in enumerate(cases)}

    record = (
        '{"n":3000000000,"t":"12.7","clock":"12:30","small":0.0000000001,"zero":"-0","big":9007199254740993,'
        f'"digits":"9007199254740993","fine":"0.12345678901234567891","whole":"{"1" * 38}"}}'
    )

    [(row, reasons, _)] = decode_records([record], columns)

    misfits = {column: rule for rule, column, _ in reasons}
    found = {case[:2]: None if f"c{at}" in misfits else row[f"c{at}"] for at, case in enumerate(cases)}
    assert found == {case[:2]: case[2] for case in cases}
    assert misfits == {f"c{at}": f"type {case[0]}" for at, case in enumerate(cases) if case[2] is None}


@pytest.mark.parametrize(
    "sql", ["cast(t as timestamp)", "to_timestamp(t)", "hour(t)", "t > timestamp'2024-01-01'"]
)
def test_sql_that_would_put_the_day_of_the_run_into_a_time_is_refused(
    decode_records: Decode, sql: str
) -> None:
    with pytest.raises(ReadsTheClock, match="declare the column as timestamp"):
        decode_records(['{"t":"12:30"}'], {"t": "string", "at": {"type": "string", "sql": sql}})


@pytest.mark.parametrize(
    ("sql", "kind", "gives", "instead"),
    [
        ("coalesce(o, o)", "string", "struct<a:int>", "to_json"),
        ("if(n > 1, array(n), array(2))", "string", "array<int>", "to_json"),
        ("coalesce(map('a', n), map('b', n))", "string", "map<string,int>", "to_json"),
        ("coalesce(o, o)", "int", "struct<a:int>", "declare the column as what it is"),
        ("n", "array<int>", "int", "declare the column as what it is"),
        ("try_parse_json(cast(n as string))", "string", "variant", "to_json"),
        ("n", "date", "int", "declare the column as what it is"),
    ],
)
def test_sql_of_another_kind_than_its_column_is_told_in_one_sentence(
    decode_records: Decode, sql: str, kind: str, gives: str, instead: str
) -> None:
    columns = {"n": "int", "o": "struct<a:int>", "fine": {"type": "string", "sql": "n"}}
    with pytest.raises(CannotHold) as error:
        decode_records(['{"n":1,"o":{"a":1}}'], {**columns, "made": {"type": kind, "sql": sql}})

    assert f"the column 'made' gives {gives}, and a column of type {kind} cannot hold that" in str(
        error.value
    )
    assert instead in str(error.value)


def test_a_variable_in_sql_is_text_and_not_what_the_environment_has(decode_records: Decode) -> None:
    """Spark's own way would put another value there on another machine, or a secret."""
    columns = {"id": "int", "home": {"type": "string", "sql": "'${env:HOME} ${spark.app.name}'"}}

    [(row, reasons, _)] = decode_records(['{"id":1}'], columns)

    assert (row["home"], reasons) == ("${env:HOME} ${spark.app.name}", [])


def test_a_condition_that_fails_on_a_row_quarantines_it(decode_records: Decode) -> None:
    columns = {"id": "bigint", "a": "int", "op": "string"}
    records = [
        '{"id":1,"a":0,"op":"1"}',
        '{"id":2,"a":1,"op":"x"}',
        '{"id":3,"a":1,"op":"0"}',
        '{"id":4,"a":-1,"op":"0"}',
    ]

    decoded = decode_records(
        records, columns, where="10 / a > 0", delete_when="cast(op as int) = 1 and a > 0"
    )

    assert [(reasons, is_filtered) for _, reasons, is_filtered in decoded] == [
        ([("where", "a", "a = 0")], False),
        ([("delete_when", "op, a", "op = x, a = 1")], False),
        ([], False),
        ([], True),
    ]


def test_a_rule_whose_condition_fails_on_a_row_is_not_met(decode_records: Decode) -> None:
    kwargs = {"column": "b", "min_value": 1, "row_condition": "10 / a > 1", "condition_parser": "spark"}
    rule = Rule("b_is_positive", "expect_column_values_to_be_between", kwargs, "quarantine", "critical", "")

    decoded = decode_records(
        ['{"a":0,"b":5}', '{"a":1,"b":0}', '{"a":99,"b":0}'], {"a": "int", "b": "int"}, rules=[rule]
    )

    assert [reasons for _, reasons, _ in decoded] == [
        [("b_is_positive", "b", "5")],
        [("b_is_positive", "b", "0")],
        [],
    ]


def test_rows_outside_the_condition_are_filtered_unless_they_are_quarantined(decode_records: Decode) -> None:
    columns = {"id": "bigint", "kind": "string", "is_big": {"type": "boolean", "sql": "id > 5"}}
    records = [
        '{"id":1,"kind":"sale"}',
        '{"id":2,"kind":"test"}',
        '{"id":3}',
        '{"id":"x","kind":"test"}',
        '{"id":9,"kind":"test"}',
    ]

    decoded = decode_records(records, columns, where="kind = 'sale' OR is_big")

    assert [(len(reasons), is_filtered) for _, reasons, is_filtered in decoded] == [
        (0, False),
        (0, True),
        (0, True),
        (1, False),
        (0, False),
    ]


def test_an_array_gives_a_row_per_element_and_an_empty_one_is_filtered(decode_records: Decode) -> None:
    columns = {
        "id": "bigint",
        "line": {"type": "int", "from": "items.line"},
        "sku": {"type": "string", "from": "items.info.sku"},
    }
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
        *[
            (decoded[8][0], [OTHER_SHAPE], False),
            (decoded[9][0], [OTHER_SHAPE], False),
            (decoded[10][0], [CUT], False),
        ],
        ({"id": None, "line": None, "sku": None}, [], True),
    ]


def test_a_record_with_too_many_elements_for_its_length_is_one_row(
    decode_records: Decode, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns = {"id": "bigint", "line": {"type": "int", "from": "items.line"}}
    most = '{"id":1,"items":[{"line":1},{"line":2}]}'
    monkeypatch.setattr(fields, "MOST_EXPLODED", 2 * len(most))

    decoded = decode_records([most, f"{most} ", '{"id":3}'], columns, explode="items")

    too_many = ("decodable", None, fields.TOO_MANY_ELEMENTS)
    assert [(row["line"], reasons) for row, reasons, _ in decoded] == [
        (1, []),
        (2, []),
        (None, [too_many]),
        (None, []),
    ]


def test_the_elements_of_an_array_may_be_scalars(decode_records: Decode) -> None:
    columns = {"id": "bigint", "tag": {"type": "int", "from": "a.tags"}}

    decoded = decode_records(
        ['{"id":1,"a":{"tags":[7,"8",null,"x"]}}', '{"id":2,"a":{}}'], columns, explode="a.tags"
    )

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
        (
            {"id": None, "unit_price": None, "city": " "},
            [("required", "id", None), ("type decimal(30,10)", "unit_price", "x")],
            False,
        ),
    ]


def test_a_text_record_is_taken_apart_by_sql(decode_records: Decode) -> None:
    columns = {
        "line": {"type": "string", "from": "value"},
        "level": {
            "type": "string",
            "sql": "nullif(regexp_extract(line, '^([A-Z]+) ', 1), '')",
            "required": True,
        },
        "code": {"type": "int", "sql": "nullif(regexp_extract(line, 'code=(\\\\d+)', 1), '')"},
    }

    decoded = decode_records(["WARN code=7 {", "nothing"], columns, source_format="text")

    assert decoded == [
        ({"line": "WARN code=7 {", "level": "WARN", "code": 7}, [], False),
        ({"line": "nothing", "level": None, "code": None}, [("required", "level", None)], False),
    ]


@pytest.mark.parametrize("name", ["record", "Record"])
def test_a_column_may_have_the_name_of_bronzes_text(decode_records: Decode, name: str) -> None:
    decoded = decode_records(
        [f'{{"{name}":"x"}}'],
        {name: "string", "double": {"type": "string", "sql": f"concat({name}, {name})"}},
    )

    assert decoded == [({name: "x", "double": "xx"}, [], False)]


@pytest.mark.parametrize(
    "sql",
    [
        "coalesce(at, t)",
        "CASE WHEN n > 1 THEN at ELSE t END",
        "words[0] > at",
        "at = 'now'",
        "CAST(words AS array<timestamp>)",
    ],
)
def test_text_that_becomes_a_time_on_a_detour_is_refused(decode_records: Decode, sql: str) -> None:
    columns = {"t": "string", "n": "int", "at": "timestamp", "words": "array<string>"}
    with pytest.raises(ReadsTheClock):
        decode_records(['{"t":"12:30"}'], {**columns, "x": {"type": "string", "sql": sql}})


def test_a_constant_that_says_its_day_is_no_clock(decode_records: Decode) -> None:
    columns = {"at": "timestamp", "is_new": {"type": "boolean", "sql": "at > '2024-01-01'"}}

    [(values, reasons, _)] = decode_records(['{"at":"2024-05-01T00:00:00Z"}'], columns)

    assert (values["is_new"], reasons) == (True, [])


def test_fields_of_a_computed_struct_are_taken_by_their_names(decode_records: Decode) -> None:
    columns = {
        "a": "int",
        "b": "int",
        "swapped": {"type": "struct<x:int,y:int>", "sql": "named_struct('y', a, 'x', b)"},
        "listed": {"type": "array<struct<x:int,y:int>>", "sql": "array(named_struct('Y', a, 'X', b), NULL)"},
        "placed": {"type": "struct<x:int,y:int>", "sql": "struct(a, b)"},
    }

    [(values, reasons, _)] = decode_records(['{"a":1,"b":2}'], columns)

    assert (values["swapped"].asDict(), values["placed"].asDict(), reasons) == (
        {"x": 2, "y": 1},
        {"x": 1, "y": 2},
        [],
    )
    assert [item and item.asDict() for item in values["listed"]] == [{"x": 2, "y": 1}, None]
