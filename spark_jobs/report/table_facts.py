"""Each table of a pipeline: what a run did to it, what stands there now, and how its runs went."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any

from spark_jobs.config.graph import inputs_of, node_names
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import count_rows, newest, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.reasons import count_open
from spark_jobs.lake.sequence import read_markers, read_ordered
from spark_jobs.operations.account import REENRICH
from spark_jobs.report.facts import GateFact, Point, RuleFact, Run, TableFact, TableState

COUNTS = list(Counts().as_dict())
NEWEST = (("_event_at", "event"), ("_arrived_at", "arrival"), ("window_start", "window"), ("_processed_at", "write"))
"""Where a table's newest time is looked for, in this order: what happened says more than what came."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Work:
    """The ledger's rows about tables in the runs of the history."""

    batches: tuple[Row, ...]
    ended: tuple[Row, ...]

    @classmethod
    def read(cls, lake: Lake, history: Sequence[Run]) -> "Work":
        runs = {"run_id": [run.run_id for run in history]}
        batches = read_markers(lake, ["run_id", "started_at", "ended_at", *COUNTS], runs)
        return cls(tuple(batches), tuple(read_ordered(lake, "tables", ["run_id", "table", "ended_at", "seconds", "version"], runs)))


def collect_tables(
    pipeline: Pipeline,
    conf: Path,
    lake: Lake,
    history: Sequence[Run],
    gates: Sequence[GateFact],
    rules: Mapping[str, tuple[RuleFact, ...]],
) -> tuple[TableFact, ...]:
    """Every table in the order of the data, as the last run of the history left it."""
    work = Work.read(lake, history)
    tables = [_table(pipeline, conf, lake, table, history, gates, work, rules.get(table, ())) for table in node_names(pipeline)]
    return tuple(_mark_not_reached(tables))


def _table(
    pipeline: Pipeline,
    conf: Path,
    lake: Lake,
    table: str,
    history: Sequence[Run],
    gates: Sequence[GateFact],
    work: Work,
    rules: tuple[RuleFact, ...],
) -> TableFact:
    run, path = history[-1], lake.table(table)
    batches = [row for row in work.batches if row["table"] == table]
    mine = [row for row in batches if row["run_id"] == run.run_id]
    mine_ended = [row for row in work.ended if row["table"] == table]
    ended = next((row for row in mine_ended if row["run_id"] == run.run_id), None)
    newest_at, newest_of = _newest(path)
    return TableFact(
        name=table,
        state=_state(table, run, gates, has_batches=bool(mine), has_ended=ended is not None),
        inputs=tuple(_inputs(pipeline, table, conf)),
        counts=sum_counts(mine),
        corrected=sum(row["updated"] or 0 for row in mine if _is_correction(row)),
        batches=len(mine),
        seconds=ended["seconds"] if ended else sum((row["ended_at"] - row["started_at"]).total_seconds() for row in mine) or None,
        version=ended["version"] if ended else table_version(path),
        rows=count_rows(path),
        newest=newest_at,
        newest_of=newest_of,
        updated_at=next((row["ended_at"] for row in reversed((*batches, *mine_ended)) if row["ended_at"]), None),
        quarantine_open=count_open(lake.table(f"quarantine.{table}")),
        parked_open=count_open(lake.table(f"parked.{table}")),
        late_kept=count_rows(lake.table(f"late.{table}")),
        rules=rules,
        trend=_trend(batches, history),
    )


def _mark_not_reached(tables: Sequence[TableFact]) -> Iterator[TableFact]:
    """A table with nothing done to it, below one that failed, was held back or stopped, was not reached."""
    stopped = {table.name for table in tables if table.state in (TableState.FAILED, TableState.HELD_BACK, TableState.STOPPED)}
    for table in tables:
        if table.state is TableState.NOT_IN_RUN and stopped.intersection(table.inputs):
            stopped.add(table.name)
            yield replace(table, state=TableState.NOT_REACHED)
        else:
            yield table


def sum_counts(batches: Sequence[Row]) -> Counts:
    """Of the rows that came; corrections of rows that are there already are none."""
    return sum((Counts.of_row(row) for row in batches if not _is_correction(row)), Counts())


def _is_correction(row: Row) -> bool:
    return bool(row["step"].startswith(REENRICH))


def _state(table: str, run: Run, gates: Sequence[GateFact], *, has_batches: bool, has_ended: bool) -> TableState:
    if any(gate.table == table and gate.verdict == "blocked" for gate in gates):
        return TableState.HELD_BACK
    if has_ended or (has_batches and run.status == "ok"):
        return TableState.DONE
    if has_batches and run.status == "stopped":
        return TableState.STOPPED
    if has_batches or (run.status == "failed" and run.message.startswith(f"{table} failed")):
        return TableState.FAILED
    return TableState.NOT_IN_RUN


def _newest(path: str) -> tuple[datetime | None, str]:
    found = ((newest(path, column), kind) for column, kind in NEWEST)
    return next(((at, kind) for at, kind in found if at is not None), (None, ""))


def _inputs(pipeline: Pipeline, table: str, conf: Path) -> list[str]:
    try:
        return inputs_of(pipeline, table, conf)
    except OSError:  # its SQL file is gone: the report is about what ran, and says nothing of where that came from
        return []


def _trend(batches: Sequence[Row], history: Sequence[Run]) -> tuple[Point, ...]:
    by_run: dict[str, list[Row]] = defaultdict(list)
    for row in batches:
        by_run[row["run_id"]].append(row)
    sums = [(run, sum_counts(mine)) for run in history if (mine := by_run.get(run.run_id))]
    return tuple(Point(run.run_id, run.started_at, counts.published, max(0, counts.quarantined)) for run, counts in sums)
