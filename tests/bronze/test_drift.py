"""Fields that came or went."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.bronze import drift
from spark_jobs.bronze.drift import Drift, describe_drift, find_drift, note_drift
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from tests.conftest import unguarded

AT = datetime(2026, 3, 1, tzinfo=UTC)


def pipeline(file_format: str = "json", columns: dict[str, Any] | None = None, **silver: Any) -> Pipeline:
    table = {"from": "feed", "columns": columns or {"id": "bigint"}, **silver}
    return Pipeline.model_validate(
        {
            "pipeline": "shop",
            "sources": {"feed": {"format": file_format, "path": "feed"}},
            "silver": {"t": table},
        }
    )


def found(shop: Pipeline, *records: Any) -> list[tuple[str, str]]:
    texts = [("a", record if isinstance(record, str) else json.dumps(record)) for record in records]
    return [(entry.field, entry.kind) for entry in find_drift(shop, "feed", texts)]


def test_a_field_that_no_table_declares_is_new_wherever_it_stands() -> None:
    shop = pipeline(columns={"id": "bigint", "amount": {"type": "int", "from": "payment.amount"}})
    record = {
        "id": 1,
        "payment": {"amount": 1, "tip": 2},
        "items": [{"sku": "a"}, {"sku": "b", "more": {"x": 1}}],
        "tags": ["a"],
        "Id": 2,
    }
    assert found(shop, {"id": 1}, record) == [
        (name, "added") for name in ("Id", "items.more.x", "items.sku", "payment.tip", "tags")
    ]


def test_the_first_file_that_shows_it_is_named_in_whatever_order_records_are_read() -> None:
    sheets = pipeline("csv", {"id": "bigint", "city": "string"})
    records = [("c.csv", '{"id": 1, "x": 1}'), ("a.csv", '{"id": 1, "x": 1}'), ("b.csv", '{"id": 1, "x": 1}')]

    assert find_drift(sheets, "feed", records) == [
        Drift("feed", "x", "added", "a.csv"),
        Drift("feed", "city", "missing", "a.csv"),
    ]


def test_a_declared_column_covers_what_is_below_its_field() -> None:
    columns = {
        "id": "bigint",
        "who": "struct<name:string>",
        "tags": "array<string>",
        "extra": "map<string,string>",
        "text": "string",
    }
    record = {
        "id": 1,
        "who": {"name": "x", "age": 1},
        "tags": [{"a": 1}],
        "extra": {"k": "v"},
        "text": {"in": "here"},
    }
    assert found(pipeline(columns=columns), record) == []


def test_of_an_exploded_array_only_the_fields_that_a_column_takes_are_declared() -> None:
    shop = pipeline(
        columns={"id": "bigint", "sku": {"type": "string", "from": "order.items.sku"}}, explode="order.items"
    )
    assert found(shop, {"id": 1, "order": {"items": [{"sku": "a", "size": 3}]}}) == [
        ("order.items.size", "added")
    ]
    assert found(shop, {"id": 1, "order": {"items": []}}, {"id": 1, "order": None}) == []


def test_the_columns_of_all_tables_of_a_source_are_declared_and_computed_ones_are_not() -> None:
    tables = {
        "pipeline": "shop",
        "sources": {"feed": {"format": "json", "path": "feed"}, "other": {"format": "json", "path": "other"}},
        "dimensions": {
            "d": {"from": "feed", "key": "d", "columns": {"d": "int", "v": "int"}, "sequence_by": "v"}
        },
        "silver": {
            "s": {"from": "feed", "columns": {"a": "int", "b": {"type": "int", "sql": "a + 1"}}},
            "o": {"from": "other", "columns": {"c": "int"}},
        },
    }
    shop = Pipeline.model_validate(tables)
    assert found(shop, {"a": 1, "b": 1, "c": 1, "d": 1, "v": 1}) == [("b", "added"), ("c", "added")]


def test_a_source_that_no_table_reads_and_one_of_text_have_no_fields() -> None:
    bronze_only = Pipeline.model_validate(
        {"pipeline": "shop", "sources": {"feed": {"format": "json", "path": "feed"}}}
    )
    assert found(bronze_only, {"a": 1}) == []
    assert found(pipeline("text", {"value": "string"}), '{"a":1}') == []


def test_csv_fields_are_whole_names_of_the_header() -> None:
    shop = pipeline("csv", {"id": "int", "price": {"type": "int", "from": "unit.price"}})
    assert found(shop, {"id": "1", "unit.price": "2", "unit": "3"}) == [("unit", "added")]


def test_a_declared_field_is_missing_where_a_csv_file_does_not_name_it() -> None:
    shop = pipeline("csv", {"id": "int", "city": "string", "town": {"type": "string", "sql": "city"}})
    assert found(shop, {"id": "1", "City": "x"}) == [("City", "added"), ("city", "missing")]
    assert found(pipeline("json", {"id": "int", "city": "string"}), {"id": 1}) == []


def test_a_declared_field_is_missing_where_a_table_of_others_no_longer_has_it() -> None:
    columns = {"id": "bigint", "amount": "int", "change": {"type": "string", "from": "_change_type"}}
    assert found(pipeline("delta", columns), {"id": 1, "amount": None, "_change_type": "insert"}) == []
    assert found(pipeline("delta", columns), {"id": 1, "total": 2, "_change_type": "insert"}) == [
        ("total", "added"),
        ("amount", "missing"),
    ]


def test_in_parquet_a_null_on_the_way_to_a_field_says_nothing() -> None:
    shop = pipeline("parquet", {"id": "int", "name": {"type": "string", "from": "who.name"}})
    assert found(shop, {"id": 1, "who": None}) == []
    assert found(shop, {"id": 1, "who": None}, {"id": 1, "who": {"age": 3}}) == [
        ("who.age", "added"),
        ("who.name", "missing"),
    ]
    assert found(shop, {"id": 1, "who": {"name": None}}) == []


@pytest.mark.parametrize("record", ["", "no json", "[1]", "[" * 100_000, '{"a":' * 100_000, "9" * 5000])
def test_records_that_are_no_objects_have_no_fields(record: str) -> None:
    assert found(pipeline(), record) == []


def test_field_names_are_input() -> None:
    entries = find_drift(pipeline(), "feed", [("a\n.json", json.dumps({"\ud800\n": 1, "x" * 5000: 2}))])
    assert [entry.field for entry in entries] == ["\\ud800\n", "x" * 200]
    assert all("\n" not in str(entry) and len(str(entry)) < 250 for entry in entries)


def test_what_is_said_of_drift() -> None:
    added, missing = (
        Drift("orders", "payment.tip", "added", "a.json"),
        Drift("orders", "city", "missing", "b.csv"),
    )
    kept = "kept in bronze; declare it and rebuild the table to take it in"
    assert str(added) == f"orders: field 'payment.tip' is new in 'a.json': {kept}"
    assert str(missing).startswith("orders: field 'city' is missing in 'b.csv': NULL in all its rows")


def bronze(lake: Lake, chunk: int, file: str, *records: Any, first_line: int = 1) -> dict[str, Any]:
    lines = range(first_line, first_line + len(records))
    rows = [
        {"record": json.dumps(record), "_file": file, "_file_id": file, "_line": line, "_chunk": chunk}
        for line, record in zip(lines, records, strict=True)
    ]
    table = pa.Table.from_pylist(rows)
    write_deltalake(
        lake.table("bronze.feed"),
        table.append_column("_problem", pa.nulls(len(rows), pa.string())),
        mode="append",
    )
    return {"chunk": chunk, "file_id": file, "start_line": first_line if first_line > 1 else None}


def test_each_new_field_is_written_down_once_with_its_first_file(tmp_path: Path) -> None:
    lake, shop = Lake(str(tmp_path), "shop"), pipeline()
    first = bronze(lake, 1, "a.json", {"id": 1}, {"id": 1, "x": 2})
    assert note_drift(Ledger(lake, unguarded), shop, "feed", [first], "run1", AT) == [
        Drift("feed", "x", "added", "a.json")
    ]
    assert note_drift(Ledger(lake, unguarded), shop, "feed", [first], "run1", AT) == []
    second = bronze(lake, 2, "b.json", {"x": 1, "y": 2})
    assert note_drift(Ledger(lake, unguarded), shop, "feed", [second], "run2", AT) == [
        Drift("feed", "y", "added", "b.json")
    ]
    rows = DeltaTable(lake.ledger("drift")).to_pyarrow_table().to_pylist()
    assert sorted(tuple(row.values()) for row in rows) == [
        ("run1", "feed", "x", "added", "a.json", AT, 0),
        ("run2", "feed", "y", "added", "b.json", AT, 1),
    ]


def test_a_field_that_is_missing_again_is_told_again(tmp_path: Path) -> None:
    lake, shop = Lake(str(tmp_path), "shop"), pipeline("csv", {"id": "bigint", "amount": "int"})
    without, whole = {"id": "1"}, {"id": "1", "amount": "2"}
    told = []
    for number, record in enumerate([whole, without, without, whole, whole, without], 1):
        file = bronze(lake, number, f"{number}.csv", record)
        told.append(
            [
                str(entry)
                for entry in note_drift(Ledger(lake, unguarded), shop, "feed", [file], f"run{number}", AT)
            ]
        )

    missing = (
        "feed: field 'amount' is missing in '{}.csv': NULL in all its rows; if it has a new name, set `from`"
        " to it"
    )
    returned = "feed: field 'amount' is there again in '4.csv'; rows without it stay NULL"
    assert told == [[], [missing.format(2)], [], [returned], [], [missing.format(6)]]


def test_only_the_first_records_of_the_given_files_are_looked_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "FIRST_LINES", 2)
    lake = Lake(str(tmp_path), "shop")
    bronze(lake, 1, "old.json", {"old": 1})
    whole = bronze(lake, 2, "a.json", {"a": 1}, {"b": 1}, {"c": 1})
    part = bronze(lake, 3, "b.json", {"d": 1}, {"e": 1}, {"f": 1}, first_line=90)
    assert [
        entry.field
        for entry in note_drift(Ledger(lake, unguarded), pipeline(), "feed", [whole, part], "run", AT)
    ] == [
        "a",
        "b",
        "d",
        "e",
    ]
    assert note_drift(Ledger(lake, unguarded), pipeline(), "feed", [], "run", AT) == []


def test_the_files_of_a_large_batch_that_were_all_appended_to_are_looked_at(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    others = [{"chunk": 1, "file_id": f"{number}.json", "start_line": 7} for number in range(20_000)]
    last = bronze(lake, 1, "last.json", {"id": 1, "x": 1}, first_line=90)
    assert note_drift(Ledger(lake, unguarded), pipeline(), "feed", [*others, last], "run", AT) == [
        Drift("feed", "x", "added", "last.json")
    ]


def test_a_feed_that_uses_values_as_names_does_not_fill_the_ledger_and_hides_no_missing_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(drift, "NEW_FIELDS_PER_SOURCE", 3)
    lake, shop = (
        Lake(str(tmp_path), "shop"),
        pipeline("csv", {"id": "bigint", "amount": "int", "city": "string"}),
    )
    told = []
    for chunk in (1, 2):
        file = bronze(
            lake,
            chunk,
            f"{chunk}.csv",
            {"id": 1, "city": "x"} | {f"{chunk}-{number}": 1 for number in range(9)},
        )
        told += [note_drift(Ledger(lake, unguarded), shop, "feed", [file], "run", AT)]
    told += [
        note_drift(
            Ledger(lake, unguarded), shop, "feed", [bronze(lake, 3, "3.csv", {"id": 1, "new": 1})], "run", AT
        )
    ]

    written = DeltaTable(lake.ledger("drift")).to_pyarrow_table().to_pylist()
    assert sorted((row["field"], row["kind"]) for row in written) == [
        ("1-0", "added"), ("1-1", "added"), ("1-2", "added"), ("amount", "missing"), ("city", "missing"),
    ]  # fmt: skip
    assert [[entry.field for entry in found] for found in told] == [
        ["amount", *(f"1-{number}" for number in range(9))],
        [],
        ["city"],
    ]


def test_of_many_new_fields_the_first_are_named_and_all_are_counted() -> None:
    new = [Drift("feed", f"f{number}", "added", "a.csv") for number in range(7)]
    lines = list(describe_drift([*new, Drift("feed", "amount", "missing", "a.csv")], "shop"))

    assert lines[0].startswith("feed: field 'amount' is missing")
    assert [line.split("'")[1] for line in lines[1:6]] == ["f0", "f1", "f2", "f3", "f4"]
    assert lines[6:] == [
        "feed: and 2 more fields are new: `weir account shop --json` lists them; the ledger keeps the first"
        " 500 new ones of a source"
    ]
