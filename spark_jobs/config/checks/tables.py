"""Checks of dimensions and silver tables: keys, versions, deletes, event time and lookups."""

from spark_jobs.config.checks.columns import Path, check_columns, check_key, check_named
from spark_jobs.config.checks.lookups import check_lookups, check_lookups_of_dimension
from spark_jobs.config.columns import row_columns
from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.names import NEWEST_ARRIVAL, ROW_PLACES
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.validation import Report

# Checks of dimensions and silver tables: keys, versions, deletes, event time and lookups.


def check_dimension(pipeline: Pipeline, name: str, dimension: Dimension, report: Report) -> None:
    path: Path = ("dimensions", name)
    check_columns(pipeline, dimension, path, report)
    check_key(dimension, dimension.key, path, report)
    _check_sequence(pipeline, dimension, dimension.sequence_by, path, report)
    if dimension.delete_when is not None:
        _check_delete(pipeline, dimension, dimension.delete_when, path, report)
    check_lookups_of_dimension(pipeline, name, path, report)
    if dimension.snapshot is not None:
        _check_snapshot(pipeline, dimension, path, report)
    first = dimension.sequence_by[0]
    kind = dimension.columns[first].type if first in dimension.columns else None
    if dimension.history == "scd2" and kind not in ("timestamp", "date"):
        if kind is None and first not in ROW_PLACES:
            return  # there is no such column, or versions are valid from when they arrive
        what = f"the column {first!r} is {kind}" if kind else f"{first!r} is no time"
        report.add(
            (*path, "sequence_by"),
            first,
            f"{what}, but the versions of scd2 are valid from a time",
            f"name a timestamp or date column first; or write sequence_by: {NEWEST_ARRIVAL}, and a version is"
            " valid from when it arrives; or history: scd1",
        )


def _check_snapshot(pipeline: Pipeline, dimension: Dimension, path: Path, report: Report) -> None:
    """A snapshot has one time, or is a file that arrives; and nothing in it deletes."""
    place, source = (*path, "snapshot"), pipeline.sources.get(dimension.from_)
    if source is not None and (source.is_stream or source.is_change_feed):
        message = f"{dimension.from_!r} brings changes, record by record: no part of it has all members"
        report.add(place, True, message, "remove snapshot, or read the feed from files")
    if dimension.delete_when is not None:
        message = "'delete_when' is incompatible with snapshot: a member ends by not being in it"
        hint = "leave such rows out with where: then they are not in the snapshot; or remove snapshot"
        report.add((*path, "delete_when"), dimension.delete_when, message, hint)
    if len(dimension.sequence_by) > 1 or dimension.sequence_by[0] in ROW_PLACES:
        message = "a snapshot has one time, by which its rows belong together"
        hint = f"name the one column of it, or write sequence_by: {NEWEST_ARRIVAL}: each file is a snapshot"
        report.add((*path, "sequence_by"), ", ".join(dimension.sequence_by), message, hint)


def check_silver(pipeline: Pipeline, name: str, silver: Silver, report: Report) -> None:
    path: Path = ("silver", name)
    check_columns(pipeline, silver, path, report)
    check_key(silver, silver.key or [], path, report)
    _check_versions(pipeline, silver, path, report)
    if silver.delete_when is not None:
        _check_delete(pipeline, silver, silver.delete_when, path, report)
    if silver.event_time is not None:
        place = (*path, "event_time", "column")
        event_type = check_named(silver, silver.event_time.column, place, report)
        if event_type not in (None, "timestamp"):
            message = f"the event time {silver.event_time.column!r} is {event_type}, not timestamp"
            report.add(place, silver.event_time.column, message, "declare the column as timestamp")
    check_lookups(pipeline, silver, path, report)


def _check_sequence(
    pipeline: Pipeline, table: Silver | Dimension, names: list[str], path: Path, report: Report
) -> None:
    """Each column that orders versions is there, once, and comparable."""
    source = pipeline.sources.get(table.from_)
    for index, name in enumerate(names):
        place = (*path, "sequence_by", index) if len(names) > 1 else (*path, "sequence_by")
        if name in names[:index]:
            report.add(place, name, f"{name!r} stands twice in sequence_by", "keep the first")
        elif name == NEWEST_ARRIVAL:
            _check_newest_arrival(table, names, path, report)
        elif name in ROW_PLACES:
            if source is not None and source.is_stream:
                message = f"{name} orders rows of files, and the records of {table.from_!r} come in none"
                hint = "name a column, as one of the fields that its format gives a record (_offset, …)"
                report.add(place, name, message, hint)
        elif name in table.columns:
            check_named(table, name, place, report)
        else:
            report.require(place, name, [*table.columns, *ROW_PLACES, NEWEST_ARRIVAL], "column")


def _check_newest_arrival(table: Silver | Dimension, names: list[str], path: Path, report: Report) -> None:
    place = (*path, "sequence_by")
    if NEWEST_ARRIVAL in table.columns:
        message = f"{NEWEST_ARRIVAL!r} is a column of this table, and the word for the order of arrival"
        report.add(place, names, message, "rename the column")
    elif len(names) > 1:
        message = f"'{NEWEST_ARRIVAL}' is an order of its own: no two rows arrive at the same place"
        others = ", ".join(name for name in names if name != NEWEST_ARRIVAL)
        hint = f"write sequence_by: [{others}] with ties: {NEWEST_ARRIVAL}, or {NEWEST_ARRIVAL} alone"
        report.add(place, names, message, hint)
    elif "ties" in table.model_fields_set:
        message = f"'ties' is incompatible with sequence_by: {NEWEST_ARRIVAL}, by which no versions tie"
        report.add((*path, "ties"), table.ties, message, "remove ties")


def _check_versions(pipeline: Pipeline, silver: Silver, path: Path, report: Report) -> None:
    if silver.key is None and "ties" in silver.model_fields_set:
        message = (
            "'ties' is incompatible with a table without key: every row is appended, none competes with"
            " another"
        )
        report.add((*path, "ties"), silver.ties, message, "add the key, or remove ties")
    if silver.sequence_by is not None:
        _check_sequence(pipeline, silver, silver.sequence_by, path, report)
        if silver.key is None:
            message = (
                "'sequence_by' is incompatible with a table without key: every row is appended, none is"
                " replaced"
            )
            said = ", ".join(silver.sequence_by)
            report.add((*path, "sequence_by"), said, message, "add the key, or remove sequence_by")
    elif silver.key is not None and silver.event_time is None:
        message = (
            "'key' is incompatible with a table that has neither sequence_by nor event_time: nothing says"
            " which version is the newest"
        )
        report.add(
            (*path, "key"),
            silver.key,
            message,
            f"add sequence_by: <a column that grows with every version>, or sequence_by: {NEWEST_ARRIVAL} if"
            " the last load wins",
        )


def _check_delete(
    pipeline: Pipeline, table: Silver | Dimension, delete_when: str, path: Path, report: Report
) -> None:
    """A key without an order of versions is a problem of the key; here it needs no second one."""
    place = (*path, "delete_when")
    if table.key is None:
        message = (
            "'delete_when' is incompatible with a table without key: nothing says which row is to be deleted"
        )
        report.add(place, delete_when, message, "add the key, or leave such rows out with where")
    for message, hint in judge_row_expression(delete_when, row_columns(pipeline, table)):
        report.add(place, delete_when, message, hint)
