"""A shop whose ledger, side tables and logs are written directly: what a report is made from, without Spark.

Twelve good runs with a few broken rows, then whatever a test lets the last run be.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.config import Project, load_project
from spark_jobs.config.expectations import Rule, rules_version
from spark_jobs.lake.blocked import Grounds, allowed_actions
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_schemas import SCHEMAS
from spark_jobs.lake.states import TableEnd, write_states
from spark_jobs.landing.arrivals_schema import ARRIVALS
from tests.conftest import ROOT, unguarded

START = datetime(2026, 11, 1, 6, 0, tzinfo=UTC)
TIME = pa.timestamp("us", "UTC")
REASON = pa.struct([("rule", pa.string()), ("column", pa.string()), ("value", pa.string())])
QUARANTINE = pa.schema(
    [("record", pa.string()), ("reasons", pa.list_(REASON)), ("file", pa.string()), ("file_id", pa.string()), ("line", pa.int64()),
     ("element", pa.int32()), ("arrived_at", TIME), ("run_id", pa.string()), ("batch", pa.int64()), ("rules", pa.string()),
     ("first_seen_at", TIME), ("attempts", pa.int32()), ("state", pa.string())]
)  # fmt: skip
PIPELINE = """\
pipeline: shop
description: Orders of all shops, with their customers.
owner: data-platform
sources:
  customers: {format: csv, path: shop/customers}
  orders: {format: json, path: shop/orders}
dimensions:
  customers:
    from: customers
    key: customer_id
    sequence_by: changed_at
    columns:
      customer_id: bigint
      city: string
      email: {type: string, sensitive: true}
      changed_at: timestamp
silver:
  orders:
    from: orders
    key: order_id
    sequence_by: ordered_at
    event_time: ordered_at
    columns: {order_id: bigint, ordered_at: timestamp, customer_id: bigint, status: string, amount: "decimal(12,2)"}
    lookup:
      customers: {on: customer_id, take: [city], if_missing: park}
gold:
  revenue_per_hour:
    from: silver.orders
    window: {size: 1 hour}
    group_by: [city]
    measures: {revenue: sum(amount)}
    watermark: 2 hours
"""
RULES = {
    "silver.orders": (
        Rule("amount_in_range", "expect_column_values_to_be_between", {"column": "amount", "min_value": 0, "max_value": 100_000},
             "quarantine", "critical", "Amounts outside of this are typing mistakes."),
        Rule("known_status", "expect_column_values_to_be_in_set", {"column": "status", "value_set": ["new", "paid"], "mostly": 0.95},
             "warn", "warning", "Reports group by these."),
        Rule("enough_orders", "expect_table_row_count_to_be_between", {"min_value": 500},
             "block", "critical", "Fewer orders than this mean that a shop did not deliver."),
        Rule("order_once", "expect_column_values_to_be_unique", {"column": "order_id"}, "block", "critical", "An order counts once."),
    ),
    "dimension.customers": (
        Rule("has_email", "expect_column_values_to_match_regex", {"column": "email", "regex": ".+@.+"}, "quarantine", "warning",
             "Invoices go there."),
    ),
}  # fmt: skip


OWN = ("silver.orders", "gold.revenue_per_hour")
GROUNDS = Grounds("c0ffee", 312, (), {})


def run_id_of(number: int) -> str:
    return f"{START + timedelta(hours=number):%Y%m%dT%H%M%S}-{number:08x}"


@dataclass(frozen=True)
class Judged:
    """What a rule found: so many rows failed, or it is met or not."""

    failed: int | None = 0
    is_met: bool = True
    rows: int | None = 1_000
    observed: str | None = None
    problem: str | None = None


@dataclass(frozen=True)
class Day:
    """One run of the shop."""

    number: int
    status: str | None = "ok"
    message: str = "5 tables brought up to date"
    quarantined: int = 2
    verdict: str = "passed"
    judged: dict[str, Judged] = field(default_factory=dict)
    origin: str | None = None
    failed: dict[str, str] = field(default_factory=dict)
    """Tables that failed, each with its error: no batch of them was done."""
    silver: Counts | None = None
    gold: Counts | None = None
    late_kept: int = 0
    alarms: tuple[str, ...] = ()
    """Of the silver table."""
    is_old: bool = False
    """Written by an earlier version, which kept no states."""

    @property
    def run_id(self) -> str:
        return run_id_of(self.number)

    @property
    def at(self) -> datetime:
        return START + timedelta(hours=self.number)


@dataclass(frozen=True)
class LakeOfRuns:
    """Writes the lake of the shop, and opens it as a project."""

    root: Path

    @property
    def project(self) -> Project:
        return load_project(self.root, {})

    @property
    def lake(self) -> Lake:
        return Lake(str(self.root / "lake"), "shop")

    def set_up(self, settings: str = "", pipeline: str = PIPELINE) -> None:
        for folder in ("pipelines", "profiles"):
            (self.root / "conf" / folder).mkdir(parents=True)
        (self.root / "conf" / "profiles" / "local.yml").write_bytes(
            (ROOT / "conf" / "profiles" / "local.yml").read_bytes()
        )
        (self.root / "conf" / "lakehouse.yml").write_text(
            f"landing: landing\nlake: lake\n{settings}", encoding="utf-8"
        )
        (self.root / "conf" / "pipelines" / "shop.yml").write_text(pipeline, encoding="utf-8")

    def run(self, day: Day) -> None:
        """A run as the engine would have written it, and its rows."""
        held = day.verdict == "blocked"
        self._append(
            "runs",
            [
                self._run_row(day, "started", None, None),
                *([self._run_row(day, "ended", day.status, day.message)] * bool(day.status)),
            ],
        )
        bronze = Counts(rows_in=1_040, inserted=1_040, grown=1_040)
        silver = Counts(rows_in=1_040, inserted=900, updated=80, superseded=38 - day.quarantined, duplicate=15, quarantined=day.quarantined,
                        parked=5, filtered=2, grown=900)  # fmt: skip
        gold = Counts(rows_in=980, inserted=120, grown=40, late=3)
        members = Counts(rows_in=60, inserted=58, duplicate=2, grown=58)
        done = {
            "bronze.customers": Counts(rows_in=60, inserted=60, grown=60),
            "bronze.orders": bronze,
            "dimension.customers": members,
        }
        done |= (
            {} if held else {"silver.orders": day.silver or silver, "gold.revenue_per_hour": day.gold or gold}
        )
        done = {table: counts for table, counts in done.items() if table not in day.failed}
        for table, counts in done.items():
            self.batch(day, table, counts)
        for table, rules in RULES.items():
            self._judge(day, table, rules)
        if day.status is not None and not day.is_old:
            self._end_tables(day, done)
        if not held and day.silver is None:
            self.set_aside(
                "quarantine.silver.orders", [("amount_in_range", "amount", "-3.50")] * day.quarantined, day
            )
            self.set_aside("parked.silver.orders", [("member of customers", "customer_id", "88")] * 5, day)

    def _end_tables(self, day: Day, done: dict[str, Counts]) -> None:
        """As a run does when it ends."""
        ends = [TableEnd(day.run_id, table, 1, "failed", error) for table, error in day.failed.items()]
        ends += [
            TableEnd(day.run_id, table, 1, "done", seconds=7.4, late_kept=0)
            for table in done
            if table not in OWN
        ]
        if day.verdict == "blocked":
            actions = allowed_actions("silver.orders", "stream")
            ends.append(
                TableEnd(
                    day.run_id, "silver.orders", 1, "blocked", "batch blocked", 7.4, actions, GROUNDS.id, 0
                )
            )
            ends.append(TableEnd(day.run_id, "gold.revenue_per_hour", 1, "not_reached"))
        late, alarms = {"gold.revenue_per_hour": day.late_kept}, {"silver.orders": day.alarms}
        ends += [
            TableEnd(
                day.run_id,
                table,
                1,
                "done",
                seconds=7.4,
                late_kept=late.get(table, 0),
                alarms=alarms.get(table, ()),
            )
            for table in OWN
            if table in done
        ]
        write_states(Ledger(self.lake, unguarded), ends, day.at + timedelta(seconds=47))

    def batch(self, day: Day, table: str, counts: Counts) -> None:
        begun, ended = day.at + timedelta(seconds=5), day.at + timedelta(seconds=12)
        batch = self._batch(day, table)
        self._append(
            "batches",
            [
                {
                    **batch,
                    "started_at": begun,
                    "ended_at": ended,
                    "version": day.number + 1,
                    **counts.as_dict(),
                }
            ],
        )
        inputs = {"arrivals": day.number + 1} if table.startswith("bronze.") else {}
        row = {
            "run_id": day.run_id,
            "table": table,
            "ended_at": ended,
            "seconds": 7.4,
            "inputs": json.dumps(inputs),
            "batches": 1,
        }
        self._append("tables", [{**row, "version": day.number + 1, **counts.as_dict()}])
        if day.number == 0:
            known = {
                "run_id": day.run_id,
                "table": table,
                "generation": 1,
                "noted_at": day.at,
                "definition": "{}",
                "starts_after": "{}",
            }
            self._append("definitions", [{**known, "state": "live"}])
        times = pa.array([ended - timedelta(minutes=30)] * counts.grown, TIME)
        column = {"bronze": "_arrived_at", "dimension": "_arrived_at", "silver": "_event_at"}.get(
            table.partition(".")[0], "window_start"
        )
        lines = pa.array(range(1, counts.grown + 1), pa.int64())
        of_file: dict[str, pa.Array] = {}
        if table.startswith("bronze."):
            of_file = {
                "_file_id": pa.array(["a file"] * counts.grown),
                "_problem": pa.nulls(counts.grown, pa.string()),
            }
            of_file |= {"_chunk": pa.array([day.number + 1] * counts.grown, pa.int64())}
        write_deltalake(
            self.lake.table(table), pa.table({column: times, "_line": lines, **of_file}), mode="append"
        )
        if table.startswith("bronze."):
            self.arrive(table.partition(".")[2], day, "taken", f"shop/{day.number}.json")

    def arrive(
        self, source: str, day: Day, verdict: str, path: str, reason: str | None = None, size: int = 10
    ) -> None:
        row = {
            "chunk": day.number + 1,
            "path": path,
            "size": size,
            "arrived_at": day.at,
            "verdict": verdict,
            "reason": reason,
        }
        write_deltalake(
            self.lake.arrivals(source), pa.Table.from_pylist([row], schema=ARRIVALS), mode="append"
        )

    def set_aside(
        self,
        table: str,
        reasons: Sequence[tuple[str, str | None, str | None]],
        day: Day,
        file: str = "shop/orders/a.json",
    ) -> None:
        """A row per reason."""
        common = {
            "record": "{}",
            "file": file,
            "file_id": "f",
            "element": 0,
            "arrived_at": day.at,
            "run_id": day.run_id,
            "batch": day.number,
        }
        named = [[dict(zip(("rule", "column", "value"), reason, strict=True))] for reason in reasons]
        rows = [
            {**common, "reasons": why, "line": line, "state": "open", "attempts": 0}
            for line, why in enumerate(named, 1)
        ]
        if rows:
            write_deltalake(
                self.lake.table(table), pa.Table.from_pylist(rows, schema=QUARANTINE), mode="append"
            )

    def decide(self, day: Day, action: str, by: str, reason: str, hours: int = 1) -> None:
        row = {
            **self._batch(day, "silver.orders"),
            "decided_at": day.at + timedelta(hours=hours),
            "action": action,
        }
        self._append("decisions", [{**row, "rules": "v", "decided_by": by, "reason": reason}])

    def drift(self, day: Day, *names: str, file: str = "shop/orders/a.json", kind: str = "added") -> None:
        common = {"run_id": day.run_id, "source": "orders", "kind": kind, "file": file, "seen_at": day.at}
        Ledger(self.lake, unguarded).append("drift", [{**common, "field": name} for name in names])

    def _judge(self, day: Day, table: str, rules: tuple[Rule, ...]) -> None:
        version, judged_at = rules_version(rules), day.at + timedelta(seconds=9)
        common = {**self._batch(day, table), "judged_at": judged_at, "rules": version}
        if day.number == 0:
            definition = json.dumps([rule.as_dict() for rule in rules])
            self._append(
                "rules", [{"rules": version, "table": table, "noted_at": day.at, "definition": definition}]
            )
        found = {rule.name: day.judged.get(rule.name, _usual(rule, day)) for rule in rules}
        self._append("expectations", [_expectation(common, rule, found[rule.name]) for rule in rules])
        failed = [rule.name for rule in rules if rule.on_fail == "block" and not found[rule.name].is_met]
        verdict = day.verdict if table == "silver.orders" else "passed"
        grounds = GROUNDS.as_json() if verdict == "blocked" and not day.is_old else None
        row = {
            "verdict": verdict,
            "rows": 312 if failed else 980,
            "failed": json.dumps(failed),
            "grounds": grounds,
        }
        self._append("gates", [{**common, **row}])

    def _run_row(self, day: Day, event: str, status: str | None, message: str | None) -> dict[str, Any]:
        at = day.at if event == "started" else day.at + timedelta(seconds=48)
        row = {"run_id": day.run_id, "pipeline": "shop", "at": at, "event": event, "status": status}
        return {**row, "host": "lakehouse-1", "pid": 4_711, "message": message, "origin": day.origin}

    def _batch(self, day: Day, table: str) -> dict[str, Any]:
        return {"run_id": day.run_id, "table": table, "step": "stream", "generation": 1, "batch": day.number}

    def _append(self, name: str, rows: list[dict[str, Any]]) -> None:
        write_deltalake(
            self.lake.ledger(name), pa.Table.from_pylist(rows, schema=SCHEMAS[name]), mode="append"
        )


def _usual(rule: Rule, day: Day) -> Judged:
    if rule.name == "amount_in_range":
        return Judged(day.quarantined)
    return Judged(None, rows=None, observed="980") if rule.name == "enough_orders" else Judged()


def _expectation(common: dict[str, Any], rule: Rule, found: Judged) -> dict[str, Any]:
    said = {
        "rule": rule.name,
        "type": rule.type,
        "columns": ",".join(rule.columns),
        "on_fail": rule.on_fail,
        "severity": rule.severity,
    }
    seen = {
        "is_met": found.is_met,
        "rows": found.rows,
        "failed": found.failed,
        "observed": found.observed,
        "problem": found.problem,
    }
    return {**common, **said, **seen, "reason": rule.reason, "scope": rule.scope}
