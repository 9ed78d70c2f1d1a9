"""Each table of a pipeline: what a run did to it, what is in it now, and how its runs went."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from spark_jobs.config.graph import inputs_of, node_names
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake.delta_log import count_rows, newest, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.reasons import count_open
from spark_jobs.lake.states import KILLED
from spark_jobs.report.facts import Point, RuleFact, Run, TableFact, TableState, TableWork
from spark_jobs.report.work import Row, Work, sum_counts

NEWEST = (("_event_at", "event"), ("_arrived_at", "arrival"), ("window_start", "window"), ("_processed_at", "write"))
"""Where a table's newest time is looked for, in this order: what happened says more than what came."""


def collect_tables(
    pipeline: Pipeline, conf: Path, lake: Lake, history: Sequence[Run], work: Work, rules: Mapping[str, tuple[RuleFact, ...]]
) -> tuple[TableFact, ...]:
    """Every table in the order of the data, as the last run of the history left it."""
    known = work.tables_of(history[-1])
    without = TableState.NO_TRACE if history[-1].status == KILLED else TableState.NOT_IN_RUN
    still = {table: TableWork(table, without) for table in node_names(pipeline)}
    return tuple(_table(pipeline, conf, lake, known.get(table, still[table]), history, work, rules.get(table, ())) for table in still)


def _table(
    pipeline: Pipeline, conf: Path, lake: Lake, done: TableWork, history: Sequence[Run], work: Work, rules: tuple[RuleFact, ...]
) -> TableFact:
    table, path = done.name, lake.table(done.name)
    batches = [row for run in history for row in work.batches[run.run_id] if row["table"] == table]
    ended = [row for run in history for row in work.ended[run.run_id] if row["table"] == table]
    mine = next((row for row in ended if row["run_id"] == history[-1].run_id), None)
    newest_at, newest_of = _newest(path)
    return TableFact(
        **{**vars(done), "rules": rules},
        inputs=tuple(_inputs(pipeline, table, conf)),
        version=mine["version"] if mine else table_version(path),
        rows=count_rows(path),
        newest=newest_at,
        newest_of=newest_of,
        updated_at=next((row["ended_at"] for row in reversed((*batches, *ended)) if row["ended_at"]), None),
        quarantine_open=count_open(lake.table(f"quarantine.{table}")),
        parked_open=count_open(lake.table(f"parked.{table}")),
        late_open=count_rows(lake.table(f"late.{table}")),
        trend=_trend(batches, history),
    )


def _newest(path: str) -> tuple[datetime | None, str]:
    found = ((newest(path, column), kind) for column, kind in NEWEST)
    return next(((at, kind) for at, kind in found if at is not None), (None, ""))


def _inputs(pipeline: Pipeline, table: str, conf: Path) -> list[str]:
    try:
        return inputs_of(pipeline, table, conf)
    except OSError:  # its SQL file is gone: the report is about what ran, and says nothing of where that came from
        return []


def _trend(batches: Sequence[Row], history: Sequence[Run]) -> tuple[Point, ...]:
    by_run: dict[str, list[Row]] = {}
    for row in batches:
        by_run.setdefault(row["run_id"], []).append(row)
    sums = [(run, sum_counts(mine)) for run in history if (mine := by_run.get(run.run_id))]
    return tuple(Point(run.run_id, run.started_at, counts.published, max(0, counts.quarantined)) for run, counts in sums)
