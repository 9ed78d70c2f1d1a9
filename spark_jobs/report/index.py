"""The lists of reports: the runs of one pipeline, and the newest run of each. Made from the ledger, for the
files that are there, and judged as the pages are.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from spark_jobs.lake.layout import Lake
from spark_jobs.report.facts import Current, Outcome, Report, RuleState, Run, TableFact
from spark_jobs.report.runs import read_runs
from spark_jobs.report.text import cut, moment
from spark_jobs.report.verdict import judge_run
from spark_jobs.report.work import Work, totals_of

WHY_LENGTH = 300


@dataclass(frozen=True)
class RunLine:
    """One line of a list; `link` is relative, from an id that was checked. `why` is a sentence without a
    value of any row.
    """

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


def list_runs(
    lake: Lake, run_ids: Collection[str], newest: str | None = None, current: Current | None = None
) -> list[RunLine]:
    """These runs, the newest first; what is so now belongs to the newest one."""
    runs = read_runs(lake, run_ids)
    work = Work.read(lake, runs)
    return [
        _line(lake.pipeline, run, work, current if run.run_id == newest else None) for run in reversed(runs)
    ]


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


# runs.json, beside a pipeline's list of reports: the same lines for machines, such as the Airflow UI. No
# value of any row is in it.

RUNS_FILE = "runs.json"


def render_runs(report: Report, lines: Sequence[RunLine]) -> str:
    """The runs that have a page, the newest first; what is in the tables and beside them is as of now."""
    whole = {
        "pipeline": report.pipeline,
        "made_at": report.made_at.isoformat(),
        "runs": [_run(line) for line in lines],
        "tables": [_table(table) for table in report.tables],
        "open_quarantine": sum(table.quarantine_open for table in report.tables),
        "parked": sum(table.parked_open for table in report.tables),
        "late": sum(table.late_open for table in report.tables),
    }
    return json.dumps(whole, indent=1) + "\n"


def read_newest(text: str) -> RunLine:
    """The first line of such a file. Raises ValueError, KeyError, TypeError or IndexError where it is of
    another version, or broken.
    """
    [first, *_] = json.loads(text)["runs"]
    started_at = datetime.fromisoformat(first["started_at"])
    known = {
        name: first[name]
        for name in (
            "run_id",
            "why",
            "origin",
            "seconds",
            "records",
            "published",
            "set_aside",
            "late",
            "not_met",
        )
    }
    return RunLine(**known, name="", link="", outcome=Outcome(first["outcome"]), started_at=started_at)


def _run(line: RunLine) -> dict[str, Any]:
    plain = asdict(line)
    page = plain.pop("link")
    del plain["name"]
    return {**plain, "page": page, "started_at": line.started_at.isoformat()}


def _table(table: TableFact) -> dict[str, Any]:
    newest = table.newest if table.newest_of == "event" else None
    return {
        "table": table.name,
        "newest_event_at": _text(newest),
        "updated_at": _text(table.updated_at),
        "rows": table.rows,
    }


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
