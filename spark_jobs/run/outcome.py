"""The result of a run, from what became of its tables: what it says, and how to go on."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from spark_jobs.config import Project
from spark_jobs.config.text import count
from spark_jobs.lake.blocked import ways_on
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.ledger_tables import UPKEEP_RUN
from spark_jobs.lake.publication import newest_publication
from spark_jobs.run import stopping
from spark_jobs.run.plan import Plan
from spark_jobs.run.result import RunResult, State, Status, TableRun
from spark_jobs.run.stopping import say_stopped

SWAP = "swap"


def with_last(project: Project, plan: Plan, runs: Iterable[TableRun]) -> tuple[TableRun, ...]:
    """Of tables that are up to date the run that has published them: those who follow them may not have heard
    of it.
    """
    known = {row["table"]: row for row in plan.ledger.newest("tables")}
    return tuple(
        _with_last(project, plan, run, known.get(run.table))
        if run.state is State.UP_TO_DATE and run.version is not None
        else run
        for run in runs
    )


def _with_last(project: Project, plan: Plan, run: TableRun, newest: Mapping[str, Any] | None) -> TableRun:
    """By the newest row about the table where that is about its version. Upkeep moves the version, and a
    rebuild leaves no such row: then the commit says who has changed the rows.
    """
    if newest and newest["version"] == run.version and not newest["run_id"].startswith(UPKEEP_RUN):
        return replace(run, last=_told(project, plan, newest["run_id"], Counts.of_row(newest)))
    since, note = newest_publication(plan.lake.table(run.table)) or (run.version, {})
    run = replace(run, published_version=since)
    if row := _newest_row(plan, run):
        return replace(run, last=_told(project, plan, row["run_id"], Counts.of_row(row)))
    if note.get("step") == SWAP:
        counts = plan.ledger.sums(run.table, plan.generation(run.table))
        return replace(run, last=_told(project, plan, str(note["run_id"]), counts))
    return run


def _newest_row(plan: Plan, run: TableRun) -> dict[str, Any] | None:
    """The newest row of a run about the rows that are there; None where none has published them."""
    rows = (row for row in reversed(plan.ledger.ordered("tables")) if row["table"] == run.table)
    return next(
        (row for row in rows if _is_about(row, run) and not row["run_id"].startswith(UPKEEP_RUN)), None
    )


def _is_about(row: Mapping[str, Any], run: TableRun) -> bool:
    if run.published_version is None or run.version is None or row["version"] is None:
        return False
    return bool(run.published_version <= row["version"] <= run.version)


def _told(project: Project, plan: Plan, run_id: str, counts: Counts) -> dict[str, Any]:
    page = f"{plan.pipeline.name}/{run_id}.html"
    report = page if (project.reports / page).is_file() else None
    return {"run_id": run_id, "report": report, **counts.as_dict()}


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
    if runs := [run for run in tables if run.state is State.BLOCKED]:
        return Status.BLOCKED, "\n".join([*(str(run.error) for run in runs), *_ways_on_from(name, runs)])
    return Status.OK, f"{count(len(done), 'table')} brought up to date"


def _ways_on_from(name: str, runs: list[TableRun]) -> list[str]:
    """What can be done about tables that are blocked."""
    ways = [f"readers keep what they had; `weir report {name} --open` shows the whole story. To go on:"]
    for blocked in (run.blocked for run in runs if run.blocked):
        fix, *others = ways_on(name, blocked.table, blocked.seen, blocked.actions)
        ways.append(f"  {fix.what}")
        width = max((len(way.command) for way in others), default=0)
        ways += [f"  {way.command:<{width}}    {way.what}" for way in others]
    return ways


def how_to_go_on(cause: str) -> str:
    return f"{cause}; what is published stays; fix the cause and rerun to resume"
