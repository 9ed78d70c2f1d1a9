"""Checks of dimensions and silver tables: columns, keys, versions, deletes, event time and lookups."""

from itertools import combinations

from spark_jobs.config.columns import decoded_columns, own_columns
from spark_jobs.config.document import Report
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.names import shorten
from spark_jobs.config.pipeline import Dimension, Lookup, Pipeline, Silver
from spark_jobs.config.regexes import group_names, judge_line_regex
from spark_jobs.config.sources import BRONZE_FIELDS, MESSAGE_FIELDS, FileSource
from spark_jobs.config.text import count
from spark_jobs.config.types import is_complex

# Checks of the columns of a silver table or dimension: names, paths into the record, types and SQL.

Path = tuple[str | int, ...]
NOT_OF_THE_RECORD = (
    "remove the column: the table has _file, _file_id, _line and _arrived_at of its own; messages alone have"
    " _key and the like"
)


def check_columns(pipeline: Pipeline, table: Silver | Dimension, path: Path, report: Report) -> None:
    """Everything about the columns themselves, and `from` and `where` of the table."""
    report.require((*path, "from"), table.from_, list(pipeline.sources), "source")
    _check_names(table, path, report)
    source = pipeline.sources.get(table.from_)
    if isinstance(source, FileSource) and source.format in ("csv", "text"):
        _check_flat(table, path, source, report)
    else:
        _check_paths(table, path, report)
    for name, column in table.columns.items():
        for message, hint in judge_row_expression(column.sql, decoded_columns(table)) if column.sql else ():
            report.add(
                (*path, "columns", name, "sql"), column.sql, message, _about_siblings(table, message) or hint
            )
    for message, hint in judge_row_expression(table.where, own_columns(table)) if table.where else ():
        report.add((*path, "where"), table.where, message, hint)


def check_named(
    table: Silver | Dimension, name: str, path: Path, report: Report, *, orderable: bool = True
) -> str | None:
    """The type of a column that a key of the table names; a problem and None where it is not there or cannot
    be compared.
    """
    if not report.require(path, name, list(table.columns), "column"):
        return None
    spark_type = table.columns[name].type
    if orderable and is_complex(spark_type):
        report.add(
            path,
            name,
            f"the column {name!r} is {shorten(spark_type)}, which cannot be compared",
            "use a column of a simple type",
        )
        return None
    return spark_type


def check_key(table: Silver | Dimension, key: list[str], path: Path, report: Report) -> None:
    for index, name in enumerate(key):
        place = (*path, "key", index) if len(key) > 1 else (*path, "key")
        check_named(table, name, place, report)
        if name in key[:index]:
            report.add(place, name, f"the column {name!r} stands twice in the key", "keep one")


def _about_siblings(table: Silver | Dimension, message: str) -> str:
    """A column with SQL may not name another one with SQL: say so, instead of guessing another name."""
    computed = [
        name for name, column in table.columns.items() if column.sql and f"no column {name!r} " in message
    ]
    return (
        f"{computed[0]!r} is itself computed by sql; repeat its expression, or name the columns that it is"
        " made from"
        if computed
        else ""
    )


def _check_names(table: Silver | Dimension, path: Path, report: Report) -> None:
    seen: dict[str, str] = {}
    for name in table.columns:
        if (first := seen.setdefault(name.lower(), name)) != name:
            message = f"the columns {first!r} and {name!r} differ only in case"
            report.add((*path, "columns", name), name, message, "Spark takes them for one; rename one")


def _check_paths(table: Silver | Dimension, path: Path, report: Report) -> None:
    """A field of the record is either a value or an object: payment and payment.amount
    cannot both be taken.
    """
    paths = {
        name: tuple((column.from_ or name).split("."))
        for name, column in table.columns.items()
        if column.has_path
    }
    for name, parts in paths.items():
        _check_path(parts, (*path, "columns", name, "from"), report)
    for (name, parts), (other, others) in combinations(paths.items(), 2):
        shorter, longer = sorted((parts, others), key=len)
        place = (*path, "columns", other)
        if len(shorter) < len(longer) and longer[: len(shorter)] == shorter:
            message = (
                f"{'.'.join(shorter)!r} is taken as a value, but {'.'.join(longer)!r} is a field of it"
                f" (columns {name!r}, {other!r})"
            )
            hint = "take the fields one by one, or the whole as a struct and its fields by sql"
            report.add(place, ".".join(others), message, hint)
        elif parts != others and _folded(parts) == _folded(others) and name.lower() != other.lower():
            message = (
                f"{'.'.join(parts)!r} and {'.'.join(others)!r} differ only in case (columns {name!r},"
                f" {other!r})"
            )
            report.add(place, ".".join(others), message, "Spark takes them for one field; keep one")
    if isinstance(table, Silver) and table.explode:
        _check_explode(table.explode, paths, path, report)


def _folded(parts: tuple[str, ...]) -> list[str]:
    return [part.lower() for part in parts]


def _check_path(parts: tuple[str, ...], place: Path, report: Report) -> None:
    if not all(part.strip() for part in parts) or any("`" in part for part in parts):
        text = ".".join(parts)
        report.add(
            place,
            text,
            f"{text!r} is not a path in the record",
            "write the names of fields with single dots between them",
        )


def _check_explode(explode: str, paths: dict[str, tuple[str, ...]], path: Path, report: Report) -> None:
    array = tuple(explode.split("."))
    _check_path(array, (*path, "explode"), report)
    for name, parts in paths.items():
        if len(parts) < len(array) and array[: len(parts)] == parts:
            message = f"the column {name!r} takes {'.'.join(parts)!r}, which contains the array {explode!r}"
            report.add(
                (*path, "columns", name), ".".join(parts), message, "take fields beside the array or below it"
            )


def _check_flat(table: Silver | Dimension, path: Path, source: FileSource, report: Report) -> None:
    """Records of csv are flat; those of text have the one field `value`, and those that its `fields` name."""
    if isinstance(table, Silver) and table.explode:
        message = f"'explode' is incompatible with format: {source.format}, whose records hold no arrays"
        report.add((*path, "explode"), table.explode, message, "use a json or parquet source")
    if source.format != "text":
        for name, column in table.columns.items():
            if column.has_path and (column.from_ or name) in BRONZE_FIELDS | MESSAGE_FIELDS:
                message = f"{column.from_!r} is no column of a csv file: 'from' takes a name of its header"
                report.add((*path, "columns", name, "from"), column.from_, message, NOT_OF_THE_RECORD)
        return
    named = group_names(source.fields) if source.fields and judge_line_regex(source.fields) is None else []
    for name, column in table.columns.items():
        taken = column.from_ or name
        if column.rest:
            report.add(
                (*path, "columns", name, "rest"),
                name,
                "a line of text has no other fields than those of its source",
                "remove it",
            )
            continue
        if column.sql is None and taken not in ("value", *named):
            place = (*path, "columns", name)
            if source.fields:
                hint = did_you_mean(taken, ["value", *named])
                report.add(
                    place, taken, f"the fields of source {table.from_!r} have no group {taken!r}", hint
                )
            else:
                hint = (
                    "write {type: string, from: value}, and parse it in other columns by sql, or give the"
                    " source `fields`"
                )
                report.add(place, taken, f"a text record has no field {taken!r}, only 'value'", hint)


# Checks of dimensions and silver tables: keys, versions, deletes, event time and lookups.


def check_dimension(pipeline: Pipeline, name: str, dimension: Dimension, report: Report) -> None:
    path: Path = ("dimensions", name)
    check_columns(pipeline, dimension, path, report)
    check_key(dimension, dimension.key, path, report)
    sequence = check_named(dimension, dimension.sequence_by, (*path, "sequence_by"), report)
    if dimension.history == "scd2" and sequence not in (None, "timestamp", "date"):
        message = (
            f"the column {dimension.sequence_by!r} is {sequence}, but the versions of scd2 are valid from a"
            " time"
        )
        report.add(
            (*path, "sequence_by"),
            dimension.sequence_by,
            message,
            "use a timestamp or date column, or history: scd1",
        )


def check_silver(pipeline: Pipeline, name: str, silver: Silver, report: Report) -> None:
    path: Path = ("silver", name)
    check_columns(pipeline, silver, path, report)
    check_key(silver, silver.key or [], path, report)
    _check_versions(silver, path, report)
    if silver.delete_when is not None:
        _check_delete(silver, silver.delete_when, path, report)
    if silver.event_time is not None:
        place = (*path, "event_time", "column")
        event_type = check_named(silver, silver.event_time.column, place, report)
        if event_type not in (None, "timestamp"):
            message = f"the event time {silver.event_time.column!r} is {event_type}, not timestamp"
            report.add(place, silver.event_time.column, message, "declare the column as timestamp")
    taken = {column.lower(): f"column {column!r} of this table" for column in silver.columns}
    for dimension, lookup in silver.lookup.items():
        _check_lookup(pipeline, silver, dimension, lookup, path, report)
        _check_taken(dimension, lookup, taken, path, report)


def _check_versions(silver: Silver, path: Path, report: Report) -> None:
    if silver.key is None and "ties" in silver.model_fields_set:
        message = (
            "'ties' is incompatible with a table without key: every row is appended, none competes with"
            " another"
        )
        report.add((*path, "ties"), silver.ties, message, "add the key, or remove ties")
    if silver.sequence_by is not None:
        check_named(silver, silver.sequence_by, (*path, "sequence_by"), report)
        if silver.key is None:
            message = (
                "'sequence_by' is incompatible with a table without key: every row is appended, none is"
                " replaced"
            )
            report.add(
                (*path, "sequence_by"), silver.sequence_by, message, "add the key, or remove sequence_by"
            )
    elif silver.key is not None and silver.event_time is None:
        message = (
            "'key' is incompatible with a table that has neither sequence_by nor event_time: nothing says"
            " which version is the newest"
        )
        report.add(
            (*path, "key"), silver.key, message, "add sequence_by: <a column that grows with every version>"
        )


def _check_delete(silver: Silver, delete_when: str, path: Path, report: Report) -> None:
    """A key without an order of versions is a problem of the key; here it needs no second one."""
    place = (*path, "delete_when")
    if silver.key is None:
        message = (
            "'delete_when' is incompatible with a table without key: nothing says which row is to be deleted"
        )
        report.add(place, delete_when, message, "add the key, or leave such rows out with where")
    for message, hint in judge_row_expression(delete_when, own_columns(silver)):
        report.add(place, delete_when, message, hint)


def _check_lookup(
    pipeline: Pipeline, silver: Silver, name: str, lookup: Lookup, path: Path, report: Report
) -> None:
    place = (*path, "lookup", name)
    on_types = [check_named(silver, column, (*place, "on"), report) for column in lookup.on]
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
    for column in lookup.take:
        report.require(
            (*place, "take"), column, list(dimension.columns), f"column of dimension {name!r} called"
        )
    _check_as_of(silver, name, dimension, lookup, place, report)


def _check_join_types(
    dimension: Dimension, lookup: Lookup, on_types: list[str | None], place: Path, report: Report
) -> None:
    """A bigint does not match a string: Spark would cast one of them, and fail or find nothing."""
    members = own_columns(dimension)
    for column, found, key in zip(lookup.on, on_types, dimension.key, strict=True):
        if found is not None and key in members and _family(found) != _family(members[key]):
            message = f"{column!r} is {found}, but the key {key!r} of the dimension is {members[key]}"
            report.add((*place, "on"), column, message, "declare both with the same type")


def _family(spark_type: str) -> str:
    is_exact = spark_type in ("tinyint", "smallint", "int", "bigint") or spark_type.startswith("decimal")
    return "exact number" if is_exact else spark_type


def _check_as_of(
    silver: Silver, name: str, dimension: Dimension, lookup: Lookup, place: Path, report: Report
) -> None:
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
        found = check_named(silver, lookup.as_of, (*place, "as_of"), report)
        if found not in (None, "timestamp"):
            report.add(
                (*place, "as_of"),
                lookup.as_of,
                f"the column {lookup.as_of!r} is {found}, not timestamp",
                "use a timestamp column",
            )
    elif silver.event_time is None:
        message = f"dimension {name!r} has versions (scd2), but nothing says as of which time"
        report.add(place, name, message, "add as_of: <timestamp column>, or event_time to the table")


def _check_taken(dimension: str, lookup: Lookup, taken: dict[str, str], path: Path, report: Report) -> None:
    """A taken column keeps its name, so that it may collide with a column of the table or
    of another lookup.
    """
    for column in lookup.take:
        owner = taken.setdefault(column.lower(), f"column {column!r} of dimension {dimension!r}")
        if owner != f"column {column!r} of dimension {dimension!r}" or lookup.take.count(column) > 1:
            message = f"the column {column!r} of dimension {dimension!r} has the name of {owner}"
            report.add(
                (*path, "lookup", dimension, "take"),
                column,
                message,
                "take it once, or rename one of the two in its table",
            )
