"""Checks of gold tables that aggregate another gold table, and of running totals."""

from collections.abc import Mapping

from sqlglot import exp

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.columns import ANY
from spark_jobs.config.expressions import judge_measure
from spark_jobs.config.functions import AGGREGATES
from spark_jobs.config.gold import Gold
from spark_jobs.config.names import shorten
from spark_jobs.config.nesting import why_not_within
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sql import Complaint, SqlError, function_names, parse_expression
from spark_jobs.config.validation import Report

ADDING = {"sum", "try_sum", "avg", "mean", "try_avg"}
DISTINCT = {"approx_count_distinct"}
APART = "one value may be in several of them"


def source_of(pipeline: Pipeline, name: str, gold: Gold, path: Path, report: Report) -> Gold | None:
    """The gold table that this one aggregates; None, after a problem, where it cannot."""
    place, table = (*path, "from"), str(gold.from_)
    there = [f"gold.{other}" for other in pipeline.gold if other != name]
    if not report.require(place, table, there, "gold table"):
        return None
    source = pipeline.gold[table.removeprefix("gold.")]
    if source.is_native or not source.measures:
        message = f"'from' is incompatible with {table}, which is made by {source.kind!r} and not by measures"
        report.add(place, table, message, "aggregate it by SQL, or the silver table that it is made from")
        return None
    return source


def check_window_of_gold(
    gold: Gold, source: Gold, known: Mapping[str, str], path: Path, report: Report
) -> None:
    """The rows of a gold table lie at the beginning of their windows."""
    assert gold.window is not None
    column, place = gold.window.column or "window_start", (*path, "window", "column")
    if gold.window.column is None and source.window is None:
        message = f"the window has no column, and {gold.from_} has no windows"
        report.add((*path, "window"), gold.from_, message, "add column: <timestamp column>")
    elif column == "window_end":
        message = "the end of a window is no longer in it, and lies in the one behind"
        report.add(place, column, message, "remove column, which takes window_start")
    elif report.require(place, column, [name for name in known if not name.startswith("_")], "column"):
        if known[column] not in ("timestamp", ANY):
            message = f"the column {column!r} is {known[column]}, not timestamp"
            report.add(place, column, message, "use a timestamp column")
        elif (
            column == "window_start" and source.window and (why := why_not_within(source.window, gold.window))
        ):
            message = f"these windows cannot be made from those of {gold.from_}: {why}"
            hint = "make them from the silver table, or from windows that lie within these"
            report.add((*path, "window"), gold.from_, message, hint)


def judge_adding(measure: str, source: Mapping[str, str]) -> list[Complaint]:
    """Numbers of different values cannot be added."""
    try:
        tree, apart = parse_expression(measure), {name for name, sql in source.items() if _is_apart(sql)}
    except SqlError:
        return []
    named = {
        column.name
        for node in tree.walk()
        if isinstance(node, exp.Func) and function_names(node) & ADDING
        for column in node.find_all(exp.Column)
        if column.name.lower() in {name.lower() for name in apart}
    }
    hint = "count them by a table of its own, made from the silver table, or take max(…) or min(…)"
    return [
        (f"{name!r} counts different values, and cannot be added over windows or groups: {APART}", hint)
        for name in sorted(named)
    ]


def check_running(gold: Gold, path: Path, report: Report) -> None:
    """A total needs an order of windows in which each row counts once."""
    place = (*path, "running")
    if gold.running and gold.window is None:
        message = "'running' is incompatible with a table without a window: nothing says what comes before"
        report.add(place, list(gold.running), message, "add a window, or write it with OVER in a SQL table")
        return
    if gold.running and gold.window and gold.window.slide not in (None, gold.window.size):
        message = "'running' is incompatible with sliding windows: a row would count several times"
        report.add(place, list(gold.running), message, "remove slide")
    known = {**dict.fromkeys(gold.measures, ANY), "_row_count": "bigint"}
    for name, total in gold.running.items():
        for message, hint in [
            *judge_measure(total, known, []),
            *_judge_total(total),
            *judge_adding(total, gold.measures),
        ]:
            report.add((*place, name), total, message, hint)


def check_whole(gold: Gold, closing: Mapping[str, str], path: Path, report: Report) -> None:
    """Such a table is computed as a whole whenever its input moves."""
    why = f"a table made from {gold.from_}" if gold.reads_gold else "running totals"
    given = {"emit": gold.emit} if gold.emit in ("append", "update") else {}
    for key, value in {**given, **closing}.items():
        message = f"{key!r} is incompatible with {why}: the table is computed as a whole"
        report.add((*path, key), value, message, f"remove {key}")


def _is_apart(measure: str) -> bool:
    tree = parse_expression(measure)
    return tree.find(exp.Distinct) is not None or any(
        isinstance(node, exp.Func) and function_names(node) & DISTINCT for node in tree.walk()
    )


def _judge_total(total: str) -> list[Complaint]:
    """One aggregate, which can be taken OVER windows."""
    try:
        tree = parse_expression(total).unnest()
    except SqlError:
        return []
    if not (isinstance(tree, exp.Func) and function_names(tree) & AGGREGATES):
        hint = "write for example sum(revenue) or max(revenue), and what is computed of it in another table"
        return [(f"{shorten(total)} is not one aggregate of the measures", hint)]
    if tree.find(exp.Distinct):
        return [
            (f"{shorten(total)} counts different values, which Spark has for no running total", "use SQL")
        ]
    return []
