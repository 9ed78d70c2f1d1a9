"""`weir run`: registers what landed, finds what is due, and only then starts Spark. What leaves: a RunResult, never a traceback."""

import os
import socket
import time
import uuid
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.registrar import Arrivals, register_arrivals
from spark_jobs.run.failure import first_line, keep_trace
from spark_jobs.run.order import RunOrder
from spark_jobs.run.plan import Plan, due_tables, make_plan
from spark_jobs.run.progress import make_progress
from spark_jobs.run.result import RunResult, State, Status, TableRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTED = 3

Start = Callable[["RunOrder", dict[str, dict[str, Any]]], AbstractContextManager["SparkSession"]]


def run_pipeline(
    project: Project, name: str, profile: Profile, select: Collection[str] = (), layer: str | None = None, start: Start | None = None
) -> RunResult:
    """Run one increment of the pipeline, alone: a second run at the same time ends at once. `start` gives another session than its own."""
    lake = Lake(project.lake, name)
    plan = make_plan(project.pipelines[name], project.conf, lake, select, layer)
    try:
        with hold_lease(lake.lease(), name, "weir run") as lease:
            return _run_held(project, profile, plan, lease, start)
    except LeaseHeld as held:
        return RunResult(name, Status.LEASED, str(held))


def _run_held(project: Project, profile: Profile, plan: Plan, lease: int, start: Start | None) -> RunResult:
    started, name = time.monotonic(), plan.pipeline.name
    warnings = _register(project, plan)
    ledger = Ledger(plan.lake)
    due, consumed = due_tables(plan, ledger)
    if not due:
        return RunResult(name, Status.NOTHING_TO_DO, _nothing(project, plan), seconds=time.monotonic() - started, warnings=warnings)
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
    order = RunOrder(project, profile, plan, ledger, run_id, lease, project.root / "logs" / name / f"{run_id}.log")
    _note(order, "started")
    status, message, tables = _execute(order, consumed, warnings, start)
    _note(order, "ended", status, message)
    return RunResult(name, status, message, run_id, time.monotonic() - started, tuple(tables), warnings)


def _note(order: RunOrder, event: str, status: Status | None = None, message: str | None = None) -> None:
    """A row in the ledger's runs: a start without an end is a run that was killed."""
    order.ledger.write_run(
        run_id=order.run_id,
        at=datetime.now(UTC),
        event=event,
        status=status.value if status else None,
        host=socket.gethostname(),
        pid=os.getpid(),
        message=message,
    )


def _register(project: Project, plan: Plan) -> tuple[str, ...]:
    """Register what landed for the sources in this plan; what was not taken becomes a warning."""
    warnings, consumed = [], Ledger(plan.lake).consumed_inputs()
    for name, source in plan.pipeline.sources.items():
        table = f"bronze.{name}"
        if table in plan.tables:
            feed = make_feed(plan.lake, project.landing, name, source)
            found = register_arrivals(feed, datetime.now(UTC), consumed.get(table, {}).get("arrivals"))
            warnings += _not_taken(name, found)
    return tuple(warnings)


def _not_taken(source: str, found: Arrivals) -> list[str]:
    """A few lines for each kind of file that brings no rows, and the number of the others."""
    kinds = {"refused": found.refused, "repeated": found.repeated, "waiting": found.waiting, "unread": found.unread}
    lines = [f"{source}: {path!r} {kind}: {reason}" for kind, named in kinds.items() for path, reason in named[:LISTED]]
    return lines + [f"{source}: {len(named) - LISTED} more files {kind}" for kind, named in kinds.items() if len(named) > LISTED]


def _nothing(project: Project, plan: Plan) -> str:
    sources = [source for name, source in plan.pipeline.sources.items() if f"bronze.{name}" in plan.tables]
    folders = ", ".join(f"{project.landing}/{source.path}" for source in sources)
    return f"nothing new in {folders}" if folders else "no input has moved since the last run"


def _execute(
    order: RunOrder, consumed: dict[str, dict[str, Any]], warnings: tuple[str, ...], start: Start | None
) -> tuple[Status, str, list[TableRun]]:
    from spark_jobs.run.execute import Execution  # the JVM's side: a run with nothing to do never comes here
    from spark_jobs.run.spark import start_session

    with make_progress(order.plan.tables) as progress:
        for warning in warnings:
            progress.say(f"warning: {warning}")
        execution = Execution(order.plan, consumed, progress.show)
        try:
            with (start or start_session)(order, consumed) as spark:
                tables = execution.run(order, spark)
        except Exception as error:  # noqa: BLE001 - Spark did not start, or ended: the run fails with the cause, and the ledger says so
            keep_trace(order.log_file, "the run", error)
            return Status.FAILED, _go_on(f"{first_line(error)}; log: {order.log_file}"), list(execution.runs.values())
    return *_verdict(tables, order.log_file), tables


def _verdict(tables: list[TableRun], log_file: Path) -> tuple[Status, str]:
    failed = [run for run in tables if run.state is State.FAILED]
    if failed:
        more = f" (and {len(failed) - 1} more tables)" if len(failed) > 1 else ""
        return Status.FAILED, _go_on(f"{failed[0].table} failed{more}: {failed[0].error}; log: {log_file}")
    done = [run for run in tables if run.state is State.DONE]
    return Status.OK, f"{len(done)} tables brought up to date"


def _go_on(cause: str) -> str:
    return f"{cause}; what is published stays: mend the cause and run again to go on"
