"""Checks of gold tables: one origin, compatible keys, windows, groups, measures, Python functions, and late
rows.
"""

import ast
from collections.abc import Collection
from pathlib import Path as FilePath

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.checks.hooks import read_module
from spark_jobs.config.checks.native import check_native, check_native_modes
from spark_jobs.config.checks.rollup import check_running, check_window_of_gold, judge_adding, source_of
from spark_jobs.config.checks.sums import judge_sums
from spark_jobs.config.checks.upstream import is_unloaded
from spark_jobs.config.checks.watermarks import check_emit, check_others_watermark, check_watermark
from spark_jobs.config.columns import (
    ANY,
    OF_PROCESSING,
    WINDOW,
    aggregated_columns,
    row_keys,
    silver_columns,
    silver_key,
)
from spark_jobs.config.expressions import judge_measure, judge_row_expression
from spark_jobs.config.gold import Gold
from spark_jobs.config.graph import table_names
from spark_jobs.config.names import name_at_home, parse_duration, shorten
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Silver
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.config.types import is_complex
from spark_jobs.config.validation import Report

# Checks of gold tables: one origin, compatible keys, windows, groups, measures and Python functions.

ORIGINS = ("from", "sql", "python", "join")
AGGREGATES, STATE = ("from",), ("state",)
ONLY_FOR = {
    **dict.fromkeys(("window", "group_by", "measures", "running"), AGGREGATES),
    "where": ("from", "state", "dedup"),
    "watermark": ("from", "state"), "inputs": ("python",),
    **dict.fromkeys(("key", "columns", "timers"), STATE),
}  # fmt: skip
"""Which keys belong to which kind of table; `from` stands for one that aggregates."""


def check_gold(
    pipeline: Pipeline, name: str, gold: Gold, others: Collection[str], conf: FilePath, report: Report
) -> None:
    """All but the SQL file, which checks/sql.py reads. `others` are the tables of other pipelines, by their
    whole names.
    """
    path: Path = ("gold", name)
    given = [origin for origin in ORIGINS if _value(gold, origin) is not None]
    if len(given) != 1:
        found = f"{' and '.join(map(repr, given))} are given" if given else "none is given"
        report.add(
            path,
            given,
            f"a gold table has exactly one of 'from', 'sql', 'python' and 'join', but {found}",
            "keep or add one",
        )
        return
    ways = [key for key in ("measures", "state", "dedup") if _value(gold, key)]
    if gold.from_ and len(ways) > 1:
        message = (
            "a table made by 'from' has one of 'measures', 'state' and 'dedup', but"
            f" {' and '.join(map(repr, ways))} are given"
        )
        report.add(
            (*path, ways[-1]), _value(gold, ways[-1]), message, "keep one; another table may have the other"
        )
        return
    _check_combination(gold, given[0], path, report)
    if gold.is_native:
        check_native(pipeline, gold, conf, path, report)
    elif gold.reads_gold:
        _check_rollup(pipeline, name, gold, path, report)
    elif gold.from_ is not None:
        _check_aggregate(pipeline, gold, others, conf, path, report)
    if gold.python is not None:
        _check_inputs(pipeline, name, gold, others, conf, path, report)
        _check_function(gold, gold.python, conf, path, report)


def _value(gold: Gold, key: str) -> object:
    return getattr(gold, "from_" if key == "from" else key)


def _check_combination(gold: Gold, origin: str, path: Path, report: Report) -> None:
    kind = gold.kind if gold.is_native else origin
    own = {} if gold.is_native else {"late": AGGREGATES, "state": ("from",), "dedup": ("from",)}
    for key, needed in {**ONLY_FOR, **own}.items():
        if _value(gold, key) and kind not in needed:
            message = f"{key!r} is incompatible with {kind!r}: it belongs to {needed[0]!r}"
            report.add((*path, key), _value(gold, key), message, f"remove {key}, or use {needed[0]}")
    if gold.is_native:
        check_native_modes(gold, path, report)
    else:
        check_emit(gold, origin, path, report)
    if kind == "from" and not gold.measures:
        message = "'measures' is missing: a table made by 'from' aggregates rows"
        report.add(path, gold.from_, message, "add measures, as in {order_count: count(*)}")
    if origin == "python" and not gold.inputs:
        report.add(
            (*path, "python"),
            gold.python,
            "'inputs' is missing: a function takes tables",
            "add inputs, as in [silver.orders]",
        )


def _check_aggregate(
    pipeline: Pipeline, gold: Gold, others: Collection[str], conf: FilePath, path: Path, report: Report
) -> None:
    table = gold.from_ or ""
    there = [
        *(f"silver.{name}" for name in pipeline.silver),
        *(name for name in others if ".silver." in name),
    ]
    if is_unloaded(table, pipeline, conf) or not report.require(
        (*path, "from"), table, there, "silver table"
    ):
        return
    home, silver, name = (
        pipeline.home_of(table),
        pipeline.silver_named(table),
        name_at_home(table).removeprefix("silver."),
    )
    assert home is not None
    assert silver is not None
    known = silver_columns(home, name)
    if gold.window is not None:
        _check_window(gold, silver, known, path, report)
        check_watermark(gold, silver, known, path, report)
        if home is not pipeline:
            check_others_watermark(gold, is_kept=home.is_watermarked(name), path=path, report=report)
    _check_parts(gold, known, silver_key(silver), path, report)


def _check_rollup(pipeline: Pipeline, name: str, gold: Gold, path: Path, report: Report) -> None:
    """A table made from another gold table."""
    source = source_of(pipeline, name, gold, path, report)
    known = aggregated_columns(pipeline, gold)
    if source is None or not known:  # a ring is a problem of its own
        return
    if gold.window is not None:
        check_window_of_gold(gold, source, known, path, report)
    _check_parts(gold, known, row_keys(pipeline)[str(gold.from_)], path, report)
    for measure, sql in gold.measures.items():
        for message, hint in judge_adding(sql, source.measures):
            report.add((*path, "measures", measure), sql, message, hint)


def _check_parts(gold: Gold, known: dict[str, str], key: list[str], path: Path, report: Report) -> None:
    """Groups, measures, totals and the condition, over these columns of rows that `key` identifies."""
    stable = {name: kind for name, kind in known.items() if name not in (*OF_PROCESSING, "_revision")}
    bounds = WINDOW if gold.window else {}
    for index, name in enumerate(gold.group_by):
        place = (*path, "group_by", index)
        if report.require(place, name, _plain(known), "column") and is_complex(known[name]):
            message = f"the column {name!r} is {shorten(known[name])}, which cannot be grouped"
            report.add(place, name, message, "group by a column of a simple type")
    _check_result_names(gold, path, report)
    for name, measure in gold.measures.items():
        for message, hint in [
            *judge_measure(measure, stable | bounds, [*bounds, *gold.group_by], key),
            *judge_sums(measure, stable | bounds),
        ]:
            report.add((*path, "measures", name), measure, message, hint)
    check_running(gold, path, report)
    for message, hint in judge_row_expression(gold.where, stable) if gold.where else ():
        report.add((*path, "where"), gold.where, message, hint)


def _plain(columns: dict[str, str]) -> list[str]:
    """The columns without the system's, which keys of the file cannot name."""
    return [name for name in columns if not name.startswith("_")]


def _check_result_names(gold: Gold, path: Path, report: Report) -> None:
    places: list[tuple[str, Path]] = [
        (name, (*path, "group_by", index)) for index, name in enumerate(gold.group_by)
    ]
    places += [(name, (*path, "measures", name)) for name in gold.measures]
    places += [(name, (*path, "running", name)) for name in gold.running]
    seen = dict.fromkeys(WINDOW, "a column of the window") if gold.window else {}
    for name, place in places:
        if name.lower() in seen:
            report.add(
                place, name, f"the name {name!r} is already {seen[name.lower()]}", "choose another name"
            )
        is_computed = "measures" in place or "running" in place
        seen.setdefault(name.lower(), "a measure" if is_computed else "in group_by")


def _check_window(gold: Gold, silver: Silver, known: dict[str, str], path: Path, report: Report) -> None:
    window = gold.window
    assert window is not None
    if (
        window.slide is not None
        and window.size
        and parse_duration(window.slide) > parse_duration(window.size)
    ):
        message = (
            f"the slide of {window.slide} is longer than the size of {window.size}: rows between windows"
            " would be in none"
        )
        report.add((*path, "window", "slide"), window.slide, message, "make it at most the size")
    if window.column is None:
        if silver.event_time is None:
            hint = "add column: <timestamp column>, or event_time to the silver table"
            report.add(
                (*path, "window"),
                gold.from_,
                f"the window has no column, and {gold.from_} has no event time",
                hint,
            )
        return
    place = (*path, "window", "column")
    if report.require(place, window.column, _plain(known), "column") and known[window.column] not in (
        "timestamp",
        ANY,
    ):
        message = f"the column {window.column!r} is {known[window.column]}, not timestamp"
        report.add(place, window.column, message, "use a timestamp column")


def _check_inputs(
    pipeline: Pipeline,
    name: str,
    gold: Gold,
    others: Collection[str],
    conf: FilePath,
    path: Path,
    report: Report,
) -> None:
    readable = [
        table for table in table_names(pipeline) if not TableName(table).is_bronze and table != f"gold.{name}"
    ]
    for index, table in enumerate(gold.inputs):
        if not is_unloaded(table, pipeline, conf):
            report.require((*path, "inputs", index), table, [*readable, *others], "table to read called")


def _check_function(gold: Gold, python: str, conf: FilePath, path: Path, report: Report) -> None:
    """The function must stand in the file, with one parameter for each input; the file is read, not run."""
    file, _, function = python.partition(":")
    module = read_module(python, conf, (*path, "python"), report)
    if module is None:
        return
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    if report.require((*path, "python"), function, list(functions), f"function in conf/{file} called"):
        _check_parameters(gold, functions[function], conf / file, path, report)


def _check_parameters(
    gold: Gold, function: ast.FunctionDef, file: FilePath, path: Path, report: Report
) -> None:
    parameters = [*function.args.posonlyargs, *function.args.args]
    needed = len(parameters) - len(function.args.defaults)
    fits = (
        needed <= len(gold.inputs) <= (len(parameters) if function.args.vararg is None else len(gold.inputs))
    )
    by_name = zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
    required_by_name = [parameter.arg for parameter, default in by_name if default is None]
    if gold.inputs and (not fits or required_by_name):
        names = [parameter.arg for parameter in parameters] + required_by_name
        takes = f"{function.name}({', '.join(names)}) takes {count(len(names), 'parameter')}"
        message = f"{takes}, but 'inputs' names {count(len(gold.inputs), 'table')}"
        hint = f"name one table for each parameter, or change {file.name}, line {function.lineno}"
        report.add((*path, "inputs"), gold.inputs, message, hint)
