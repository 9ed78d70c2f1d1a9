"""Records decoded a second time: the engine and plain Python come to the same values, and a decoding that
bends one is found.
"""

import json
from typing import Any

import pytest
from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.silver import decode, extract, fitting, text_lines
from spark_jobs.verify.result import Outcome
from tests.conftest import Workshop
from tests.verify.conftest import Verify, checks

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  events: {format: json, path: events}
  sheets: {format: csv, path: sheets}
  notes: {format: text, path: notes}
dimensions:
  sheets:
    from: sheets
    key: id
    sequence_by: at
    columns: {id: bigint, price: "decimal(9,2)", at: timestamp, city: {type: string, from: a.city}}
silver:
  events:
    from: events
    columns:
      tiny: tinyint
      whole: bigint
      price: decimal(9,2)
      long: decimal(30,4)
      text: string
      ok: boolean
      day: date
      at: timestamp
      city: {type: string, from: address.city}
      share: double
      twice: {type: bigint, sql: whole * 2}
  lines: {from: events, explode: lines, columns: {whole: bigint, sku: {type: string, from: lines.sku}, n: {type: int, from: lines.n}}}
  notes: {from: notes, columns: {value: string}}
"""
BENT = """
pipeline: shop
sources: {a: {format: json, path: a}}
silver: {a: {from: a, columns: {id: bigint, pin: {type: bigint, sensitive: true}, name: string}}}
"""
VALUES: dict[str, list[Any]] = {
    "tiny": [0, -128, 127, 128, "5", " 5", "+5", "5.0", 5.5, "x", "", True, None, [1], {}],
    "whole": [1, 2**63 - 1, 2**63, -(2**63), "9223372036854775808", "1e3", "0x10", "١", "1_000", "12a"],
    "price": [1, "1.5", 10.25, "9999999.99", 10000000, -0.5, "1,5", "abc", "1e1", "--1"],
    "long": ["12345678901234567890123456.7891", 0.0001, "99999999999999999999999999", 10**26],
    "text": ["", " ", "é\u2028ü", "a\tb", 12, 1.5, True, None, {"a": 1}, "\U0001f600", "0012"],
    "ok": [True, False, "true", "FALSE", "yes", "maybe", 1, ""],
    "day": ["2024-02-29", "2023-02-29", "2024-2-1", "20240201", "0001-01-01", "9999-12-31", "today", "2024-03-01T10:00:00Z", 20240301],
    "at": [
        "2024-03-01T10:00:00Z", "2024-03-01 10:00:00.123456", "2024-03-01T10:00:00+05:30", "2024-03-31T02:30:00-08:00", "12:30", "now",
        "2024-03-01T25:00:00Z", "1500-01-01T00:00:00Z", "2024-03-01", "2024-03-01T10:00:00 Europe/Berlin", "", 1709287200,
    ],
    "address": [{"city": "Ulm"}, {"city": None}, {}, None, "Ulm", ["Ulm"]],
    "lines": [[{"sku": "a", "n": 1}, {"sku": None, "n": "x"}, {}], [], None, [{"sku": "b", "n": 2}] * 30],
}  # fmt: skip
OTHERS = [
    '{"whole": 1',
    "[]",
    "7",
    '{"a": NaN, "whole": 3}',
    "{'whole': 4}",
    '{"Whole": 5}',
    '{"whole": 6}{"whole": 7}',
]


def test_plain_python_comes_to_the_values_of_the_engine(workshop: Workshop, verify: Verify) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    records = [json.dumps({name: value}) for name, values in VALUES.items() for value in values]
    workshop.land("events/1.json", "\n".join([*records, *OTHERS]))
    rows = [
        "id,price,at,a.city",
        "1,2.50,2024-01-01,Ulm",
        "2,x,2024-01-01T10:00:00Z,",
        '3,,2024-01-01T10:00:00Z,"a ""b"""',
        "wide",
    ]
    workshop.land("sheets/1.csv", "\n".join(rows))
    workshop.land("notes/1.text", "one\n\xa0two \n")
    assert workshop.run("shop").exit_code == 0

    found = verify(workshop, "shop")

    assert {check.table: check.problems for check in found.tables if not check.is_equal} == {}
    sampled = {name: check.sampled for name, check in checks(found).items() if check.sampled is not None}
    count = len(records) + len(OTHERS)
    assert sampled == {
        "dimension.sheets": 4,
        "silver.events": count,
        "silver.lines": count,
        "silver.notes": 2,
    }
    left_out = checks(found)["silver.events"].left_out
    assert left_out[:2] == ("share (double)", "twice (sql)")
    assert "1 value of day" in left_out or any(said.endswith("values of day") for said in left_out)
    assert checks(found)["silver.notes"].left_out == ()


def test_a_value_that_decoding_bends_is_found_although_engine_and_recomputation_agree(
    workshop: Workshop, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    fit = fitting.fit_text

    def bend(text: Column, kind: str) -> Column:
        return text.try_cast("bigint") % 1000 if kind == "bigint" else fit(text, kind)

    monkeypatch.setattr(decode, "fit_text", bend)
    workshop.write("conf/pipelines/shop.yml", BENT)
    workshop.land("a/1.json", '{"id": 1234, "pin": 5678, "name": "x"}\n{"id": 12}\n')
    assert workshop.run("shop").exit_code == 0

    found = verify(workshop, "shop", "silver.a")

    check = checks(found)["silver.a"]
    assert (found.status, check.only_here, check.only_recomputed, check.different) == (
        Outcome.DIFFERENT,
        0,
        0,
        0,
    )
    assert check.problems[0] == "of 2 sampled records 2 values are decoded otherwise in plain Python"
    assert sorted(check.problems[1:]) == [
        "'a/1.json' line 1: id: decoded 234, in plain Python 1234",
        "'a/1.json' line 1: pin: decoded •••, in plain Python •••",
    ]


PARTS = """
pipeline: shop
sources:
  a: {format: json, path: "a/{day}", files_per_batch: 1}
  b: {format: text, path: b, skip_lines: 1, comment: "#"}
silver:
  a: {from: a, columns: {day: {type: date, from: _path.day}, line: {type: bigint, from: _line}}}
  b: {from: b, columns: {value: string, file: {type: string, from: _file}}}
"""


def test_a_wrong_part_of_a_path_and_a_header_line_that_is_published_are_found(
    workshop: Workshop, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.write("conf/pipelines/shop.yml", PARTS)
    workshop.land("a/2026-03-01/1.json", "{}\n")
    workshop.land("b/1.txt", "said\none\n#two\n")
    monkeypatch.setattr(extract, "_text_of", lambda origin: F.lit("2026-03-02"))
    monkeypatch.setattr(text_lines, "_is_passed_over", lambda how: F.lit(False))
    assert workshop.run("shop").exit_code == 0

    found = checks(verify(workshop, "shop"))

    assert found["silver.a"].problems[1:] == (
        "'a/2026-03-01/1.json' line 1: day: decoded '2026-03-02', in plain Python '2026-03-01'",
    )
    assert sorted(found["silver.b"].problems[1:]) == [
        "'b/1.txt' line 1: the record: decoded candidate, in plain Python filtered",
        "'b/1.txt' line 3: the record: decoded candidate, in plain Python filtered",
    ]
