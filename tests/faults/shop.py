"""The pipeline that faults are tried on: every kind of table, a first delivery, and a second that touches
each of them in every way.
"""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.storage import names_in
from spark_jobs.report.account import sum_up
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.run.result import RunResult, Status
from tests.conftest import PROFILE, ROOT, Workshop, weir_environ

PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders, files_per_batch: 2}
  people: {format: json, path: people}
dimensions:
  people: {from: people, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at, history: scd2}
  levels: {from: people, key: id, columns: {id: bigint, level: string, at: timestamp}, sequence_by: at}
silver:
  orders:
    from: orders
    columns: {id: bigint, person: bigint, v: int, at: timestamp, cents: bigint, op: string}
    key: id
    sequence_by: v
    event_time: at
    where: cents >= 0
    delete_when: op = 'D'
    lookup: {people: {on: person, take: city, if_missing: park}}
  lines:
    from: orders
    explode: items
    columns: {id: bigint, person: bigint, at: timestamp, sku: {type: string, from: items.sku}}
    event_time: at
    lookup: {levels: {on: person, take: level, if_missing: quarantine}}
gold:
  per_hour:
    from: silver.orders
    window: {size: 1 hour}
    group_by: city
    measures: {order_count: count(*), cents: sum(cents)}
    watermark: 1 hour
  closed:
    from: silver.lines
    window: {size: 1 hour}
    group_by: level
    measures: {line_count: count(*)}
    watermark: 1 hour
    emit: append
    late: keep
  per_sku: {from: silver.lines, group_by: sku, measures: {line_count: count(*)}}
"""
RULES = {
    "dimension.people": (
        """
expectations:
  city_is_no_number:
    type: expect_column_values_to_not_match_regex
    kwargs: {column: city, regex: "[0-9]"}
    on_fail: quarantine
    reason: A number is a postcode.
"""
    ),
    "silver.orders": (
        """
expectations:
  usual_price:
    type: expect_column_values_to_be_between
    kwargs: {column: cents, max_value: 5000}
    on_fail: quarantine
    reason: Nothing costs more.
  usual_order:
    type: expect_column_max_to_be_between
    kwargs: {column: cents, max_value: 5000}
    on_fail: block
    reason: Nobody buys for more.
"""
    ),
    "silver.lines": (
        """
expectations:
  known_sku:
    type: expect_column_values_to_be_in_set
    kwargs: {column: sku, value_set: [a, b]}
    on_fail: warn
    reason: A new sku is worth a look.
"""
    ),
    "gold.per_hour": (
        """
expectations:
  no_empty_window:
    type: expect_column_values_to_be_between
    kwargs: {column: order_count, min_value: 1}
    on_fail: block
    reason: A window without orders is no window.
"""
    ),
}
"""Every kind of action, on every kind of table that can have it."""
KINDS = {
    "bronze.orders": "bronze",
    "bronze.people": "bronze",
    "dimension.people": "dimension, scd2",
    "dimension.levels": "dimension, scd1",
    "silver.orders": "silver, with a key",
    "silver.lines": "silver, without a key",
    "gold.per_hour": "gold, update and repair",
    "gold.closed": "gold, append and keep",
    "gold.per_sku": "gold, complete",
    "quarantine.dimension.people": "quarantine",
    "quarantine.dimension.levels": "quarantine",
    "quarantine.silver.orders": "quarantine",
    "quarantine.silver.lines": "quarantine",
    "parked.silver.orders": "parked",
    "deleted.silver.orders": "deleted",
    "late.gold.closed": "late",
}
BOARD = """
pipeline: {name}
gold:
  per_hour:
    from: shop.silver.orders
    window: {{size: 1 hour}}
    group_by: city
    measures: {{order_count: count(*), cents: sum(cents)}}
  closed:
    from: shop.silver.lines
    window: {{size: 1 hour}}
    group_by: level
    measures: {{line_count: count(*)}}
    watermark: 1 hour
    emit: append
    late: keep
"""
"""A pipeline that reads the shop's tables, without the shop's lease."""
BOARD_KINDS = {
    "gold.per_hour": "gold over another pipeline, update",
    "gold.closed": "gold over another pipeline, append and keep",
    "late.gold.closed": "late rows of another pipeline",
}
OF_PROCESSING = {
    "_file_modified_at",
    "file_modified_at",
    "_processed_at",
    "_revision",
    "_arrived_at",
    "arrived_at",
    "set_aside_at",
    "first_seen_at",
}
OF_PROCESSING |= {"run_id", "batch"}
"""Columns that tell of the way to a row. The order of arrival is the same in all of these lakes: what tells
of that is compared.
"""


def write_board(workshop: Workshop, name: str) -> None:
    workshop.write(f"conf/pipelines/{name}.yml", BOARD.format(name=name))
    workshop.write(f"expectations/{name}/gold.per_hour.yml", RULES["gold.per_hour"])


def person(number: int, city: str, level: str, at: str) -> str:
    return f'{{"id":{number},"city":"{city}","level":"{level}","at":"{at}"}}\n'


def order(
    number: int, of: int, version: int, at: str, cents: int = 100, op: str = "U", skus: str = "ab"
) -> str:
    items = ",".join(f'{{"sku":"{sku}"}}' for sku in skus)
    head = f'"id":{number},"person":{of},"v":{version},"at":"2024-05-01T{at}:00Z","cents":{cents},"op":"{op}"'
    return f'{{{head},"items":[{items}]}}\n'


def write_pipeline(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    for table, rules in RULES.items():
        workshop.write(f"expectations/shop/{table}.yml", rules)


def land_first(workshop: Workshop) -> None:
    """People 1 and 2; their orders, two of a person who is not there yet, one that is left out, and one that
    cannot be read.
    """
    workshop.land(
        "people/1.json", person(1, "Ulm", "new", "2024-01-01") + person(2, "Bonn", "old", "2024-01-01")
    )
    workshop.land(
        "orders/1.json",
        order(1, 1, 1, "08:10")
        + order(2, 2, 1, "08:20")
        + order(3, 7, 1, "09:10")
        + order(11, 7, 1, "09:40")
        + "no order\n",
    )
    workshop.land("orders/2.json", order(4, 1, 1, "11:10") + order(5, 2, 1, "12:10", cents=-1))


def land_second(workshop: Workshop) -> None:
    """Person 7 comes, 1 moved in March, 2 has another level; orders are corrected, deleted, late, repeated,
    waiting, wrong. Rules refuse a member and an order.
    """
    people = (
        person(7, "Rome", "new", "2024-02-01")
        + person(1, "Cologne", "new", "2024-03-01")
        + person(2, "Bonn", "top", "2024-04-01")
    )
    workshop.land(
        "people/2.json",
        people + '{"id":8,"city":"Nowhere","at":"soon"}\n' + person(6, "89073", "new", "2024-02-01"),
    )
    corrected, deleted = order(1, 1, 2, "10:10", cents=150), order(2, 2, 5, "08:20", op="D")
    refused = order(12, 2, 1, "09:55", cents=9900)
    workshop.land(
        "orders/3.json",
        corrected + deleted + order(6, 9, 1, "12:30") + order(7, 2, 1, "14:30") + "no order\n",
    )
    workshop.land(
        "orders/4.json",
        order(2, 2, 4, "08:40") + order(8, 1, 1, "07:30", skus="abc") + order(4, 1, 1, "11:10"),
    )
    workshop.land(
        "orders/5.json",
        order(3, 7, 2, "13:10") + order(9, 2, 1, "14:50") + order(10, 2, 1, "09:50") + refused,
    )


def run_in_order(workshop: Workshop, pipeline: str = "shop") -> RunResult:
    """A run of one table at a time, so that points are reached in the same order every time."""
    return run_pipeline(
        workshop.project, pipeline, PROFILE.model_copy(update={"parallel_tables": 1}), start=workshop._start
    )


def armed(point: tuple[str, str, str]) -> str:
    """A point as failpoints are named."""
    name, table, step = point
    return f"{name}:{table}@{step}" if step else f"{name}:{table}"


def start_weir(
    workshop: Workshop, *arguments: str, armed: str = "", go: Path | None = None
) -> "subprocess.Popen[str]":
    """`weir` as a process of its own, over the workshop's project."""
    environ = weir_environ(
        WEIR_HOME=str(workshop.root), PYTHONPATH=str(ROOT), WEIR_FAILPOINTS=armed, WEIR_FAILPOINTS_GO=str(go)
    )
    command = [sys.executable, "-m", "spark_jobs.cli", *arguments]
    return subprocess.Popen(
        command, env=environ, cwd=workshop.root, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )


def end_weir(process: "subprocess.Popen[str]") -> tuple[int, str]:
    """Its exit code and what it said last."""
    _, said = process.communicate(timeout=600)
    return process.returncode, said.strip().splitlines()[-1] if said.strip() else ""


def wait_until_free(workshop: Workshop, pipeline: str) -> None:
    """The JVM of a process that was killed ends a moment later, and holds the lock of the
    lease until then.
    """
    lease = Lake(workshop.project.lake, pipeline).lease()
    if Path(lease).exists():
        subprocess.run(["flock", "--shared", "--timeout", "300", lease, "true"], check=True)


def run_when_free(
    workshop: Workshop, command: str, pipeline: str, *arguments: str, armed: str = ""
) -> tuple[int, str]:
    wait_until_free(workshop, pipeline)
    return end_weir(start_weir(workshop, command, pipeline, *arguments, armed=armed))


def run_here_when_free(workshop: Workshop, pipeline: str = "shop") -> RunResult:
    """The same without a JVM of its own."""
    wait_until_free(workshop, pipeline)
    return workshop.run_beside_others(pipeline)


def contents(workshop: Workshop, pipeline: str = "shop") -> dict[str, list[str]]:
    """The rows of every table that a reader sees, without what tells of the way to them. A table without rows
    is no table.
    """
    root = f"{workshop.lake or workshop.root / 'lake'}/{pipeline}"
    layers = [layer for layer in names_in(root) if not layer.startswith("_")]
    paths = {
        f"{layer}.{name}": f"{root}/{layer}/{name}"
        for layer in layers
        for name in names_in(f"{root}/{layer}")
    }
    tables = {table: DeltaTable(path) for table, path in paths.items() if DeltaTable.is_deltatable(path)}
    found = {
        table: sorted(repr(_without_the_way(row)) for row in known.to_pyarrow_table().to_pylist())
        for table, known in tables.items()
    }
    return {table: rows for table, rows in found.items() if rows}


def _without_the_way(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_the_way(inner) for name, inner in value.items() if name not in OF_PROCESSING}
    return [_without_the_way(inner) for inner in value] if isinstance(value, list) else value


def missing_rows(workshop: Workshop, pipeline: str = "shop") -> dict[str, int]:
    """What `weir account` misses, by table."""
    rows = sum_up(workshop.project.pipelines[pipeline], Lake(workshop.project.lake, pipeline))
    return {row["table"]: row["missing"] for row in rows if row["missing"]}


def assert_converged(workshop: Workshop, expected: dict[str, list[str]], pipeline: str = "shop") -> None:
    """Every table as it would be if nothing had happened, every row accounted for, and nothing left to do."""
    found = contents(workshop, pipeline)
    assert sorted(found) == sorted(expected)
    assert {table: rows for table, rows in found.items() if rows != expected[table]} == {}
    assert missing_rows(workshop, pipeline) == {}
    assert replace(workshop, spark=None).run(pipeline).status is Status.NOTHING_TO_DO
