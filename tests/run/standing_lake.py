"""A lake as a run leaves it that had everything to take in, made without Spark: tables with versions, and a
ledger that says so.
"""

import os
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.seen import Seen
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.look import register_arrivals
from spark_jobs.run.definitions import note_definitions
from spark_jobs.run.plan import Plan, make_plan
from tests.conftest import Workshop, unguarded

PIPELINE = """
pipeline: shop
sources:
  orders:  {format: json, path: orders, idle_after: 1 hour, same_content: skip}
  members: {format: json, path: members, settle: 1 hour}
dimensions:
  members: {from: members, key: id, columns: {id: bigint, city: string, v: int}, sequence_by: v}
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, at: timestamp}
    event_time: at
    lookup: {members: {on: member, take: city, if_missing: park, give_up_after: 7 days}}
gold:
  closed: {from: silver.orders, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour, emit: append}
  total:  {sql: sql/total.sql}
"""
AN_ORDER = '{"id":1,"member":1,"at":"2024-05-01T08:10:00Z"}\n'
EVENT_AT = datetime(2024, 5, 1, 8, 10, tzinfo=UTC)


@dataclass(frozen=True)
class StandingLake:
    workshop: Workshop

    @property
    def lake(self) -> Lake:
        return Lake(self.workshop.project.lake, "shop")

    @property
    def ledger(self) -> Ledger:
        return Ledger(self.lake, unguarded)

    @property
    def plan(self) -> Plan:
        project = self.workshop.project
        plan = make_plan(project.pipelines["shop"], project.conf, self.lake)
        plan.ledger.guard = unguarded
        return plan

    def write_table(self, name: str, **columns: Any) -> None:
        """One more version of a table, with one more row."""
        row = columns or {"_file_id": "of no file", "_line": 1}
        write_deltalake(self.lake.table(name), pa.Table.from_pylist([row]), mode="append")

    def land_settled(self, path: str, text: str) -> None:
        os.utime(self.workshop.land(path, text), (1_000_000_000, 1_000_000_000))

    def files(self) -> dict[str, tuple[int, int]]:
        """Every file of the project, with what a write would change of it."""
        found = (path for path in self.workshop.root.rglob("*") if path.is_file())
        return {str(path): (path.stat().st_size, path.stat().st_mtime_ns) for path in found}


def build(root: Workshop, arrived_at: datetime) -> StandingLake:
    """One order and one member have come at this time, and every table has consumed them."""
    standing = StandingLake(root)
    root.write("conf/pipelines/shop.yml", PIPELINE)
    root.write("conf/sql/total.sql", "SELECT count(*) AS n FROM silver.orders")
    root.land("orders/1.json", AN_ORDER)
    standing.land_settled("members/1.json", '{"id":1,"city":"Ulm","v":1}\n')
    project, pipeline = root.project, root.project.pipelines["shop"]
    for name, source in pipeline.sources.items():
        register_arrivals(make_feed(standing.lake, project.landing, name, source, unguarded), arrived_at)
    for table in standing.plan.tables:
        standing.write_table(table)
    ledger = standing.ledger
    ledger.write_batch(
        "run", ("silver.orders", "stream", 1, 0), arrived_at, 0, Counts(), Seen(EVENT_AT, None, 1)
    )
    plan, _ = note_definitions(standing.plan, "run")
    for table in plan.tables:
        ledger.write_table("run", table, 1.0, plan.current_inputs(table), 0, 1, Counts())
    return standing


def copy_of(standing: StandingLake, root: Path) -> StandingLake:
    shutil.copytree(standing.workshop.root, root, dirs_exist_ok=True)
    return StandingLake(Workshop(root, None))
