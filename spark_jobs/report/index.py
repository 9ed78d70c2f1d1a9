"""The lists of reports: the runs of one pipeline, and the newest run of each. Made from the ledger, for the files that are there, and
judged as the pages are.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.lake.layout import Lake
from spark_jobs.report.facts import Current, Outcome, RuleState, Run
from spark_jobs.report.figures import cut, moment
from spark_jobs.report.runs import read_runs
from spark_jobs.report.verdict import judge_run
from spark_jobs.report.work import Work, totals_of

WHY_LENGTH = 300


@dataclass(frozen=True)
class RunLine:
    """One line of a list; `link` is relative, from an id that was checked. `why` is a sentence without a value of any row."""

    run_id: str
    name: str
    link: str
    outcome: Outcome
    why: str
    origin: str | None
    started_at: datetime
    seconds: float | None
    records: int
    published: int
    set_aside: int
    late: int
    not_met: int


def list_runs(lake: Lake, run_ids: Collection[str], newest: str | None = None, current: Current | None = None) -> list[RunLine]:
    """These runs, the newest first; what is so now belongs to the newest one."""
    runs = read_runs(lake, run_ids)
    work = Work.read(lake, runs)
    return [_line(lake.pipeline, run, work, current if run.run_id == newest else None) for run in reversed(runs)]


def _line(pipeline: str, run: Run, work: Work, current: Current | None) -> RunLine:
    tables = tuple(work.tables_of(run).values())
    totals = totals_of(tables)
    verdict = judge_run(pipeline, run, tables, work.gates_of(run), (), work.drift_of(run), current)
    return RunLine(
        run_id=run.run_id,
        name=moment(run.started_at),
        link=f"{run.run_id}.html",
        outcome=verdict.outcome,
        why=cut(verdict.why, WHY_LENGTH),
        origin=run.origin,
        started_at=run.started_at,
        seconds=run.seconds,
        records=totals.records,
        published=totals.published,
        set_aside=totals.set_aside,
        late=totals.late_kept,
        not_met=sum(rule.state is not RuleState.MET for table in tables for rule in table.rules),
    )
