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
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

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
from spark_jobs.lake.ledger import ANEW, SWAPPING, Definition
from spark_jobs.lake.storage import remove
from spark_jobs.run import stopping
from spark_jobs.run.definitions import check_definitions_above, redefined_tables
from spark_jobs.run.order import RunOrder, check_rules, keep_rules, new_order, note_rules, note_run
from spark_jobs.run.page import write_page
from spark_jobs.run.plan import Plan, make_plan, with_below
from spark_jobs.run.progress import Progress, make_progress
from spark_jobs.run.result import EXIT_CODES, Start, State, Status, TableRun
from spark_jobs.run.stage import (
    StageLost,
    check_inputs,
    check_live,
    check_stage,
    describe_stage,
    leave_out,
    unfinished_swap,
)
from spark_jobs.run.stopping import NotBegun, say_stopped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.run.result import TableRun
    from spark_jobs.verify.result import TableCheck


@dataclass(frozen=True)
class Rebuild:
    """What a rebuild ends with. `differences` compares each table as it was with the one that was built;
    `tables` are those that were replaced, with their new versions and the rows from which they were built.
    `report` and `verdict` as of a run.
    """

    pipeline: str
    status: Status
    message: str
    run_id: str | None = None
    seconds: float = 0.0
    differences: tuple["TableCheck", ...] = ()
    tables: tuple[TableRun, ...] = ()
    report: str | None = None
    verdict: str | None = None

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def as_dict(self) -> dict[str, Any]:
        said = {
            "pipeline": self.pipeline,
            "run_id": self.run_id,
            "status": self.status.value,
            "exit_code": self.exit_code,
        }
        replaced = {run.table: run.as_dict() for run in self.tables}
        compared = {difference.table: difference.as_dict() for difference in self.differences}
        tables = [
            {**replaced.get(table, {}), **compared.get(table, {})} for table in {**compared, **replaced}
        ]
        page = {"report": self.report, "verdict": self.verdict}
        return {**said, "message": self.message, "seconds": round(self.seconds, 2), "tables": tables, **page}


@dataclass(frozen=True)
class Finished:
    """A rebuild that was cut, and whose tables were replaced to the end by this order."""

    order: RunOrder
    tables: tuple[TableRun, ...]


class RebuildFailed(Exception):
    """A table could not be rebuilt, or its rules block it; those that stand were not touched."""

    def __init__(self, table: str, cause: str, state: State) -> None:
        self.table, self.cause, self.state = table, cause, state
        super().__init__(f"{table}: {cause}")


class NativeFailed(RebuildFailed):
    """A native table could not start over after the others were replaced; readers see its old rows until a
    run succeeds.
    """


@dataclass
class Swap:
    """How far the tables of a rebuild are replaced."""

    tables: list[str]
    is_begun: bool = False
    replaced: list[str] = field(default_factory=list)

    def describe(self, pipeline: str) -> str:
        """What a rebuild that fails has done so far, and what to do next."""
        if not self.is_begun:
            return "nothing was replaced: remove the cause and run it again"
        if len(self.replaced) == len(self.tables):
            return f"all tables were replaced: remove the cause, and `weir run {pipeline}` goes on"
        tables = count(len(self.tables), "table was", "tables were")
        done = f"{len(self.replaced):,} of {tables} replaced ({', '.join(self.replaced) or 'none'})"
        return f"{done}: remove the cause, and `weir run {pipeline}` replaces the others"


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
                said = (
                    f"a rebuild was cut while it replaced {', '.join(cut)}, and a dry run finishes nothing:"
                    f" run `weir run {name}` first"
                )
                return Rebuild(name, Status.FAILED, said)
            lost = _finish_or_give_up(project, profile, before, lease, start)
            stopping.check()
            plan = make_plan(project.pipelines[name], project.conf, lake)
            chosen = tables_to_rebuild(plan, tables, lost)
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
                else _rebuild_held(order, plan, natives, is_dry, start)
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


def without_sinks(tables: Collection[str]) -> list[str]:
    """What is built and replaced. A sink below a rebuilt table gets a new generation with it, and its next
    run delivers the difference.
    """
    return [table for table in tables if not TableName(table).is_sink]


def standing_tables(project: Project, name: str) -> list[str]:
    """Every table of the pipeline that can be rebuilt: all that are there but bronze, inputs first."""
    plan = make_plan(project.pipelines[name], project.conf, Lake(project.lake, name))
    return [
        table
        for table in plan.tables
        if not TableName(table).is_bronze and table_version(plan.lake.table(table)) is not None
    ]


def finish_swap(
    project: Project, profile: Profile, plan: Plan, lease: Lease, start: Start | None
) -> Finished | None:
    """A rebuild that was killed while it replaced tables had said so first: the next command replaces them to
    the end, as a run of its own.

    StageLost before anything is replaced where that cannot be done. A table that the pipeline file no longer
    has is left as it is.
    """
    begun = unfinished_swap(plan.ledger)
    if not begun:
        return None
    declared = {table: known for table, known in begun.items() if table in plan.tables}
    left_out = {table: leave_out(known) for table, known in begun.items() if table not in declared}
    staged = replace(
        plan, lake=replace(plan.lake, staged=frozenset(declared)), definitions=plan.definitions | declared
    )
    check_stage(staged.lake, {table: declared[table] for table in without_sinks(declared)})
    check_live(plan.lake, without_sinks(declared))
    order = new_order(project, profile, _only(staged, list(declared)), lease)
    if declared:
        from spark_jobs.run.spark import start_session  # the JVM's side
        from spark_jobs.run.swap import swap_tables

        note_run(order, "rebuild started")
        try:
            with (start or start_session)(order, {}) as spark:
                swap_tables(spark, order, plan, left_out, on_replaced=lambda table: None)
        except Exception as error:
            note_run(
                order,
                "rebuild ended",
                Status.FAILED,
                f"what was cut could not be finished: {first_line(error)}",
            )
            raise
        note_run(
            order, "rebuild ended", Status.OK, f"what was cut is finished: {', '.join(declared)} replaced"
        )
    else:
        order.ledger.write_definitions(order.run_id, left_out)
    _discard_stage(plan.lake, lease)
    return Finished(order, replaced_tables(order, plan.lake, without_sinks(declared))) if declared else None


def replaced_tables(order: RunOrder, live: Lake, tables: Collection[str]) -> tuple[TableRun, ...]:
    """Tables that were replaced, each with its version now and what became of the rows from which it was
    built.
    """
    return tuple(
        TableRun(
            table,
            State.DONE,
            counts=order.ledger.sums(table, order.plan.generation(table)),
            version=table_version(live.table(table)),
        )
        for table in tables
    )


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
    return _only(replace(plan, lake=lake, definitions=plan.definitions | fresh), beside)


def _only(plan: Plan, chosen: list[str]) -> Plan:
    return replace(plan, tables={table: inputs for table, inputs in plan.tables.items() if table in chosen})


def is_native(plan: Plan, table: str) -> bool:
    layer, name = TableName(table).parts
    return layer == "gold" and plan.pipeline.gold[name].is_native


def _rebuild_held(
    order: RunOrder, live: Plan, natives: list[str], is_dry: bool, start: Start | None
) -> Rebuild:
    started, name, chosen = (
        time.monotonic(),
        live.pipeline.name,
        [*without_sinks(order.plan.tables), *natives],
    )
    swap = Swap(without_sinks(order.plan.tables))
    check_rules(order.project, name)
    keep_rules(order.project, _only(live, chosen))
    _discard_stage(live.lake, order.lease)
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
        is_held = isinstance(error, RebuildFailed) and error.state is State.BLOCKED
        status = Status.BLOCKED if is_held else Status.FAILED
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
        runs = _run_tables(_only(order.plan, without_sinks(order.plan.tables)), order, spark, progress)
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
            _say_swapping(order, natives, swap)
            note_rules(order.project, _only(live, [*swap.tables, *natives]))
            swap_tables(spark, order, live, {}, on_replaced=swap.replaced.append)
            if natives:
                _begin_anew(order, live, natives, spark, progress)
    _discard_stage(live.lake, order.lease)


def _run_tables(plan: Plan, order: RunOrder, spark: "SparkSession", progress: Progress) -> "list[TableRun]":
    """Bring the tables of this plan up to date, and write to the ledger how each ended."""
    from spark_jobs.run.execute import Execution  # the JVM's side

    execution = Execution(plan, {}, progress)
    try:
        return execution.run(order, spark)
    finally:
        execution.end(order)


def _say_swapping(order: RunOrder, natives: list[str], swap: Swap) -> None:
    """Write down what was built, and that it takes the place of the current tables: from here on it is
    finished by the next command.
    """
    plan = order.plan
    fresh = {table: plan.definitions[table] for table in plan.tables}
    fresh |= {
        table: replace(
            fresh[table], starts_after=plan.inputs_of_others(table), stage=describe_stage(plan.lake, table)
        )
        for table in swap.tables
    }
    check_stage(plan.lake, {table: fresh[table] for table in swap.tables})
    begun = {table: replace(known, state=SWAPPING) for table, known in fresh.items()}
    anew = {table: replace(plan.definitions[table], starts_after={ANEW: True}) for table in natives}
    order.ledger.write_definitions(order.run_id, begun | anew)
    swap.is_begun = True


def _begin_anew(
    order: RunOrder, live: Plan, natives: list[str], spark: "SparkSession", progress: Progress
) -> None:
    """The native tables from the silver tables that stand now. What fails here is due, and the next run goes
    on with it.
    """
    plan = _only(replace(live, definitions=order.ledger.live_definitions()), natives)
    runs = _run_tables(plan, replace(order, plan=plan), spark, progress)
    for failed in (run for run in runs if run.state in (State.FAILED, State.BLOCKED)):
        raise NativeFailed(failed.table, str(failed.error), failed.state)


def describe_difference(found: "TableCheck") -> str:
    rows = count(found.rows, "row")
    if found.is_equal:
        return f"{found.table}: nothing changes, {rows}"
    beside = "".join(f"; {problem}" for problem in found.problems)
    if not (found.only_here or found.only_recomputed or found.different):
        return f"{found.table}: {rows}, the same as far as both have their columns{beside}"
    changes = (
        f"{found.only_recomputed:,} new, {found.only_here:,} no longer there, {found.different:,} different"
    )
    return f"{found.table}: {rows} now, {found.recomputed:,} built: {changes}{beside}"


def _discard_stage(lake: Lake, lease: Lease) -> None:
    lease.check()  # another process may be building there by now
    remove(lake.stage)
