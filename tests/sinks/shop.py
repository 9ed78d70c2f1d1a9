"""A shop whose tables go to every kind of sink that needs no broker, and what stands at the other side."""

import csv
import json
import subprocess
from pathlib import Path
from typing import Any

from pyarrow import dataset

from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from spark_jobs.run.result import RunResult
from tests.airflow.postgres import find_binaries
from tests.conftest import Workshop

TABLES = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders:
    from: orders
    columns: {id: bigint, v: int, name: string, mail: {type: string, sensitive: true}, tags: array<string>, at: timestamp}
    key: id
    sequence_by: v
    delete_when: v > 90
  log: {from: orders, columns: {id: bigint, name: string, at: timestamp}}
gold:
  per_name: {from: silver.orders, group_by: name, measures: {n: count(*)}}
  per_hour: {from: silver.orders, window: {size: 1 hour, column: at}, group_by: name, measures: {n: count(*)}}
"""


LOG = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  log: {from: orders, columns: {id: bigint, name: string, at: timestamp}}
"""


def order(number: int, version: int, name: str | None, hour: int = 8) -> str:
    at = f"2024-05-01T{hour:02}:10:00.123456Z"
    return (
        json.dumps(
            {"id": number, "v": version, "name": name, "mail": f"{number}@home", "tags": ["a", "b"], "at": at}
        )
        + "\n"
    )


def declare(workshop: Workshop, tables: str, sinks: str, database: str | None = None) -> None:
    workshop.write("conf/pipelines/shop.yml", f"{tables}sinks:\n{sinks}")
    if database:
        workshop.write(
            "secrets/connections.yml", f'warehouse: {{url: "jdbc:postgresql://{database}", user: weir}}\n'
        )


def run(workshop: Workshop) -> RunResult:
    result = workshop.run("shop")
    assert result.exit_code in (0, 3), result.message
    return result


def counts(result: RunResult, sink: str) -> tuple[int, int, int, int, int]:
    found = next(table.counts for table in result.tables if table.table == sink)
    return found.rows_in, found.inserted, found.updated, found.deleted, found.superseded


def current(workshop: Workshop, path: str) -> Path:
    return workshop.root / "exports" / path / "current"


def parquet_rows(workshop: Workshop, path: str, *columns: str) -> list[tuple[Any, ...]]:
    rows = (
        dataset.dataset(sorted(current(workshop, path).glob("*.parquet")))
        .to_table(columns=list(columns))
        .to_pylist()
    )
    return sorted(tuple(row.values()) for row in rows)


def json_rows(workshop: Workshop, path: str) -> list[dict[str, Any]]:
    files = [file for file in sorted(current(workshop, path).glob("*.json")) if not file.name.startswith("_")]
    return [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]


def csv_rows(workshop: Workshop, path: str) -> list[list[str]]:
    found: list[list[str]] = []
    for file in sorted(current(workshop, path).glob("*.csv")):
        with open(file, encoding="utf-8", newline="") as lines:
            found += csv.reader(lines)
    return found


def missing(workshop: Workshop) -> dict[str, int]:
    """The tables and sinks whose sums do not balance."""
    accounts = sum_up(workshop.project.pipelines["shop"], Lake(str(workshop.root / "lake"), "shop"))
    return {account["table"]: account["missing"] for account in accounts if account["missing"]}


def ask(database: str, query: str) -> list[list[str]]:
    """Through psql, which is no part of what is tested."""
    address, _, name = database.partition("/")
    host, _, port = address.partition(":")
    line = [
        str(find_binaries() / "psql"),
        "-h",
        host,
        "-p",
        port,
        "-U",
        "weir",
        "-d",
        name,
        "-At",
        "-F",
        "\t",
        "-c",
        query,
    ]
    said = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60)
    return [row.split("\t") for row in said.stdout.splitlines()]
