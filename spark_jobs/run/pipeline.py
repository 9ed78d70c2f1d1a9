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
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.registrar import Arrivals, register_arrivals
from spark_jobs.run.order import RunOrder
from spark_jobs.run.plan import Plan, due_tables, make_plan
from spark_jobs.run.progress import Progress, make_progress
from spark_jobs.run.result import RunResult, State, Status, TableRun

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LISTED = 3

Start = Callable[["RunOrder", dict[str, dict[str, Any]]], AbstractContextManager["SparkSession"]]


def run_pipeline(project: Project, name: str, profile: Profile, select: Collection[str] = (), layer: str | None = None, start: Start | None = None) -> RunResult:  # fmt: skip
    """Run one increment of the pipeline, alone: a second run at the same time ends at once. `start` gives another session than its own."""
    pipeline = project.pipelines[name]
    lake = Lake(project.lake, name)
    plan = make_plan(pipeline, project.conf, lake, select, layer)
    try:
        with hold_lease(lake.lease(), name, "weir run") as lease:
            return _run_held(project, pipeline, profile, plan, lease, start)
    except LeaseHeld as held:
        return RunResult(name, Status.LEASED, str(held))


def _run_held(project: Project, pipeline: Pipeline, profile: Profile, plan: Plan, lease: int, start: Start | None) -> RunResult:
    started = time.monotonic()
    ledger = Ledger(plan.lake)
    warnings = _register(project, pipeline, plan)
    due, consumed = due_tables(plan, ledger)
    if not due:
        return RunResult(pipeline.name, Status.NOTHING_TO_DO, _nothing(project, pipeline, plan), seconds=time.monotonic() - started, warnings=warnings)
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
    log_file = project.root / "logs" / pipeline.name / f"{run_id}.log"
    who = {"run_id": run_id, "host": socket.gethostname(), "pid": os.getpid()}
    ledger.write_run(**who, at=datetime.now(UTC), event="started", status=None, message=None)
    order = RunOrder(project, pipeline, profile, plan, ledger, run_id, lease, log_file)
    with make_progress(plan.tables) as progress:
        for warning in warnings:
            progress.say(f"warning: {warning}")
        tables = _execute(order, consumed, progress, start)
    status, message = _verdict(tables, log_file)
    ledger.write_run(**who, at=datetime.now(UTC), event="ended", status=status.value, message=message)
    return RunResult(pipeline.name, status, message, run_id, time.monotonic() - started, tuple(tables), warnings)


def _register(project: Project, pipeline: Pipeline, plan: Plan) -> tuple[str, ...]:
    """Register what landed for the sources in this plan; what was not taken becomes a warning."""
    warnings = []
    for name, source in pipeline.sources.items():
        if f"bronze.{name}" in plan.tables:
            found = register_arrivals(project.landing, source, plan.lake.arrivals(name), datetime.now(UTC))
            warnings += _not_taken(name, found)
    return tuple(warnings)


def _not_taken(source: str, found: Arrivals) -> list[str]:
    lines = [f"{source}: {path!r} refused: {reason}" for path, reason in found.refused[:LISTED]]
    if len(found.refused) > LISTED:
        lines.append(f"{source}: {len(found.refused) - LISTED} more files refused; the arrivals table names them all")
    if found.waiting:
        lines.append(f"{source}: {len(found.waiting)} files are still being written; the next run takes them")
    return lines


def _nothing(project: Project, pipeline: Pipeline, plan: Plan) -> str:
    folders = ", ".join(f"{project.landing}/{source.path}" for name, source in pipeline.sources.items() if f"bronze.{name}" in plan.tables)
    return f"nothing new in {folders}" if folders else "no input has moved since the last run"


def _execute(order: RunOrder, consumed: dict[str, dict[str, Any]], progress: Progress, start: Start | None) -> list[TableRun]:
    from spark_jobs.run.execute import Execution  # the JVM's side: a run with nothing to do never comes here
    from spark_jobs.run.spark import start_session

    execution = Execution(order.plan, consumed, progress.show)
    with (start or start_session)(order, consumed) as spark:
        return execution.run(order, spark)


def _verdict(tables: list[TableRun], log_file: Path) -> tuple[Status, str]:
    failed = [run for run in tables if run.state is State.FAILED]
    if failed:
        first = failed[0]
        more = f" (and {len(failed) - 1} more tables)" if len(failed) > 1 else ""
        return Status.FAILED, f"{first.table} failed{more}: {first.error}; Spark's log: {log_file}; what is published stays, run again to go on"
    done = [run for run in tables if run.state is State.DONE]
    return Status.OK, f"{len(done)} tables brought up to date"
