"""`weir run`: registers what landed, finds what is due, and only then starts Spark. What leaves: a RunResult,
never a traceback.
"""

import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from spark_jobs.config import Project
from spark_jobs.config.errors import Refused
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.sensitive import hidden_windows
from spark_jobs.failure import first_line, keep_trace, keep_trace_outside
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease, LeaseHeld, hold_lease
from spark_jobs.lake.storage import StorageFailed
from spark_jobs.run import stopping
from spark_jobs.run.definitions import check_definitions, note_definitions
from spark_jobs.run.finish_swap import finish_swap
from spark_jobs.run.order import QuarantineRequest, RunOrder, check_rules, new_order, note_rules, note_run
from spark_jobs.run.outcome import how_to_go_on, result_of, with_last, with_rebuilt
from spark_jobs.run.page import close_killed_runs, write_page
from spark_jobs.run.plan import Plan, due_tables, make_plan, say_nothing
from spark_jobs.run.progress import make_progress
from spark_jobs.run.register import register_landed
from spark_jobs.run.result import RunResult, Start, State, Status, TableRun
from spark_jobs.run.stage import StageLost
from spark_jobs.run.stopping import NotBegun, say_stopped

if TYPE_CHECKING:
    from spark_jobs.run.execute import Execution
    from spark_jobs.run.progress import Progress


REBUILT = "a rebuild that was cut is finished; nothing else is new"


@dataclass(frozen=True)
class RunRequest:
    """What is asked of a run: these tables, or those of a layer, or all; what else to do with rows in
    quarantine; and how many files a new chunk has, instead of what the sources say.
    """

    select: Collection[str] = ()
    layer: str | None = None
    quarantine_request: QuarantineRequest | None = None
    files_per_batch: int | None = None


ALL_TABLES = RunRequest()


def run_pipeline(
    project: Project,
    name: str,
    profile: Profile,
    request: RunRequest = ALL_TABLES,
    start: Start | None = None,
) -> RunResult:
    """Run one increment of the pipeline, alone: a second run at the same time ends at once. `start` gives
    another session than its own.
    """
    lake = Lake(project.lake, name)
    try:
        make_plan(
            project.pipelines[name], project.conf, lake, request.select, request.layer
        )  # a wrong name is refused beside another run as well
        with hold_lease(lake.lease(), name, "weir run") as lease:
            close_killed_runs(project, name, lease)
            return run_increment(project, name, profile, lease, request, start)
    except LeaseHeld as held:
        return RunResult(name, Status.LEASED, str(held))
    except StorageFailed as failed:
        return RunResult(name, Status.FAILED, how_to_go_on(str(failed)))


def run_increment(
    project: Project,
    name: str,
    profile: Profile,
    lease: Lease,
    request: RunRequest = ALL_TABLES,
    start: Start | None = None,
) -> RunResult:
    """The steps of a run, one after the other, by a holder of the lease."""
    pipeline, lake = project.pipelines[name], Lake(project.lake, name)
    try:
        rebuilt = _finish_rebuild(project, profile, make_plan(pipeline, project.conf, lake), lease, start)
        stopping.check()
        if rebuilt and rebuilt.status is Status.FAILED:
            return rebuilt
        started = time.monotonic()
        plan = make_plan(pipeline, project.conf, lake, request.select, request.layer)
        check_definitions(plan)
        plan, warnings = register_landed(project, plan, lease, request.files_per_batch)
        due, consumed = due_tables(plan)
        if due or request.quarantine_request:
            check_rules(project, name)
            order, notes = _begin(project, profile, plan, lease, request.quarantine_request)
            status, message, execution = _execute(order, consumed, (*warnings, *notes), start)
            result = _end(order, status, message, execution, (*warnings, *notes), started)
        else:
            result = _nothing_to_do(project, plan, warnings, started)
        return with_rebuilt(result, rebuilt) if rebuilt else result
    except NotBegun as stopped:
        return RunResult(name, Status.STOPPED, say_stopped(stopped.why))
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - outside of any table, as on a full disk: the run fails with the cause
        log_file = keep_trace_outside(project.root, name, "the run", error)
        return RunResult(name, Status.FAILED, how_to_go_on(f"{first_line(error)}; log: {log_file}"))


def _nothing_to_do(project: Project, plan: Plan, warnings: tuple[str, ...], started: float) -> RunResult:
    tables = with_last(
        project,
        plan,
        (TableRun(table, State.UP_TO_DATE, version=plan.version(table)) for table in plan.tables),
    )
    seconds, message = time.monotonic() - started, say_nothing(project, plan)
    return RunResult(
        plan.pipeline.name, Status.NOTHING_TO_DO, message, seconds=seconds, tables=tables, warnings=warnings
    )


def _begin(
    project: Project, profile: Profile, plan: Plan, lease: Lease, quarantine_request: QuarantineRequest | None
) -> tuple[RunOrder, tuple[str, ...]]:
    """Write down that the run has started, with the definitions and rules that it works by. Gives its order,
    and what to warn of.
    """
    order = new_order(project, profile, plan, lease, quarantine_request)
    plan, notes = note_definitions(plan, order.run_id)
    notes += _note_rules(project, plan)
    if profile.event_log and not order.profile.event_log:
        hidden = ", ".join(hidden_windows(plan.pipeline, project.conf))
        notes.append(
            "no event log is kept of this run: times of a sensitive column, by which windows and late rows"
            f" are found, would stand in it ({hidden})"
        )
    order = replace(order, plan=plan)
    stopping.begin_work()
    note_run(order, "started")
    return order, tuple(notes)


def _end(
    order: RunOrder,
    status: Status,
    message: str,
    execution: "Execution",
    warnings: tuple[str, ...],
    started: float,
) -> RunResult:
    """Write down how the run ended, and its page."""
    if execution.batch_progress:
        order.ledger.append("progress", execution.batch_progress)
    # said once, here: the ledger, the page and the terminal have the same
    seconds = time.monotonic() - started
    note_run(order, "ended", status, message, seconds)
    report, verdict, problems = write_page(order, execution.runs)
    warnings = (*warnings, *problems, *execution.notes)
    tables = with_last(order.project, order.plan, execution.runs.values())
    name = order.plan.pipeline.name
    return RunResult(
        name,
        status,
        message,
        order.run_id,
        seconds,
        tables,
        warnings,
        report,
        verdict,
        settings=execution.settings,
    )


def _finish_rebuild(
    project: Project, profile: Profile, plan: Plan, lease: Lease, start: Start | None
) -> RunResult | None:
    """Roll a rebuild forward that was killed while it replaced tables; gives a result only where there was
    one.
    """
    try:
        started, finished = time.monotonic(), finish_swap(project, profile, plan, lease, start)
        if finished:
            runs = {run.table: run for run in finished.tables}
            report, verdict, problems = write_page(finished.order, runs)
            seconds, run_id = time.monotonic() - started, finished.order.run_id
            return RunResult(
                plan.pipeline.name,
                Status.OK,
                REBUILT,
                run_id,
                seconds,
                finished.tables,
                tuple(problems),
                report=report,
                verdict=verdict,
            )
    except StageLost as lost:
        return RunResult(
            plan.pipeline.name, Status.FAILED, f"a rebuild that was cut cannot be finished: {lost}"
        )
    except Exception as error:  # noqa: BLE001 - the run fails with the cause, and the next one tries again
        return RunResult(
            plan.pipeline.name,
            Status.FAILED,
            how_to_go_on(f"a rebuild that was cut could not be ended: {first_line(error)}"),
        )
    return None


def _note_rules(project: Project, plan: Plan) -> list[str]:
    rebuild = f"weir rebuild {plan.pipeline.name}"
    said = "its rules changed since the last run; rows that are there stay"
    return [f"{table}: {said} (`{rebuild} {table}` judges them again)" for table in note_rules(project, plan)]


def _execute(
    order: RunOrder, consumed: dict[str, dict[str, Any]], warnings: tuple[str, ...], start: Start | None
) -> tuple[Status, str, "Execution"]:
    # the JVM's side: a run with nothing to do never comes here
    from spark_jobs.run.spark import start_session

    execution: Execution | None = None
    with make_progress(order.plan.tables) as progress:
        stopping.tell_by(progress.say)
        for warning in warnings:
            progress.say(f"warning: {warning}")
        try:
            with (start or start_session)(order, consumed) as spark:
                execution = _new_execution(order, consumed, progress)
                tables = execution.run(order, spark)
        except NotBegun as stopped:
            execution = execution or _new_execution(order, consumed, progress)
            execution.leave()
            return Status.STOPPED, say_stopped(stopped.why), execution
        except Exception as error:  # noqa: BLE001 - Spark did not start, or ended: the run fails with the cause, and the ledger says so
            keep_trace(order.log_file, "the run", error)
            execution = execution or _new_execution(order, consumed, progress)
            return Status.FAILED, how_to_go_on(f"{first_line(error)}; log: {order.log_file}"), execution
        finally:
            if execution is not None:  # None only where the process is being ended from outside
                execution.end(order)
    return *result_of(order.plan.pipeline.name, tables, order.log_file, execution.is_cut), execution


def _new_execution(order: RunOrder, consumed: dict[str, dict[str, Any]], progress: "Progress") -> "Execution":
    from spark_jobs.run.execute import Execution  # a thread loads it while the JVM starts (run/spark.py)

    return Execution(order.plan, consumed, progress)
