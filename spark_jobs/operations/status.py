"""How the tables of a pipeline stand: what they hold, how their last batch went, and what waits. Read from
the ledger, without a JVM.

One row is one table. The numbers of a batch are those of the ledger's batches (rows) and progress (time,
backlog, state).
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.config.loading import Project
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.blocked import allowed_actions
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_table import TABLE, DeltaTable, ask, literal, names_of, read_rows
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import holder_of
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.states import BLOCKED, FAILED, KILLED, TableEnd, newest_states
from spark_jobs.lake.verdicts import Verdict, Verdicts
from spark_jobs.run.plan import Plan, make_plan

# Which record moved a watermark: the one with the greatest event time that a silver table has seen. No JVM.
# It is looked for in the table. One that is quarantined, parked or superseded is not there: then the ledger
# names the files among which it came.

NAMED = 3
"""Files that are named, of those among which the record came."""


@dataclass(frozen=True)
class Furthest:
    """`line` is known where the record is in the table; else `files` are some of those among which it came,
    of `file_count`.
    """

    event_at: datetime
    file: str | None = None
    line: int | None = None
    files: tuple[str, ...] = ()
    file_count: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "event_at": self.event_at.isoformat(), "files": list(self.files)}


def find_furthest(ledger: Ledger, lake: Lake, table: str, generation: int, source: str) -> Furthest | None:
    """Of a silver table that reads this source; None where it has seen no event time."""
    found = ledger.batch_of_high(table, generation)
    if found is None:
        return None
    high, until, after = found
    row = _row_at(lake.table(table), high)
    if row is not None:
        return Furthest(high, str(row["_file"]), int(row["_line"]))
    where = f"verdict = 'taken' AND chunk <= {until} AND chunk > {after}" if until is not None else "FALSE"
    files = sorted({str(row["path"]) for row in read_rows(lake.arrivals(source), ["path"], where)})
    return Furthest(high, files=tuple(files[:NAMED]), file_count=len(files))


def _row_at(path: str, at: datetime) -> dict[str, Any] | None:
    if not DeltaTable.is_deltatable(path):
        return None
    table = DeltaTable(path)
    if not {"_event_at", "_file", "_line"} <= {*names_of(table)}:
        return None
    moment = f"arrow_cast({literal(at.isoformat())}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
    found = ask(
        table, f"SELECT _file, _line FROM {TABLE} WHERE _event_at = {moment} ORDER BY _file, _line LIMIT 1"
    )
    return found[0] if found else None


PROGRESS = (
    "lag_seconds",
    "backlog_files",
    "backlog_bytes",
    "backlog_messages",
    "max_partition_lag",
    "watermark",
    "state_rows",
    "state_bytes",
)
"""What is taken from a table's newest row of the ledger's progress, as it is called there."""


@dataclass(frozen=True)
class TableStatus:
    table: str
    state: str
    """up to date, due, blocked, failed or empty."""
    version: int | None
    last_batch_at: datetime | None
    last_rows: int | None
    last_published: int | None
    seconds: float | None
    rows_per_second: float | None
    lag_seconds: float | None
    backlog_files: int | None
    backlog_bytes: int | None
    backlog_messages: int | None
    max_partition_lag: int | None
    watermark: datetime | None
    state_rows: int | None
    state_bytes: int | None
    totals: Counts
    watermark_by: dict[str, Any] | None = None
    """The record that moved it: its event time, and its file and line, or the files among which it came."""
    error: str | None = None
    """Of a table that failed when a run came to it last."""
    actions: tuple[str, ...] = ()
    """What may be decided about a blocked batch."""
    seen: str | None = None

    def as_dict(self) -> dict[str, Any]:
        plain = {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in vars(self).items()
        }
        return plain | {"totals": self.totals.as_dict()}


@dataclass(frozen=True)
class PipelineStatus:
    pipeline: str
    at: datetime
    writer: dict[str, str] | None
    """Who has the lease now."""
    stream: dict[str, str] | None
    """The always-on stream, where there is one."""
    last_run: dict[str, Any] | None
    tables: tuple[TableStatus, ...]

    def as_dict(self) -> dict[str, Any]:
        run = self.last_run and {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in self.last_run.items()
        }
        tables = [table.as_dict() for table in self.tables]
        return {
            "pipeline": self.pipeline,
            "at": self.at.isoformat(),
            "writer": self.writer,
            "stream": self.stream,
            "last_run": run,
            "tables": tables,
        }


def status_of(project: Project, name: str, now: datetime) -> PipelineStatus:
    """The pipeline as it stands, also while a run is at work."""
    lake = Lake(project.lake, name)
    plan = make_plan(project.pipelines[name], project.conf, lake)
    ledger, consumed = plan.ledger, plan.ledger.consumed_inputs()
    progress = {row["table"]: row for row in ledger.newest("progress")}
    verdicts, ends = Verdicts(ledger), newest_states(ledger)
    writer, stream = holder_of(lake.lease()), holder_of(lake.stream_lease())
    tables = tuple(
        _table(plan, table, consumed.get(table), progress.get(table), verdicts, ends.get(table))
        for table in plan.tables
    )
    return PipelineStatus(
        name, now, writer, stream, _last_run(ledger, is_at_work=bool(writer or stream)), tables
    )


def _last_run(ledger: Ledger, is_at_work: bool) -> dict[str, Any] | None:
    """The run that ended last. One that was killed after it could not say so: the next start will."""
    last = ledger.last_run()
    begun = [
        row
        for row in ledger.open_runs()
        if row["event"] == "started" and (last is None or row["at"] > last["at"])
    ]
    if begun and not is_at_work:
        last = begun[-1] | {"status": KILLED, "message": "it ended without a word; the next run resumes"}
    return last and {name: last[name] for name in ("run_id", "at", "status", "message")}


def _table(
    plan: Plan,
    table: str,
    consumed: dict[str, Any] | None,
    progress: dict[str, Any] | None,
    verdicts: Verdicts,
    end: TableEnd | None,
) -> TableStatus:
    generation = plan.generation(table)
    blocked = verdicts.blocked(table, generation)
    state = _state(plan, table, consumed, blocked, end)
    watermark, moved_by = _watermark(plan, table)
    last = plan.ledger.last_batch(table, generation)
    counts = Counts.of_row(last) if last else None
    seconds = (last["ended_at"] - last["started_at"]).total_seconds() if last else None
    said = progress or {}
    return TableStatus(
        table=table,
        state=state,
        version=plan.version(table),
        last_batch_at=last["ended_at"] if last else None,
        last_rows=counts.rows_in if counts else None,
        last_published=counts.published if counts else None,
        seconds=seconds,
        rows_per_second=counts.rows_in / seconds if counts and seconds else None,
        totals=plan.ledger.sums(table, generation, without="reenrich"),
        watermark=watermark or said.get("watermark"),
        watermark_by=moved_by.as_dict() if moved_by else None,
        error=end.error if end and state == "failed" else None,
        actions=allowed_actions(*blocked.batch_id[:2]) if blocked else (),
        seen=blocked.grounds.id if blocked and blocked.grounds else None,
        **{key: said.get(key) for key in PROGRESS if key != "watermark"},
    )


def _watermark(plan: Plan, table: str) -> tuple[datetime | None, Furthest | None]:
    """Of a gold table with windows that close, over a silver table of this pipeline whose event time may be
    shown.
    """
    layer, name = TableName(table).parts
    gold = plan.pipeline.gold.get(name) if layer == "gold" else None
    if gold is None or gold.is_native or not gold.watermark or not gold.from_ or other_pipeline(gold.from_):
        return None, None
    silver = plan.pipeline.silver[TableName(gold.from_).name]
    if silver.event_time is None or silver.event_time.column in sensitive_columns(plan.pipeline, gold.from_):
        return None, None
    moved_by = find_furthest(plan.ledger, plan.lake, gold.from_, plan.generation(gold.from_), silver.from_)
    return plan.watermark(gold).until, moved_by


def _state(
    plan: Plan, table: str, consumed: dict[str, Any] | None, blocked: Verdict | None, end: TableEnd | None
) -> str:
    if blocked:
        return BLOCKED
    if plan.is_due(table, consumed):
        return FAILED if end and end.state == FAILED else "due"
    is_empty = consumed is None if TableName(table).is_sink else plan.version(table) is None
    return "empty" if is_empty else "up to date"
