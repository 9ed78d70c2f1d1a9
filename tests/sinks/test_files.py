"""Files: exactly once through every cut, whole for every reader, compacted, and as exact as their format allows."""

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from spark_jobs.lake.layout import Lake
from spark_jobs.operations.account import sum_up
from spark_jobs.run.result import RunResult, Status
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders:
    from: orders
    columns: {id: bigint, v: int, name: string, at: timestamp}
    key: id
    sequence_by: v
    delete_when: v > 90
  log: {from: orders, columns: {id: bigint, name: string, at: timestamp}}
gold:
  per_name: {from: silver.orders, group_by: name, measures: {n: count(*)}}
sinks:
  log: {from: silver.log, to: files, format: parquet, path: log, compact_after: 3}
  changes: {from: silver.orders, to: files, format: json, path: changes, operation: op, columns: [id, v, name]}
  names: {from: gold.per_name, to: files, format: csv, path: out/names, mode: complete}
"""


def order(number: int, version: int, name: str, hour: int = 8) -> str:
    return json.dumps({"id": number, "v": version, "name": name, "at": f"2024-05-01T{hour:02}:10:00.123456Z"}) + "\n"


def run(workshop: Workshop) -> RunResult:
    result = workshop.run("shop")
    assert result.exit_code in (0, 3), result.message
    return result


def current(workshop: Workshop, path: str) -> Path:
    return workshop.root / "exports" / path / "current"


def parquet_rows(workshop: Workshop, path: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = dataset.dataset(sorted(current(workshop, path).glob("*.parquet"))).to_table(columns=list(columns)).to_pylist()
    return sorted(tuple(row.values()) for row in rows)


def json_rows(workshop: Workshop, path: str) -> list[dict[str, Any]]:
    return [json.loads(line) for file in sorted(current(workshop, path).glob("*.json")) if file.name[0] != "_" for line in open(file)]


def csv_rows(workshop: Workshop, path: str) -> list[list[str]]:
    return [row for file in sorted(current(workshop, path).glob("*.csv")) for row in csv.reader(open(file, newline=""))]


def missing(workshop: Workshop) -> list[int]:
    return [table["missing"] for table in sum_up(workshop.project.pipelines["shop"], Lake(str(workshop.root / "lake"), "shop"))]


def test_what_is_published_is_delivered_once_and_only_what_is_new(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("orders/1.json", order(1, 1, "Ann") + order(2, 1, "Bob"))
    first = {table.table: table for table in run(workshop).tables}
    assert run(workshop).status is Status.NOTHING_TO_DO
    workshop.land("orders/2.json", order(1, 2, "Ann B.") + order(2, 99, "") + order(3, 1, "Cid"))

    second = {table.table: table for table in run(workshop).tables}

    assert first["sink.log"].counts.inserted == 2
    assert parquet_rows(workshop, "log", "id", "name") == [(1, "Ann"), (1, "Ann B."), (2, ""), (2, "Bob"), (3, "Cid")]
    assert [(row["op"], row["id"], row["name"]) for row in json_rows(workshop, "changes")[:2]] == [
        ("insert", 1, "Ann"),
        ("insert", 2, "Bob"),
    ]
    assert sorted((row["op"], row["id"], row["name"]) for row in json_rows(workshop, "changes")[2:]) == [
        ("delete", 2, "Bob"),
        ("insert", 3, "Cid"),
        ("update", 1, "Ann B."),
    ]
    assert sorted(csv_rows(workshop, "out/names")) == [["Ann B.", "1"], ["Cid", "1"], ["name", "n"]]
    counts = second["sink.changes"].counts
    assert (counts.rows_in, counts.inserted, counts.updated, counts.deleted, counts.grown) == (3, 1, 1, 1, 0)
    assert missing(workshop) == [0] * 7
    assert run(workshop).status is Status.NOTHING_TO_DO
