"""Checks of native stateful tables (state, dedup, join): what their inputs must be, and which modes cannot
work, each with the reason.
"""

import ast
from collections.abc import Mapping
from pathlib import Path as FilePath

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.checks.hooks import read_module
from spark_jobs.config.columns import silver_columns
from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.gold import Gold, Join, JoinSide
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.types import is_complex
from spark_jobs.config.validation import Report

NO_UPDATE = {
    "state": (
        "its class emits rows, and nothing says which earlier one a new row replaces",
        "and take the newest per key by sql",
    ),
    "dedup": ("a row that was published never changes", "which publishes every first row"),
    "join": (
        "Spark joins two streams in append mode alone, because a pair that was published never changes",
        "which publishes each pair",
    ),
}
CONVERGING = "make the table with from and measures"
METHODS = ("init", "handleInputRows")


def check_native_modes(gold: Gold, path: Path, report: Report) -> None:
    """emit and late of a native table: rows are appended once, and late ones are always set aside."""
    if gold.emit == "update":
        why, instead = NO_UPDATE[gold.kind]
        hint = f"write emit: append, {instead}"
        report.add(
            (*path, "emit"), gold.emit, f"'emit: update' is incompatible with {gold.kind!r}: {why}", hint
        )
    if gold.emit == "complete":
        message = (
            f"'emit: complete' is incompatible with {gold.kind!r}: Spark does not keep what such a query has"
            " emitted"
        )
        report.add((*path, "emit"), gold.emit, message, f"write emit: append, or {CONVERGING}")
    if gold.late is not None:
        message = (
            f"'late: {gold.late}' is incompatible with {gold.kind!r}: the state that a late row belongs to is"
            " gone"
        )
        hint = (
            "remove late: such rows are always set aside in the late table; only windows and sessions can be"
            " repaired"
        )
        report.add((*path, "late"), gold.late, message, hint)


def check_native(pipeline: Pipeline, gold: Gold, conf: FilePath, path: Path, report: Report) -> None:
    """Everything about its inputs and what belongs to its kind."""
    if gold.join is not None:
        _check_join(pipeline, gold.join, (*path, "join"), report)
        return
    known = _check_input(
        pipeline,
        gold.kind,
        str(gold.from_),
        needs_time=gold.timers != "processing",
        path=(*path, "from"),
        report=report,
    )
    if known is None:
        return
    for message, hint in judge_row_expression(gold.where, known) if gold.where else ():
        report.add((*path, "where"), gold.where, message, hint)
    if gold.dedup is not None:
        _check_key(gold.dedup.on, known, (*path, "dedup", "on"), report)
    else:
        _check_state(gold, known, conf, path, report)


def _check_input(
    pipeline: Pipeline, kind: str, table: str, *, needs_time: bool, path: Path, report: Report
) -> dict[str, str] | None:
    """The columns of a silver table that a native query can read; None, after a problem, where it cannot."""
    if other_pipeline(table):
        message = (
            f"{kind!r} is incompatible with a table of another pipeline: that one moves without our lease,"
            " and no stream follows it"
        )
        report.add(path, table, message, f"declare the table in that pipeline, or {CONVERGING}")
        return None
    if not report.require(path, table, [f"silver.{name}" for name in pipeline.silver], "silver table"):
        return None
    name = table.removeprefix("silver.")
    silver = pipeline.silver[name]
    for reason in _changes_rows(pipeline, name):
        message = (
            f"{kind!r} is incompatible with {table}: {reason}, and a native query cannot take a row back"
        )
        report.add(
            path, table, message, f"declare a silver table of the same source without it, or {CONVERGING}"
        )
    if needs_time and silver.event_time is None:
        message = (
            f"{kind!r} is incompatible with {table}, which has no event time: nothing says which rows are"
            " late"
        )
        report.add(path, table, message, "add event_time to the silver table")
    return {
        column: kind for column, kind in silver_columns(pipeline, name).items() if not column.startswith("_")
    }


def _changes_rows(pipeline: Pipeline, name: str) -> list[str]:
    silver = pipeline.silver[name]
    found = ["it has a key, so that newer versions replace its rows"] if silver.key else []
    found += ["it has a lookup, so that members that change correct its rows"] if silver.lookup else []
    is_tagged = bool(pipeline.tagging(f"silver.{name}"))
    return found + (
        ["it has rules with on_fail: tag, so that its rows follow rules that change"] if is_tagged else []
    )


def _check_key(names: list[str], known: Mapping[str, str], path: Path, report: Report) -> None:
    for index, name in enumerate(names):
        if report.require((*path, index), name, list(known), "column") and is_complex(known[name]):
            message = f"the column {name!r} is {known[name]}, which cannot be compared"
            report.add((*path, index), name, message, "use a column of a simple type")


def _check_state(gold: Gold, known: Mapping[str, str], conf: FilePath, path: Path, report: Report) -> None:
    for key, example in (
        ("key", "key: user_id"),
        ("columns", "columns: {user_id: bigint, click_count: int}"),
    ):
        if not getattr(gold, key):
            report.add(
                (*path, "state"),
                gold.state,
                f"{key!r} is missing: a table made by 'state' needs it",
                f"add it, as in {example}",
            )
    _check_key(gold.key or [], known, (*path, "key"), report)
    if gold.timers == "processing" and gold.watermark:
        message = (
            "'watermark' is incompatible with timers: processing: timers fire by the clock of the run, and no"
            " row is late"
        )
        report.add((*path, "watermark"), gold.watermark, message, "remove watermark, or write timers: event")
    if gold.timers != "processing" and not gold.watermark:
        message = "'watermark' is missing: nothing says when a timer fires, and which rows are late"
        report.add(
            (*path, "state"),
            gold.state,
            message,
            "add watermark: <how late rows may come>, or write timers: processing",
        )
    module = read_module(str(gold.state), conf, (*path, "state"), report)
    if module is None:
        return
    file, _, name = str(gold.state).partition(":")
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    if report.require((*path, "state"), name, list(classes), f"class in conf/{file} called"):
        methods = {node.name for node in classes[name].body if isinstance(node, ast.FunctionDef)}
        if lacking := [method for method in METHODS if method not in methods]:
            hint = (
                f"write it as a StatefulProcessor of pyspark: {', '.join(METHODS)}, and handleExpiredTimer"
                " where it sets timers"
            )
            report.add(
                (*path, "state"), gold.state, f"the class {name} has no {' and no '.join(lacking)}", hint
            )


def _check_join(pipeline: Pipeline, join: Join, path: Path, report: Report) -> None:
    columns = {
        side: _check_side(pipeline, side, definition, path, report) for side, definition in join.sides.items()
    }
    if join.left.from_ == join.right.from_:
        message = f"both sides of the join are {join.left.from_}: every row would meet itself"
        report.add((*path, "right", "from"), join.right.from_, message, "join two tables, or use sql")
        return
    left, right = columns["left"], columns["right"]
    if left is None or right is None:
        return
    for ours, theirs in join.on.items():
        is_known = [
            report.require((*path, "on"), ours, list(left), "left column"),
            report.require((*path, "on"), theirs, list(right), "right column"),
        ]
        if all(is_known) and (left[ours] != right[theirs] or is_complex(left[ours])):
            message = f"the columns {ours!r} ({left[ours]}) and {theirs!r} ({right[theirs]}) cannot be equal"
            report.add((*path, "on"), ours, message, "give both one simple type")
    for name, taken in join.take.items():
        side, _, column = taken.partition(".")
        place = (*path, "take", name)
        if report.require(place, side, ["left", "right"], "side of the join called"):
            report.require(place, column, list(left if side == "left" else right), f"{side} column")


def _check_side(
    pipeline: Pipeline, side: str, definition: JoinSide, path: Path, report: Report
) -> dict[str, str] | None:
    return _check_input(
        pipeline, "join", definition.from_, needs_time=True, path=(*path, side, "from"), report=report
    )
