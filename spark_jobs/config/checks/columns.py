"""Checks of the columns that a table declares: their names, and where in the record they are."""

import re
from itertools import combinations

from spark_jobs.config.columns import row_columns
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.expressions import judge_column, judge_row_expression
from spark_jobs.config.names import ROW_ORIGINS, shorten
from spark_jobs.config.path_template import PATH_PART, is_part
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.regexes import group_names, judge_line_regex
from spark_jobs.config.silver import Column, Dimension, Silver
from spark_jobs.config.sources import BRONZE_FIELDS, MESSAGE_FIELDS, AnySource, FileSource
from spark_jobs.config.sql import Ring, SqlError, computing_steps
from spark_jobs.config.types import is_complex
from spark_jobs.config.validation import Report

# Checks of the columns of a silver table or dimension: names, paths into the record, types and SQL.

Path = tuple[str | int, ...]
NUMBERED = re.compile(r"[1-9]\d{0,4}")
NOT_OF_THE_RECORD = (
    "remove the column: a column of files takes {}; messages alone have _key and the like".format(
        ", ".join(ROW_ORIGINS)
    )
)


def check_columns(pipeline: Pipeline, table: Silver | Dimension, path: Path, report: Report) -> None:
    """Everything about the columns themselves, and `from` and `where` of the table."""
    report.require((*path, "from"), table.from_, list(pipeline.sources), "source")
    _check_names(table, path, report)
    source = pipeline.sources.get(table.from_)
    if isinstance(source, FileSource) and source.format in ("csv", "text"):
        _check_flat(table, path, source, report)
    else:
        _check_paths(table, source, path, report)
    if isinstance(source, FileSource):
        _check_origins(table, source, path, report)
    known = row_columns(pipeline, table)
    for name, column in table.columns.items():
        for message, hint in judge_column(column.sql, column.type, known) if column.sql else ():
            report.add((*path, "columns", name, "sql"), column.sql, message, hint)
    _check_order(table, path, report)
    for message, hint in judge_row_expression(table.where, known) if table.where else ():
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


def _check_order(table: Silver | Dimension, path: Path, report: Report) -> None:
    """Columns with SQL may name each other, unless they form a ring: none of these could be the first."""
    try:
        computing_steps({name: column.sql for name, column in table.columns.items() if column.sql})
    except SqlError:  # said of the column
        return
    except Ring as ring:
        name, *others = ring.names[:-1]
        chain = " names ".join(repr(one) for one in ring.names)
        message = f"the column {name!r} is computed from itself: {chain}"
        hint = (
            f"name columns without sql in one of {', '.join([name, *others])}"
            if others
            else "name other columns; a field of the record by a column of its own, with from"
        )
        report.add((*path, "columns", name, "sql"), table.columns[name].sql, message, hint)


def _check_names(table: Silver | Dimension, path: Path, report: Report) -> None:
    seen: dict[str, str] = {}
    for name in table.columns:
        if (first := seen.setdefault(name.lower(), name)) != name:
            message = f"the columns {first!r} and {name!r} differ only in case"
            report.add((*path, "columns", name), name, message, "Spark takes them for one; rename one")


def _check_origins(table: Silver | Dimension, source: FileSource, path: Path, report: Report) -> None:
    """What columns take of where their rows came from has one type, and is no secret: it is shown wherever a
    row is named.
    """
    for name, column in table.columns.items():
        origin, place = source.origin_of(column.from_), (*path, "columns", name)
        if origin is None:
            continue
        if column.sensitive:
            message = f"'sensitive' is incompatible with from: {origin}, by which reports and logs name rows"
            report.add((*place, "sensitive"), True, message, "remove it")
        if is_part(origin):
            _check_part(origin, column, source, place, report)
        elif (kind := ROW_ORIGINS.get(origin)) not in (None, column.type):
            message = f"{origin} is a {kind}, and the column {name!r} is declared as {shorten(column.type)}"
            hint = f"write type: {kind}, and compute another column from it by sql"
            report.add((*place, "type"), column.type, message, hint)


def _check_part(origin: str, column: Column, source: FileSource, place: Path, report: Report) -> None:
    """A named part of a path is text that may fit any simple type."""
    expression = str(source.path_fields)
    if judge_line_regex(expression) is not None:
        return  # said of the source
    parts = [f"{PATH_PART}{name}" for name in group_names(expression)]
    if report.require((*place, "from"), origin, parts, "part of the path called") and is_complex(column.type):
        message = f"{origin} is one part of a path, which is no {shorten(column.type)}"
        report.add((*place, "type"), column.type, message, "declare a simple type")


def _check_paths(table: Silver | Dimension, source: AnySource | None, path: Path, report: Report) -> None:
    """A field of the record is either a value or an object: payment and payment.amount
    cannot both be taken.
    """
    paths = {
        name: tuple((column.from_ or name).split("."))
        for name, column in table.columns.items()
        if column.has_path and not (source and source.origin_of(column.from_))
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


def _check_sheet(table: Silver | Dimension, path: Path, source: FileSource, report: Report) -> None:
    """Fields of CSV are known by the header, which nobody sees here, by the names of the source, or by their
    numbers.
    """
    for name, column in table.columns.items():
        taken, place = column.from_ or name, (*path, "columns", name)
        if not column.has_path or source.origin_of(column.from_):
            continue
        if is_part(taken):
            message = f"the source {table.from_!r} says no parts of its path, of which {taken!r} would be one"
            hint = "name them in its path, as in path: orders/dt={day}, or by path_fields"
            report.add((*place, "from"), taken, message, hint)
        elif taken in BRONZE_FIELDS | MESSAGE_FIELDS:
            message = f"{column.from_!r} is no column of a csv file: 'from' takes a name of its header"
            report.add((*place, "from"), column.from_, message, NOT_OF_THE_RECORD)
        elif isinstance(source.header, list):
            report.require(place, taken, source.header, f"field of source {table.from_!r} called")
        elif not source.header and not NUMBERED.fullmatch(taken):
            message = f"the files of source {table.from_!r} have no header: a field is taken by its number"
            hint = "write from: 1 for the first field of a row, or the names of all as `header` of the source"
            report.add(place, taken, message, hint)


def _check_flat(table: Silver | Dimension, path: Path, source: FileSource, report: Report) -> None:
    """Records of csv are flat; those of text have the one field `value`, and those that its `fields` name."""
    if isinstance(table, Silver) and table.explode:
        message = f"'explode' is incompatible with format: {source.format}, whose records hold no arrays"
        report.add((*path, "explode"), table.explode, message, "use a json or parquet source")
    if source.format != "text":
        _check_sheet(table, path, source, report)
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
        if column.sql is None and taken not in ("value", *named) and not source.origin_of(column.from_):
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
