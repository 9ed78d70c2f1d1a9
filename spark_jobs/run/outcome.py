"""The result of a run, from what became of its tables: what it says, and how to go on."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from spark_jobs.config import Project
from spark_jobs.config.text import count
from spark_jobs.lake.blocked import ways_on
from spark_jobs.lake.counts import Counts
from spark_jobs.run import stopping
from spark_jobs.run.plan import Plan
from spark_jobs.run.result import RunResult, State, Status, TableRun
from spark_jobs.run.stopping import say_stopped

if TYPE_CHECKING:
    pass


def with_last(project: Project, plan: Plan, runs: Iterable[TableRun]) -> tuple[TableRun, ...]:
    """Of tables that are up to date the run that has published them: those who follow them may not have heard
    of it.
    """
    known, name = {row["table"]: row for row in plan.ledger.newest("tables")}, plan.pipeline.name
    found = []
    for run in runs:
        row = known.get(run.table)
        if (
            run.state is State.UP_TO_DATE
            and row
            and run.version is not None
            and row["version"] == run.version
        ):
            page = f"{name}/{row['run_id']}.html"
            report = page if (project.reports / page).is_file() else None
            run = replace(
                run, last={"run_id": row["run_id"], "report": report, **Counts.of_row(row).as_dict()}
            )
        found.append(run)
    return tuple(found)


def with_rebuilt(result: RunResult, cut: RunResult) -> RunResult:
    """What a run ends with that has finished a rebuild first: where nothing else was to do, that alone. A
    table that the run left as it was comes with the figures of the rebuild, and its new version is new to
    those who follow it.
    """
    rebuilt = {run.table: run for run in cut.tables}
    tables = [rebuilt.get(run.table, run) if run.state is State.UP_TO_DATE else run for run in result.tables]
    if result.status is Status.NOTHING_TO_DO:
        return replace(cut, tables=tuple(tables), warnings=(*cut.warnings, *result.warnings))
    said = f"a rebuild that was cut was finished first, and has replaced {', '.join(rebuilt)}"
    return replace(result, tables=tuple(tables), warnings=(said, *cut.warnings, *result.warnings))


def result_of(name: str, tables: list[TableRun], log_file: Path, is_cut: bool) -> tuple[Status, str]:
    failed = [run for run in tables if run.state is State.FAILED]
    if failed:
        more = f" (and {count(len(failed) - 1, 'more table')})" if len(failed) > 1 else ""
        return Status.FAILED, how_to_go_on(
            f"{failed[0].table} failed{more}: {failed[0].error}; log: {log_file}"
        )
    done = [run for run in tables if run.state is State.DONE]
    if is_cut:
        return Status.STOPPED, say_stopped(
            str(stopping.asked_by()), f"{count(len(done), 'table')} brought up to date, others wait"
        )
    if held := [run for run in tables if run.state is State.BLOCKED]:
        return Status.BLOCKED, "\n".join([*(str(run.error) for run in held), *_ways_on_from(name, held)])
    return Status.OK, f"{count(len(done), 'table')} brought up to date"


def _ways_on_from(name: str, held: list[TableRun]) -> list[str]:
    """What can be done about tables that are blocked."""
    ways = [f"readers keep what they had; `weir report {name} --open` shows the whole story. To go on:"]
    for blocked in (run.held for run in held if run.held):
        fix, *others = ways_on(name, blocked.table, blocked.seen, blocked.actions)
        ways.append(f"  {fix.what}")
        width = max((len(way.command) for way in others), default=0)
        ways += [f"  {way.command:<{width}}    {way.what}" for way in others]
    return ways


def how_to_go_on(cause: str) -> str:
    return f"{cause}; what is published stays; fix the cause and run again to go on"
