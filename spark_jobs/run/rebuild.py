"""`weir rebuild`: tables are rebuilt from bronze, beside those that stand, compared with them, and only
then put in their place.

A rebuilt table gets a new generation: a new checkpoint and new transaction ids. Everything below it is
rebuilt with it. Readers see the old table until one commit replaces it as a whole; its old rows stay in its
history.

Native stateful tables are not built beside: their query must follow the silver table that stands. They begin
anew once the others are in place, from all that silver holds, and their first batch replaces what readers
see.
"""

import time
from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING

from spark_jobs.config import Project
from spark_jobs.config.definition import definition_parts
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.failure import first_line, keep_trace, keep_trace_outside
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease, LeaseHeld, hold_lease
from spark_jobs.lake.ledger_tables import ANEW, Definition
from spark_jobs.run import stopping
from spark_jobs.run.definitions import check_definitions_above, dimensions_beside, redefined_tables
from spark_jobs.run.finish_swap import (
    NativeFailed,
    Rebuild,
    RebuildFailed,
    Swap,
    describe_difference,
    discard_stage,
    finish_swap,
    note_swapping,
    only_tables,
    replaced_tables,
    without_sinks,
)
from spark_jobs.run.order import RunOrder, check_rules, keep_rules, new_order, note_rules, note_run
from spark_jobs.run.page import write_page
from spark_jobs.run.plan import Plan, make_plan, with_below
from spark_jobs.run.progress import Progress, make_progress
from spark_jobs.run.result import Start, State, Status, TableRun
from spark_jobs.run.stage import (
    StageLost,
    check_inputs,
    check_live,
    say_unfinished,
    unfinished_swap,
)
from spark_jobs.run.stopping import NotBegun, say_stopped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.run.result import TableRun
    from spark_jobs.verify.result import TableCheck


def rebuild_tables(
    project: Project,
    name: str,
    profile: Profile,
    tables: Collection[str] = (),
    is_dry: bool = False,
    start: Start | None = None,
) -> Rebuild:
    """Rebuild the named tables, or those whose definition has changed, and all below them."""
    lake = Lake(project.lake, name)
    try:
        with hold_lease(lake.lease(), name, "weir rebuild") as lease:
            before = make_plan(project.pipelines[name], project.conf, lake)
            if is_dry and (cut := unfinished_swap(before.ledger)):
                return Rebuild(name, Status.FAILED, say_unfinished(name, cut))
            lost = _finish_or_give_up(project, profile, before, lease, start)
            stopping.check()
            plan = make_plan(project.pipelines[name], project.conf, lake)
            chosen = with_new_dimensions(plan, tables_to_rebuild(plan, tables, lost))
            if not chosen:
                return Rebuild(
                    name,
                    Status.NOTHING_TO_DO,
                    "every table follows its definition; name the tables to rebuild anyway",
                )
            check_definitions_above(plan, chosen)
            natives = [] if is_dry else [table for table in chosen if is_native(plan, table)]
            order = new_order(project, profile, _staged(plan, chosen, {*tables, *lost}), lease)
            return (
                _begin_sinks_anew(order, is_dry)
                if not without_sinks(chosen)
                else _rebuild_under_lease(order, plan, natives, is_dry, start)
            )
    except LeaseHeld as held:
        return Rebuild(name, Status.LEASED, str(held))
    except NotBegun as stopped:
        return Rebuild(name, Status.STOPPED, say_stopped(stopped.why))
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - before or after the rebuild itself, as on a full disk: it fails with the cause
        log_file = keep_trace_outside(project.root, name, "the rebuild", error)
        return Rebuild(name, Status.FAILED, f"{first_line(error)}; log: {log_file}; fix the cause and rerun")


def tables_to_rebuild(plan: Plan, named: Collection[str], lost: Collection[str] = ()) -> list[str]:
    """The named or redefined tables, those whose stage is lost, and all below them, inputs first. Bronze is
    what they are rebuilt from: it cannot be itself.
    """
    allowed = [table for table in plan.tables if not TableName(table).is_bronze]
    for table in named:
        if table not in allowed:
            why = (
                "bronze is what tables are rebuilt from"
                if table in plan.tables
                else f"there is no table {table!r}"
            )
            raise UsageError("TABLE", table, why, did_you_mean(table, allowed))
    return with_below(
        plan, [*(named or [table for table in redefined_tables(plan) if table in allowed]), *lost]
    )


def with_new_dimensions(plan: Plan, chosen: list[str]) -> list[str]:
    """These tables, with the dimensions that they look up for the first time, and those that these look up:
    readers see nothing of them yet, so that they are built beside as well.
    """
    while new := dimensions_beside(only_tables(plan, chosen)):
        chosen = [table for table in plan.tables if table in {*chosen, *new}]
    return chosen


def standing_tables(project: Project, name: str) -> list[str]:
    """Every table of the pipeline that can be rebuilt: all that are there but bronze, inputs first."""
    plan = make_plan(project.pipelines[name], project.conf, Lake(project.lake, name))
    return [
        table
        for table in plan.tables
        if not TableName(table).is_bronze and table_version(plan.lake.table(table)) is not None
    ]


def _finish_or_give_up(
    project: Project, profile: Profile, plan: Plan, lease: Lease, start: Start | None
) -> list[str]:
    """Finish a rebuild that was cut; where what it had built is lost, the tables to build again."""
    try:
        finish_swap(project, profile, plan, lease, start)
    except StageLost as lost:
        begun = unfinished_swap(plan.ledger)
        anew = [table for table in begun if TableName(table).is_sink and begun[table].starts_after.get(ANEW)]
        return [table for table in (*lost.tables, *anew) if table in plan.tables]
    return []


def _begin_sinks_anew(order: RunOrder, is_dry: bool) -> Rebuild:
    """Sinks alone have nothing to build: their next run delivers everything again."""
    name, sinks = order.plan.pipeline.name, ", ".join(order.plan.tables)
    if is_dry:
        return Rebuild(name, Status.OK, f"the next run would deliver everything again: {sinks}")
    order.ledger.write_definitions(
        order.run_id, {sink: order.plan.definitions[sink] for sink in order.plan.tables}
    )
    return Rebuild(name, Status.OK, f"the next `weir run {name}` delivers everything again: {sinks}")


def _staged(plan: Plan, chosen: list[str], named: Collection[str]) -> Plan:
    """The plan of the new generation: a number that no batch, begun or done, has had. A rebuild that was cut
    leaves its own behind.
    """
    rows = [row for name in ("intents", "batches") for row in plan.ledger.rows(name, ["generation"])]
    number = max([*(plan.generation(table) for table in chosen), *(row["generation"] for row in rows)]) + 1
    fresh = {
        table: Definition(number, definition_parts(plan.pipeline, table, plan.conf), {}) for table in chosen
    }
    anew = {*named, *redefined_tables(plan)} - {*without_sinks(chosen)}
    fresh |= {sink: replace(fresh[sink], starts_after={ANEW: True}) for sink in chosen if sink in anew}
    beside = [table for table in chosen if not is_native(plan, table)]
    lake = replace(plan.lake, staged=frozenset(beside))
    return only_tables(replace(plan, lake=lake, definitions=plan.definitions | fresh), beside)


def is_native(plan: Plan, table: str) -> bool:
    layer, name = TableName(table).parts
    return layer == "gold" and plan.pipeline.gold[name].is_native


def _rebuild_under_lease(
    order: RunOrder, live: Plan, natives: list[str], is_dry: bool, start: Start | None
) -> Rebuild:
    started, name, chosen = (
        time.monotonic(),
        live.pipeline.name,
        [*without_sinks(order.plan.tables), *natives],
    )
    swap = Swap(without_sinks(order.plan.tables))
    check_rules(order.project, name)
    keep_rules(order.project, only_tables(live, chosen))
    discard_stage(live.lake, order.lease)
    stopping.begin_work()
    note_run(order, "rebuild started")
    found: list[TableCheck] = []
    try:
        with make_progress(chosen) as progress:
            stopping.tell_by(progress.say)
            _build_and_swap(order, live, natives, None if is_dry else swap, start, progress, found)
        status, message = (
            Status.OK,
            f"{count(len(chosen), 'table')} {'built and compared, none replaced' if is_dry else 'rebuilt'}",
        )
    except NotBegun as stopped:
        status, message = (
            Status.STOPPED,
            f"stopped by {stopped.why}; nothing was replaced: run it again, it starts over",
        )
    except Exception as error:  # noqa: BLE001 - the rebuild fails with its cause, and the ledger says so
        keep_trace(order.log_file, "the rebuild", error)
        is_blocked = isinstance(error, RebuildFailed) and error.state is State.BLOCKED
        status = Status.BLOCKED if is_blocked else Status.FAILED
        message = f"{first_line(error)}; log: {order.log_file}; {swap.describe(name)}"
    seconds = time.monotonic() - started
    note_run(order, "rebuild ended", status, message, seconds)
    replaced = replaced_tables(order, live.lake, [*swap.replaced, *(natives if status is Status.OK else [])])
    report, verdict, _ = (
        (None, None, []) if is_dry else write_page(order, {run.table: run for run in replaced})
    )
    return Rebuild(name, status, message, order.run_id, seconds, tuple(found), replaced, report, verdict)


def _build_and_swap(
    order: RunOrder,
    live: Plan,
    natives: list[str],
    swap: Swap | None,
    start: Start | None,
    progress: Progress,
    found: list["TableCheck"],
) -> None:
    """Build the new generation and compare it; with a `swap`, put it in the place of the old one."""
    from spark_jobs.run.spark import start_session  # the JVM's side
    from spark_jobs.run.swap import compare_tables, swap_tables

    check_inputs(order.plan, live.lake)
    if swap is not None:
        check_live(live.lake, swap.tables)  # asked again before the swap: building may take hours
    with (start or start_session)(order, {}) as spark:
        runs = _run_tables(only_tables(order.plan, without_sinks(order.plan.tables)), order, spark, progress)
        for failed in (run for run in runs if run.state in (State.FAILED, State.BLOCKED)):
            raise RebuildFailed(failed.table, str(failed.error), failed.state)
        stopping.check()
        for difference in compare_tables(spark, order.plan, live):
            stopping.check()
            found.append(difference)
            progress.say(describe_difference(difference))
        if swap is not None:
            stopping.check()
            check_live(live.lake, swap.tables)
            note_swapping(order, natives, swap)
            note_rules(order.project, only_tables(live, [*swap.tables, *natives]))
            swap_tables(spark, order, live, {}, on_replaced=swap.replaced.append)
            if natives:
                _begin_anew(order, live, natives, spark, progress)
    discard_stage(live.lake, order.lease)


def _run_tables(plan: Plan, order: RunOrder, spark: "SparkSession", progress: Progress) -> "list[TableRun]":
    """Bring the tables of this plan up to date, and write to the ledger how each ended."""
    from spark_jobs.run.execute import Execution  # the JVM's side

    execution = Execution(plan, {}, progress)
    try:
        return execution.run(order, spark)
    finally:
        execution.end(order)


def _begin_anew(
    order: RunOrder, live: Plan, natives: list[str], spark: "SparkSession", progress: Progress
) -> None:
    """The native tables from the silver tables that stand now. What fails here is due, and the next run goes
    on with it.
    """
    plan = only_tables(replace(live, definitions=order.ledger.live_definitions()), natives)
    runs = _run_tables(plan, replace(order, plan=plan), spark, progress)
    for failed in (run for run in runs if run.state in (State.FAILED, State.BLOCKED)):
        raise NativeFailed(failed.table, str(failed.error), failed.state)
