"""What a rebuild ends with, and how its tables take their place, also after one that was cut: all of them
or, where that cannot be, none.
"""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.failure import first_line
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.ledger_tables import ANEW, SWAPPING, Definition
from spark_jobs.lake.storage import remove
from spark_jobs.run.order import RunOrder, new_order, note_run
from spark_jobs.run.plan import DEFINITION, TAGGING, Plan
from spark_jobs.run.result import EXIT_CODES, Start, State, Status, TableRun
from spark_jobs.run.stage import (
    check_live,
    check_stage,
    describe_stage,
    leave_out,
    unfinished_swap,
)

if TYPE_CHECKING:
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


class RebuildFailed(Exception):
    """A table could not be rebuilt, or its rules block it; those that stand were not touched."""

    def __init__(self, table: str, cause: str, state: State) -> None:
        self.table, self.cause, self.state = table, cause, state
        super().__init__(f"{table}: {cause.removeprefix(f'{table}: ')}")


class NativeFailed(RebuildFailed):
    """A native table could not start over after the others were replaced; readers see its old rows until a
    run succeeds.
    """


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


@dataclass(frozen=True)
class Finished:
    """A rebuild that was cut, and whose tables were replaced to the end by this order."""

    order: RunOrder
    tables: tuple[TableRun, ...]


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


def without_sinks(tables: Collection[str]) -> list[str]:
    """What is built and replaced. A sink below a rebuilt table gets a new generation with it, and its next
    run delivers the difference.
    """
    return [table for table in tables if not TableName(table).is_sink]


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
    order = new_order(project, profile, only_tables(staged, list(declared)), lease)
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
    discard_stage(plan.lake, lease)
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


def only_tables(plan: Plan, chosen: list[str]) -> Plan:
    return replace(plan, tables={table: inputs for table, inputs in plan.tables.items() if table in chosen})


MADE_BY = (DEFINITION, TAGGING)
"""Inputs that say by what the rows of a table were made."""


def note_swapping(order: RunOrder, natives: list[str], swap: Swap) -> None:
    """Write down what was built, and that it takes the place of the current tables: from here on it is
    finished by the next command.
    """
    plan = order.plan
    fresh = {table: plan.definitions[table] for table in plan.tables}
    fresh |= {
        table: replace(
            fresh[table],
            starts_after=plan.inputs_of_others(table) | _made_by(plan, table),
            stage=describe_stage(plan.lake, table),
        )
        for table in swap.tables
    }
    check_stage(plan.lake, {table: fresh[table] for table in swap.tables})
    begun = {table: replace(known, state=SWAPPING) for table, known in fresh.items()}
    anew = {table: replace(plan.definitions[table], starts_after={ANEW: True}) for table in natives}
    order.ledger.write_definitions(order.run_id, begun | anew)
    swap.is_begun = True


def _made_by(plan: Plan, table: str) -> dict[str, Any]:
    return {name: value for name, value in plan.current_inputs(table).items() if name in MADE_BY}


def consumed_by(now: Plan, table: str, known: Definition) -> dict[str, Any]:
    """What a table was rebuilt from. SQL files, rules and tables of other pipelines may have changed since it
    was built: a rebuild that was cut has written down what there was then.
    """
    current = now.current_inputs(table)
    if known.state == SWAPPING:
        current = {name: value for name, value in current.items() if name not in MADE_BY}
    return current | known.starts_after


def discard_stage(lake: Lake, lease: Lease) -> None:
    lease.check()  # another process may be building there by now
    remove(lake.stage)
