"""Checks of lookups: what they are joined by, what they take, and their order."""

from spark_jobs.config.checks.columns import Path, check_named
from spark_jobs.config.columns import member_columns, own_columns
from spark_jobs.config.lookups import Lookup, LookupRing, in_order, lookups_used
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.text import count
from spark_jobs.config.types import decimal_precision
from spark_jobs.config.validation import Report

MOST_DIGITS = 38
DIGITS_OF_WHOLE = {"tinyint": (3, 0), "smallint": (5, 0), "int": (10, 0), "bigint": (20, 0)}
"""As Spark makes decimals of them."""


def check_lookups(pipeline: Pipeline, table: Silver | Dimension, path: Path, report: Report) -> None:
    taken = {column.lower(): f"column {column!r} of this table" for column in table.columns}
    for dimension, lookup in table.lookup.items():
        _check_lookup(pipeline, table, dimension, lookup, path, report)
        _check_taken(dimension, lookup, taken, path, report)
    for name, used in lookups_used(table.lookup, table.columns).items():
        if used and table.lookup[name].if_missing != "unknown":
            _refuse_to_wait(name, used, table.lookup[name], path, report)
    try:
        in_order(table.lookup, table.columns)
    except LookupRing as ring:
        first, pairs = ring.names[0], zip(ring.names, ring.names[1:], strict=False)
        message = "the lookups form a ring: " + ", ".join(f"{a!r} uses what {b!r} takes" for a, b in pairs)
        report.add(
            (*path, "lookup", first, "on"),
            table.lookup[first].on,
            message,
            "join one of them by columns of this table",
        )


def check_lookups_of_dimension(pipeline: Pipeline, name: str, path: Path, report: Report) -> None:
    """Those of a dimension wait for nothing, and lead back to itself nowhere."""
    table = pipeline.dimensions[name]
    check_lookups(pipeline, table, path, report)
    for other, lookup in table.lookup.items():
        place = (*path, "lookup", other)
        if lookup.if_missing != "unknown":
            message = f"'if_missing: {lookup.if_missing}' is incompatible with a lookup of a dimension"
            hint = "write if_missing: unknown: what a member lacks is filled in when it comes"
            report.add((*place, "if_missing"), lookup.if_missing, message, hint)
        if ring := _way_back(pipeline, other, name):
            message = f"the dimensions form a ring: {' -> '.join([name, *ring])}"
            report.add(place, other, message, "let one of them be without this lookup")


def _way_back(pipeline: Pipeline, start: str, name: str) -> list[str]:
    """The dimensions that lead from one to another by their lookups; empty where there is no such way."""
    ways, seen = [[start]], set[str]()
    while ways:
        way = ways.pop()
        if way[-1] == name:
            return way
        if way[-1] not in seen and way[-1] in pipeline.dimensions:
            seen.add(way[-1])
            ways += [[*way, other] for other in pipeline.dimensions[way[-1]].lookup]
    return []


def _refuse_to_wait(name: str, used: list[str], lookup: Lookup, path: Path, report: Report) -> None:
    """A row that was published would have to wait again, and older versions of it to come back."""
    others = ", ".join(map(repr, used))
    message = (
        f"'if_missing: {lookup.if_missing}' is incompatible with a lookup that uses what {others} took: when"
        " that changes, the row is published already"
    )
    hint = f"write if_missing: unknown; {others} may say {lookup.if_missing}"
    report.add((*path, "lookup", name, "if_missing"), lookup.if_missing, message, hint)


def _type_of(
    pipeline: Pipeline, table: Silver | Dimension, name: str, column: str, place: Path, report: Report
) -> str | None:
    """The type of a column that a lookup is joined by: one of the table, or one that another lookup takes."""
    if column in table.columns:
        return check_named(table, column, place, report)
    takes = {
        taken: (dimension, of)
        for dimension, lookup in table.lookup.items()
        if dimension != name
        for taken, of in lookup.pairs
    }
    if not report.require(place, column, [*table.columns, *takes], "column"):
        return None
    dimension, of = takes[column]
    return member_columns(pipeline, dimension).get(of)


def _check_lookup(
    pipeline: Pipeline, table: Silver | Dimension, name: str, lookup: Lookup, path: Path, report: Report
) -> None:
    place = (*path, "lookup", name)
    on_types = [_type_of(pipeline, table, name, column, (*place, "on"), report) for column in lookup.on]
    if lookup.give_up_after is not None and lookup.if_missing != "park":
        outcome = "published with NULLs" if lookup.if_missing == "unknown" else "quarantined"
        message = (
            f"'give_up_after' is incompatible with if_missing: {lookup.if_missing}: the row is {outcome} at"
            " once and does not wait"
        )
        report.add(
            (*place, "give_up_after"),
            lookup.give_up_after,
            message,
            "remove give_up_after, or write if_missing: park",
        )
    if not report.require(place, name, list(pipeline.dimensions), "dimension"):
        return
    dimension = pipeline.dimensions[name]
    if len(lookup.on) != len(dimension.key):
        key = f"{len(dimension.key)}: {', '.join(dimension.key)}"
        message = f"'on' names {count(len(lookup.on), 'column')}, but the key of dimension {name!r} has {key}"
        report.add(
            (*place, "on"),
            lookup.on,
            message,
            "name one column of this table for each column of the key, in its order",
        )
    else:
        _check_join_types(dimension, lookup, on_types, place, report)
    for _, column in lookup.pairs:
        members = list(member_columns(pipeline, name))
        report.require((*place, "take"), column, members, f"column of dimension {name!r} called")
    _check_as_of(pipeline, table, name, lookup, place, report)


def _check_join_types(
    dimension: Dimension, lookup: Lookup, on_types: list[str | None], place: Path, report: Report
) -> None:
    """A bigint does not match a string: Spark would cast one of them, and fail or find nothing. Nor do two
    numbers that no decimal can both hold: it would round one of them, and 0.4 would find the member 0.
    """
    members = own_columns(dimension)
    for column, found, key in zip(lookup.on, on_types, dimension.key, strict=True):
        if found is not None and key in members and not _can_be_equal(found, members[key]):
            message = f"{column!r} is {found}, but the key {key!r} of the dimension is {members[key]}"
            report.add((*place, "on"), column, message, "declare both with the same type")


def _can_be_equal(one: str, other: str) -> bool:
    if one == other:
        return True
    sizes = [DIGITS_OF_WHOLE.get(kind) or decimal_precision(kind) for kind in (one, other)]
    known = [size for size in sizes if size is not None]
    if len(known) < len(sizes):
        return False
    behind_the_point = max(scale for _, scale in known)
    return max(precision - scale for precision, scale in known) + behind_the_point <= MOST_DIGITS


def _check_as_of(
    pipeline: Pipeline, table: Silver | Dimension, name: str, lookup: Lookup, place: Path, report: Report
) -> None:
    dimension = pipeline.dimensions[name]
    if dimension.history == "scd1":
        if lookup.as_of is not None:
            message = f"'as_of' is incompatible with dimension {name!r}, which keeps no history (scd1)"
            report.add(
                (*place, "as_of"),
                lookup.as_of,
                message,
                "remove as_of, or write history: scd2 in the dimension",
            )
    elif lookup.as_of is not None:
        found = _type_of(pipeline, table, name, lookup.as_of, (*place, "as_of"), report)
        if found not in (None, "timestamp"):
            report.add(
                (*place, "as_of"),
                lookup.as_of,
                f"the column {lookup.as_of!r} is {found}, not timestamp",
                "use a timestamp column",
            )
    elif isinstance(table, Dimension):
        message = f"dimension {name!r} has versions (scd2), but nothing says as of which time"
        hint = "add as_of: <timestamp column>; or let facts look it up, by what they take of this table"
        report.add(place, name, message, hint)
    elif table.event_time is None:
        message = f"dimension {name!r} has versions (scd2), but nothing says as of which time"
        report.add(place, name, message, "add as_of: <timestamp column>, or event_time to the table")


def _check_taken(dimension: str, lookup: Lookup, taken: dict[str, str], path: Path, report: Report) -> None:
    """A taken column may have the name of a column of the table, or of another that is taken."""
    for name, column in lookup.pairs:
        mine = f"column {column!r} of dimension {dimension!r}"
        if (owner := taken.get(name.lower())) is not None:
            called = mine if name == column else f"{mine}, taken as {name!r},"
            hint = (
                "take it once"
                if owner == mine
                else f"take it under another name, as in {{{column}: {dimension}_{column}}}"
            )
            place = (*path, "lookup", dimension, "take")
            report.add(place, name, f"the {called} has the name of {owner}", hint)
        taken.setdefault(name.lower(), mine)
