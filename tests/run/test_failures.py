"""What a run leaves behind when it fails, and how the next one goes on."""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.config.errors import UsageError
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_batches import BatchId
from spark_jobs.report.account import sum_up
from spark_jobs.silver.decode import decode
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders:  {format: json, path: orders}
  members: {format: json, path: members}
dimensions:
  members:
    from: members
    key: id
    columns: {id: bigint, city: string, at: timestamp}
    sequence_by: at
    history: scd2
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, version: bigint, at: timestamp}
    key: id
    sequence_by: version
    event_time: at
    lookup: {members: {on: member, take: city}}
  log:
    from: orders
    columns: {id: bigint, version: bigint}
gold:
  per_hour:
    from: silver.orders
    window: {size: 1 hour}
    group_by: city
    measures: {order_count: count(*)}
"""
SMALL = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders: {from: orders, columns: {id: bigint}}
  copies: {from: orders, columns: {id: bigint}}
gold:
  good:   {from: silver.copies, group_by: id, measures: {n: count(*)}}
  bad:    {python: "hooks/shop.py:build", inputs: silver.orders}
  behind: {sql: sql/behind.sql}
"""


class Power(Exception):
    """The machine is gone."""


def order(number: int, member: int, version: int, at: str) -> str:
    return f'{{"id":{number},"member":{member},"version":{version},"at":"2024-05-01T{at}:00Z"}}\n'


def at(hour: int) -> datetime:
    return datetime(2024, 5, 1, hour, tzinfo=UTC)


def accounts(workshop: Workshop) -> dict[str, list[int]]:
    """Per table: rows in, inserted, updated, superseded, duplicate, quarantined, corrected, missing."""
    shown = (
        "rows_in",
        "inserted",
        "updated",
        "superseded",
        "duplicate",
        "quarantined",
        "corrected",
        "missing",
    )
    rows = sum_up(workshop.project.pipelines["shop"], Lake(workshop.project.lake, "shop"))
    return {row["table"]: [row[name] for name in shown] for row in rows}


def test_a_batch_that_was_published_before_a_crash_is_not_done_again(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the second delivery on, power fails once for each batch: after its table is published, before its
    marker is written.
    """
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("members/1.json", '{"id":1,"city":"Ulm","at":"2024-01-01"}\n')
    workshop.land("orders/1.json", order(1, 1, 1, "10:00") + order(2, 2, 1, "11:00"))
    assert workshop.run("shop").exit_code == 0
    workshop.land(
        "members/2.json",
        '{"id":2,"city":"Bonn","at":"2024-01-01"}\n{"id":1,"city":"Köln","at":"2024-03-01"}\nx\n',
    )
    workshop.land(
        "orders/2.json", order(1, 1, 2, "12:00") + order(3, 2, 1, "13:00") + order(2, 2, 0, "14:00") + "x\n"
    )
    cut: set[BatchId] = set()
    write_batch = Ledger.write_batch

    def fail_once(ledger: Ledger, run_id: str, batch_id: BatchId, *rest: Any) -> None:
        if batch_id not in cut:
            cut.add(batch_id)
            raise Power
        write_batch(ledger, run_id, batch_id, *rest)

    monkeypatch.setattr(Ledger, "write_batch", fail_once)
    results = [workshop.run("shop") for _ in range(7)]

    assert [result.status for result in results[-2:]] == ["ok", "nothing_to_do"]
    assert all("Power" in result.message for result in results[:-2])
    assert {(table, step) for table, step, _, _ in cut} == {
        ("bronze.orders", "stream"),
        ("bronze.members", "stream"),
        ("dimension.members", "stream"),
        ("silver.log", "stream"),
        ("silver.orders", "reenrich.members"),
        ("silver.orders", "stream"),
        ("gold.per_hour", "stream"),
    }
    assert workshop.rows("shop.bronze.orders", "_file", "_line") == [("orders/1.json", n) for n in (1, 2)] + [
        ("orders/2.json", n) for n in (1, 2, 3, 4)
    ]
    assert workshop.rows("shop.dimension.members", "id", "city", "_valid_to") == [
        (1, "Köln", None),
        (1, "Ulm", datetime(2024, 3, 1, tzinfo=UTC)),
        (2, "Bonn", None),
    ]
    assert workshop.rows("shop.silver.log", "id", "version") == [(1, 1), (1, 2), (2, 0), (2, 1), (3, 1)]
    assert workshop.rows("shop.silver.orders", "id", "version", "city") == [
        (1, 2, "Köln"),
        (2, 1, "Bonn"),
        (3, 1, "Bonn"),
    ]
    assert workshop.rows("shop.gold.per_hour", "window_start", "city", "order_count") == [
        (at(11), "Bonn", 1),
        (at(12), "Köln", 1),
        (at(13), "Bonn", 1),
    ]
    assert len(workshop.rows("shop.quarantine.silver.orders", "record")) == 1
    assert len(workshop.rows("shop.quarantine.silver.log", "record")) == 1
    assert len(workshop.rows("shop.quarantine.dimension.members", "record")) == 1
    found = accounts(workshop)
    gold = found.pop("gold.per_hour")
    assert found == {
        "bronze.orders": [6, 6, 0, 0, 0, 0, 0, 0],
        "bronze.members": [4, 4, 0, 0, 0, 0, 0, 0],
        "dimension.members": [4, 3, 0, 0, 0, 1, 0, 0],
        "silver.orders": [6, 3, 1, 1, 0, 1, 1, 0],
        "silver.log": [6, 5, 0, 0, 0, 1, 0, 0],
    }
    assert gold[-1] == 0


def test_a_batch_with_a_marker_is_not_done_again_when_sparks_own_is_missing(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", SMALL.partition("gold:")[0])
    workshop.land("orders/1.json", '{"id":1}\n')
    assert workshop.run("shop").exit_code == 0
    checkpoints = workshop.root / "lake" / "shop" / "_weir" / "checkpoints"
    newest = [
        max(folder.glob("[0-9]*"), key=lambda file: int(file.name))
        for folder in checkpoints.glob("*/g1/commits")
    ]
    assert len(newest) == 3
    for commit in newest:
        commit.unlink()
        Path(commit.parent, f".{commit.name}.crc").unlink(missing_ok=True)
    workshop.land("orders/2.json", '{"id":2}\n')

    result = workshop.run("shop")

    assert result.exit_code == 0, result.message
    assert workshop.rows("shop.bronze.orders", "record") == [('{"id":1}',), ('{"id":2}',)]
    assert workshop.rows("shop.silver.orders", "id") == [(1,), (2,)]
    assert accounts(workshop)["silver.orders"] == [2, 2, 0, 0, 0, 0, 0, 0]

    # Without its checkpoint a table would start from 0 and take its batches for done: it must say so, and the
    # others go on.
    shutil.rmtree(checkpoints / "silver.orders")
    workshop.land("orders/3.json", '{"id":3}\n')

    lost = workshop.run("shop")

    assert (lost.status, lost.exit_code) == ("failed", 1)
    assert "silver.orders failed: CheckpointLost: " in lost.message
    assert {run.table: run.state for run in lost.tables} == {
        "bronze.orders": "done",
        "silver.orders": "failed",
        "silver.copies": "done",
    }
    assert workshop.rows("shop.silver.orders", "id") == [(1,), (2,)]


def test_a_failing_table_takes_only_those_behind_it_along(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", SMALL)
    workshop.write("conf/sql/behind.sql", "SELECT * FROM gold.bad")
    workshop.write("conf/hooks/shop.py", "def build(orders):\n    raise KeyError('no such thing')\n")
    workshop.land("orders/1.json", '{"id":1}\n')

    # By layers, and by tables.
    assert [run.table for run in workshop.run("shop", layer="bronze").tables] == ["bronze.orders"]
    assert [(run.table, run.state) for run in workshop.run("shop", "silver.copies").tables] == [
        ("silver.copies", "done")
    ]
    assert Workshop(workshop.root, None).run("shop", "silver.copies").status == "nothing_to_do"
    with pytest.raises(
        UsageError, match=r"(?s)--select: there is no table 'silver.order'.*did you mean 'silver\.orders'"
    ):
        workshop.run("shop", "silver.order")

    failed = workshop.run("shop")

    assert (failed.status, failed.exit_code) == ("failed", 1)
    assert (
        "gold.bad failed: HookRaised: hooks/shop.py:build raised KeyError at hooks/shop.py line 2"
        in failed.message
    )
    assert {run.table: run.state for run in failed.tables} == {
        "bronze.orders": "up_to_date",
        "silver.orders": "done",
        "silver.copies": "up_to_date",
        "gold.good": "done",
        "gold.bad": "failed",
        "gold.behind": "not_reached",
    }
    ends = [
        row
        for row in Ledger(Lake(workshop.project.lake, "shop")).rows("runs")
        if row["run_id"] == failed.run_id and row["event"] == "ended"
    ]
    assert [row["status"] for row in ends] == ["failed"]

    workshop.write(
        "conf/hooks/shop.py", "def build(orders):\n    return orders.selectExpr('id + 1 AS next_id')\n"
    )
    repaired = workshop.run("shop")

    assert (repaired.status, [run.table for run in repaired.tables if run.state == "done"]) == (
        "ok",
        ["gold.bad", "gold.behind"],
    )
    assert workshop.rows("shop.gold.behind", "next_id") == [(2,)]


def test_a_row_that_gets_lost_on_its_way_fails_the_run(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.write("conf/pipelines/shop.yml", SMALL[: SMALL.index("gold:")])
    workshop.land("orders/a.json", '{"id":1}\n{"id":2}\n')
    monkeypatch.setattr(
        "spark_jobs.silver.upsert.decode",
        lambda records, how, rules: decode(records, how, rules).where("id = 1"),
    )

    result = workshop.run("shop", "bronze.orders", "silver.orders")

    assert result.exit_code == 1
    assert "RowsMissing: silver.orders batch 0 (stream): 1 of 2 records did not come out" in result.message
    ledger = Ledger(Lake(str(workshop.root / "lake"), "shop"))
    assert [row["table"] for row in ledger.rows("batches")] == ["bronze.orders"]
    assert [(row["table"], row["message"][:20]) for row in ledger.rows("evidence")] == [
        ("silver.orders", "silver.orders batch ")
    ]
    assert workshop.rows("shop.silver.orders") == []
