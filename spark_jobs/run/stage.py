"""What a rebuild has built beside the current tables: written down before it replaces the first of them, and
compared with what is there before it goes on. No JVM.

A table for which nothing was built is written down as such. What is missing later is lost: it stops the swap,
and never counts as empty.
"""

import os
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from spark_jobs.config.table_name import TableName
from spark_jobs.lake.delta_log import count_rows, lost_files, table_id, table_properties, table_version
from spark_jobs.lake.layout import SIDES, Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import SWAPPING, Definition
from spark_jobs.lake.storage import is_remote
from spark_jobs.run.plan import Plan

LEFT_OUT = "(left out of the pipeline file while a rebuild replaced it)"
"""A part of the definition of such a table: no pipeline file has it, so that a table which is declared again
has to be rebuilt.
"""
SHOWN = 3
APPEND_ONLY, CONSTRAINT = "delta.appendOnly", "delta.constraints."
"""Properties with which somebody has bound a table: what was built may break them."""


class StageLost(Exception):
    """What a rebuild has built is not all there any more, so that the tables cannot be replaced by it."""

    def __init__(self, pipeline: str, tables: Collection[str], problems: Collection[str]) -> None:
        self.pipeline, self.tables, self.problems = pipeline, tuple(tables), tuple(problems)
        more = f", and {len(self.problems) - SHOWN} more" if len(self.problems) > SHOWN else ""
        super().__init__(
            f"what a rebuild has built of {', '.join(self.tables)} is not all there any more:"
            f" {'; '.join(self.problems[:SHOWN])}{more}; `weir rebuild {pipeline}` builds it again from"
            " bronze"
        )


class NotReplaced(Exception):
    """A current table could not be replaced. Those before it were: the next command goes on with this one."""

    def __init__(self, table: str, cause: str) -> None:
        self.table, self.cause = table, cause
        super().__init__(f"{table} could not be replaced: {cause}")


class NotReplaceable(Exception):
    """A current table would refuse to be replaced: found before the first one is."""

    def __init__(self, pipeline: str, table: str, why: str) -> None:
        self.pipeline, self.table = pipeline, table
        super().__init__(f"{table} cannot be replaced: {why}; put that right, and run it again")


def unfinished_swap(ledger: Ledger) -> dict[str, Definition]:
    """The tables that a rebuild has begun to replace, and their new definitions."""
    return {table: known for table, known in ledger.definitions().items() if known.state == SWAPPING}


def say_unfinished(pipeline: str, tables: Collection[str]) -> str:
    """Why nothing is tried now."""
    return (
        f"a rebuild was cut while it replaced {', '.join(tables)}, and a dry run finishes nothing: run `weir"
        f" run {pipeline}` first"
    )


def with_sides(table: str) -> tuple[str, ...]:
    """The tables beside a table, and itself last: the order in which they are replaced."""
    return (*(f"{side}.{table}" for side in SIDES), table)


def describe_stage(lake: Lake, table: str) -> dict[str, list[Any] | None]:
    """Id and version of what was built of a table and beside it; None where nothing was."""
    return {name: _identity(lake.table(name)) for name in with_sides(table)}


def check_stage(lake: Lake, definitions: Mapping[str, Definition]) -> None:
    """StageLost unless all that was built for these tables is there, to the last file."""
    problems = [problem for table, known in definitions.items() for problem in _problems(lake, table, known)]
    if problems:
        raise StageLost(lake.pipeline, definitions, problems)


def check_live(lake: Lake, tables: Collection[str]) -> None:
    """NotReplaceable where a current table does not let its rows be replaced."""
    for name in (name for table in tables for name in with_sides(table)):
        path = lake.table(name)
        if table_version(path) is not None:
            properties = table_properties(path)
            if properties.get(APPEND_ONLY) == "true":
                raise NotReplaceable(lake.pipeline, name, f"its property {APPEND_ONLY} is true")
            if bound := sorted(key for key in properties if key.startswith(CONSTRAINT)):
                constraint = bound[0].removeprefix(CONSTRAINT)
                why = f"it has the CHECK constraint {constraint!r}, which the rebuilt rows may break"
                raise NotReplaceable(lake.pipeline, name, why)
            if not is_remote(path) and not os.access(path, os.W_OK):
                raise NotReplaceable(lake.pipeline, name, f"this user may not write to {path}")


def check_inputs(staged: Plan, live: Lake) -> None:
    """NotReplaceable where readers see rows of a table that cannot be built, because something that it is
    made from is not there: nothing would be put in their place.
    """
    unbuilt: dict[str, str] = {}
    for table, inputs in staged.tables.items():
        if lacking := [
            why
            for source in inputs
            if not _may_be_empty(table, source) and (why := unbuilt.get(source) or _lacking(staged, source))
        ]:
            unbuilt[table] = lacking[0]
            if any(count_rows(live.table(name)) for name in with_sides(table)):
                raise NotReplaceable(live.pipeline, table, lacking[0])


def leave_out(known: Definition) -> Definition:
    """The definition of a table that the pipeline file no longer has. Its rows are the old ones or the new
    ones: nobody follows them.
    """
    return Definition(known.generation, {**known.parts, LEFT_OUT: True}, {})


def _may_be_empty(table: str, source: str) -> bool:
    """Facts do not wait for their dimensions, and these not for theirs."""
    return TableName(table).has_keys and TableName(source).is_in("dimension")


def _lacking(plan: Plan, source: str) -> str | None:
    """Why an input that is not built itself cannot be read."""
    if source in plan.lake.staged or plan.version(source) is not None:
        return None
    other = plan.others.get(source)
    new = f"{source} is not there: `weir run {plan.pipeline.name} --select {source}` makes it, if it is new"
    return other.problem if other else new


def _problems(lake: Lake, table: str, known: Definition) -> list[str]:
    # of an earlier version, which did not write it down: the table itself is all that can be asked for
    if known.stage is None:
        return [] if table_version(lake.table(table)) is not None else [f"{lake.table(table)} is not there"]
    problems = [
        problem for name, expected in known.stage.items() if (problem := _problem(lake.table(name), expected))
    ]
    if known.stage.get(table) is None and count_rows(replace(lake, staged=frozenset()).table(table)):
        problems.append(f"nothing was built that could take the place of the rows of {table}")
    return problems


def _problem(path: str, expected: list[Any] | None) -> str | None:
    found = _identity(path)
    if found is None and expected is not None:
        return f"{path} is not there"
    if found != expected:
        return f"{path} is another table than the one that was built"
    lost = lost_files(path) if found is not None else []
    return f"{len(lost)} data files of {path} are missing or cut, as {lost[0]}" if lost else None


def _identity(path: str) -> list[Any] | None:
    version = table_version(path)
    return None if version is None else [table_id(path), version]
