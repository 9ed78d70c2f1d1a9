"""Checks of sinks: the table is there, the mode can work for it and for this kind of sink, and two sinks do
not write to one place.
"""

import ast
from collections.abc import Mapping
from pathlib import Path as FilePath

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.checks.hooks import read_module
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.graph import table_names
from spark_jobs.config.loading import pipeline_file
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sink_tables import (
    delivered_columns,
    hidden_columns,
    known_columns,
    sink_key,
    table_key,
    why_rows_change,
)
from spark_jobs.config.sinks import (
    AnySink,
    FileSink,
    JdbcSink,
    KafkaSink,
    PythonSink,
    SystemColumns,
    declared_key,
)
from spark_jobs.config.table_name import TableName
from spark_jobs.config.types import is_complex
from spark_jobs.config.validation import Report

CANNOT = {
    ("files", "update"): (
        "a file cannot be changed in its middle",
        (
            "write mode: complete for the whole table each time, append with operation: <column> for the"
            " changes, or use to: jdbc"
        ),
    ),
    ("kafka", "complete"): (
        "a topic cannot be replaced as a whole",
        "write mode: update, by which the newest message of each key is the table",
    ),
    ("row", "complete"): (
        "a function that sees single rows cannot know where a new whole table begins",
        "write per: batch, or mode: update",
    ),
}
"""Which modes a kind of sink cannot have: why, and what to write instead."""
SECRET = ("password", "jaas", "secret", "token")


def check_sinks(pipeline: Pipeline, conf: FilePath, report: Report) -> None:
    """Every sink by itself; check_places looks at all of them together."""
    for name, sink in pipeline.sinks.items():
        path: Path = ("sinks", name)
        if _check_table(pipeline, sink, path, report):
            _check_mode(pipeline, sink, path, report)
            _check_columns(pipeline, sink, conf, path, report)
        if isinstance(sink, PythonSink):
            _check_function(sink, conf, path, report)
        if isinstance(sink, KafkaSink):
            _check_options(sink, path, report)
        if isinstance(sink, FileSink) and sink.formulas != "keep" and sink.format != "csv":
            message = (
                f"'formulas' is incompatible with format: {sink.format}: no spreadsheet takes its text for a"
                " formula"
            )
            report.add((*path, "formulas"), sink.formulas, message, "remove formulas, or use format: csv")


def check_places(pipelines: Mapping[str, Pipeline], conf: FilePath) -> list[Report]:
    """Sinks, of whatever pipelines, that write to one place."""
    taken: dict[str, str] = {}
    reports = []
    for pipeline in pipelines.values():
        report = Report(pipeline_file(conf.parent, pipeline.name), conf.parent)
        for name, sink in pipeline.sinks.items():
            place = _place(sink)
            other = next(
                (known for known in taken if place and (place.startswith(known) or known.startswith(place))),
                None,
            )
            if other is not None:
                message = (
                    f"{pipeline.name}.sinks.{name} and {taken[other]} write to the same place,"
                    f" {place.rstrip('/ ')}"
                )
                report.add(("sinks", name), place.rstrip("/ "), message, "give each a place of its own")
            elif place:
                taken[place] = f"{pipeline.name}.sinks.{name}"
        reports.append(report)
    return reports


def _place(sink: AnySink) -> str:
    """Ends with a mark, so that no place begins as another one does but for folders within one another."""
    match sink:
        case FileSink():
            return f"{sink.path}/"
        case KafkaSink():
            return f"topic {sink.topic} of {sink.servers} "
        case JdbcSink():
            return (
                f"table {sink.table if '.' in sink.table else f'public.{sink.table}'} of {sink.connection} "
            )
        case _:
            return ""


def _check_table(pipeline: Pipeline, sink: AnySink, path: Path, report: Report) -> bool:
    place = (*path, "from")
    readable = [table for table in table_names(pipeline) if not TableName(table).is_bronze]
    if TableName(sink.from_).is_bronze:
        message, hint = (
            "a sink reads what was published, and bronze holds raw records",
            did_you_mean(sink.from_, readable),
        )
        report.add(place, sink.from_, message, hint)
        return False
    if other_pipeline(sink.from_):
        message = f"{sink.from_} belongs to another pipeline, whose runs alone know when it has moved"
        report.add(
            place, sink.from_, message, f"declare the sink in conf/pipelines/{other_pipeline(sink.from_)}.yml"
        )
        return False
    return report.require(place, sink.from_, readable, "table")


def _check_mode(pipeline: Pipeline, sink: AnySink, path: Path, report: Report) -> None:
    place, mode = (*path, "mode"), sink.mode
    for kind in (sink.to, sink.per if isinstance(sink, PythonSink) else ""):
        if (kind, mode) in CANNOT:
            reason, way = CANNOT[kind, mode]
            report.add(place, mode, f"'mode: {mode}' is incompatible with {_kind(sink)}: {reason}", way)
            return
    changes, key = why_rows_change(pipeline, sink.from_), sink_key(pipeline, sink)
    if sink.operation is not None and mode != "append":
        message = f"'operation' is incompatible with mode: {mode}: only append writes every change as a row"
        report.add((*path, "operation"), sink.operation, message, "write mode: append, or remove operation")
    elif mode == "append" and sink.operation is None and changes:
        instead = [
            other
            for other in ("update", "complete")
            if (sink.to, other) not in CANNOT and (other != "update" or key)
        ]
        hint = (
            "add operation: <column>, which tells inserts, updates and deletes apart, or write mode:"
            f" {' or '.join(instead)}"
        )
        report.add(
            place,
            mode,
            f"'mode: append' is incompatible with {sink.from_}, whose rows change: {changes}",
            hint,
        )
    elif mode == "update" and key is None:
        way = "append" if not changes else "append with operation: <column>"
        message = (
            f"'mode: update' is incompatible with {sink.from_}, whose rows have no key: nothing says which"
            " row replaces which"
        )
        is_computed = TableName(sink.from_).is_gold
        hint = (
            f"add key: <columns that identify a row>, or write mode: {way}"
            if is_computed
            else f"write mode: {way}"
        )
        report.add(place, mode, message, hint)
    elif mode == "update":
        _check_key(pipeline, sink, path, report)


def _check_key(pipeline: Pipeline, sink: AnySink, path: Path, report: Report) -> None:
    """The key of an update is the table's own, where that is known."""
    known, given = table_key(pipeline, sink.from_), declared_key(sink)
    if (
        known is not None
        and given is not None
        and [name.lower() for name in given] != [name.lower() for name in known]
    ):
        message = (
            f"the key {', '.join(given)} is not that of {sink.from_},"
            f" {', '.join(known) or 'which has one row'}"
        )
        report.add((*path, "key"), given, message, "remove key, or write mode: append")
    if known == [] and isinstance(sink, KafkaSink):
        message = f"{sink.from_} has one row without a key, and a message needs one"
        report.add((*path, "mode"), sink.mode, message, "use another sink, or group the table by a column")


def _check_columns(pipeline: Pipeline, sink: AnySink, conf: FilePath, path: Path, report: Report) -> None:
    known, key = known_columns(pipeline, sink.from_), sink_key(pipeline, sink)
    delivered = delivered_columns(pipeline, sink, list(known or ()))
    if known is not None:
        plain = [name for name in known if not name.startswith("_")]
        for index, name in enumerate(sink.columns or ()):
            report.require((*path, "columns", index), name, plain, "column")
        for index, name in enumerate(declared_key(sink) or ()):
            report.require((*path, "key", index), name, plain, "column")
    listed = {name.lower() for name in delivered}
    if sink.columns is not None and sink.mode == "update":
        for name in (name for name in key or () if name.lower() not in listed and name not in SystemColumns):
            message = (
                f"the key column {name!r} is not among the columns: nothing would say which row replaces"
                " which"
            )
            report.add((*path, "columns"), sink.columns, message, f"add {name}")
    if sink.operation is not None and sink.operation.lower() in listed:
        report.add(
            (*path, "operation"),
            sink.operation,
            f"{sink.from_} has a column {sink.operation!r} already",
            "choose another name",
        )
    if isinstance(sink, FileSink) and sink.format == "csv":
        for name in (name for name in delivered if is_complex((known or {}).get(name, "string"))):
            message = f"the column {name!r} is {(known or {})[name]}, and a cell of csv holds no such value"
            report.add(
                (*path, "format"), sink.format, message, "use format: json or parquet, or name other columns"
            )
    if hidden := hidden_columns(pipeline, sink, conf):
        message = f"it would hand on values that are declared sensitive: {', '.join(hidden)}"
        report.add(
            path, hidden, message, "name the columns to deliver in columns, with these if that is meant"
        )


def _check_options(sink: KafkaSink, path: Path, report: Report) -> None:
    for option in sink.options:
        if any(word in option.lower() for word in SECRET):
            message = f"the option {option!r} is a secret, and pipeline files are none"
            report.add(
                (*path, "options"),
                option,
                message,
                "put it into the settings_file of a connection, and name that one",
            )
        elif option in (
            "bootstrap.servers",
            "acks",
            "enable.idempotence",
            "key.serializer",
            "value.serializer",
        ):
            report.add((*path, "options"), option, f"the option {option!r} is Weir's to set", "remove it")


def _check_function(sink: PythonSink, conf: FilePath, path: Path, report: Report) -> None:
    """The function must stand in the file, and take what it is called with; the file is read, not run."""
    file, _, name = sink.function.partition(":")
    place = (*path, "function")
    module = read_module(sink.function, conf, place, report)
    if module is None:
        return
    functions = {node.name: node for node in module.body if isinstance(node, ast.FunctionDef)}
    if not report.require(place, name, list(functions), f"function in conf/{file} called"):
        return
    arguments = functions[name].args
    given = [*arguments.posonlyargs, *arguments.args]
    needed = len(given) - len(arguments.defaults)
    if not (needed <= 2 <= (len(given) if arguments.vararg is None else 2)) or any(
        default is None for default in arguments.kw_defaults
    ):
        what = "a DataFrame and the batch" if sink.per == "batch" else "a row and the batch"
        message = (
            f"{name}({', '.join(argument.arg for argument in given)}) cannot be called with two arguments,"
            f" {what}"
        )
        report.add(place, sink.function, message, f"change conf/{file}, line {functions[name].lineno}")


def _kind(sink: AnySink) -> str:
    return (
        f"to: {sink.to}, per: {sink.per}"
        if isinstance(sink, PythonSink) and sink.per == "row"
        else f"to: {sink.to}"
    )
