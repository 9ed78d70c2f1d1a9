"""Checks of what enters a pipeline: landing folders, streams and relays."""

from itertools import combinations
from pathlib import PurePosixPath

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.regexes import judge_line_regex
from spark_jobs.config.relays import FIELDS, Relay
from spark_jobs.config.sources import DeltaSource, FileSource, KafkaSource, SocketSource
from spark_jobs.config.validation import Report

# Checks of the landing folders of a pipeline.

KEYS_OF_FORMATS = {
    **dict.fromkeys(("delimiter", "header", "quote", "escape", "trailing_delimiter"), ("csv",)),
    **dict.fromkeys(("skip_lines", "comment"), ("csv", "text")),
    "fields": ("text",),
    "row_tag": ("xml",),
    "lists": ("xml",),
}
MARKS = ("delimiter", "quote", "escape", "comment")


def check_sources(pipeline: Pipeline, report: Report) -> None:
    """A file belongs to one source: no folder within another, unless both name their files by different
    patterns.
    """
    folders = {
        name: source
        for name, source in pipeline.sources.items()
        if isinstance(source, FileSource | DeltaSource)
    }
    for (name, source), (other_name, other) in combinations(folders.items(), 2):
        if _overlap(source, other):
            message = (
                f"the folder {other.path!r} and the folder {source.path!r} of source {name!r} contain the"
                " same files"
            )
            hint = (
                "give each source a folder of its own, or different patterns in one folder, as in orders-*"
                " and customers-*"
            )
            report.add(("sources", other_name, "path"), other.path, message, hint)
    for name, known in pipeline.sources.items():
        if isinstance(known, FileSource):
            _check_file_keys(name, known, report)
        elif isinstance(known, KafkaSource):
            _check_kafka_keys(name, known, report)
        elif isinstance(known, SocketSource) and pipeline.schedule is not None:
            message = "a socket keeps nothing, so that a scheduled run would lose what is sent between runs"
            hint = (
                f"remove the schedule and run `weir stream {pipeline.name}`, or have the lines written to a"
                " topic or a file"
            )
            report.add(("schedule",), str(pipeline.schedule), message, hint)


def _check_file_keys(name: str, source: FileSource, report: Report) -> None:
    """Keys that belong to one format are refused elsewhere."""
    if "*" in source.path:
        folder, _, pattern = source.path.rpartition("/")
        hint = f"write path: {folder or '<folder>'} and pattern: '{pattern}'"
        report.add(
            ("sources", name, "path"),
            source.path,
            "'path' names a folder, and * is no part of its name",
            hint,
        )
    for key, belongs_to in KEYS_OF_FORMATS.items():
        if source.format not in belongs_to and key in source.model_fields_set:
            message = f"'{key}' is incompatible with format: {source.format}"
            report.add(
                ("sources", name, key),
                getattr(source, key),
                message,
                f"remove it, or use format: {' or '.join(belongs_to)}",
            )
    if source.format == "csv":
        _check_marks(name, source, report)
    if source.format == "xml" and source.row_tag is None:
        hint = "add the name of the element that is one record, as in row_tag: order"
        report.add(("sources", name), None, "the key 'row_tag' is missing", hint)
    if source.path_fields and source.path == ".":
        message = "'path_fields' says what is below a folder, and the source has none of its own"
        report.add(("sources", name, "path_fields"), source.path_fields, message, "name a folder as its path")
    if problem := judge_line_regex(source.path_fields) if source.path_fields else None:
        report.add(("sources", name, "path_fields"), source.path_fields, *problem)
    if problem := judge_line_regex(source.fields) if source.fields and source.format == "text" else None:
        report.add(("sources", name, "fields"), source.fields, *problem)


def _check_marks(name: str, source: FileSource, report: Report) -> None:
    """Each character of a CSV file has one meaning."""
    for first, second in combinations(MARKS, 2):
        mark = getattr(source, second)
        if mark is None or getattr(source, first) != mark:
            continue
        if (first, second) == ("quote", "escape"):
            hint = "remove 'escape': a quote that is written twice is one quote in any case"
        else:
            hint = f"name another character as {second!r}, or remove it"
        key = second if second in source.model_fields_set else first
        message = f"{mark!r} is the {second!r} of the source and its {first!r} as well"
        report.add(("sources", name, key), mark, message, hint)


def _check_kafka_keys(name: str, source: KafkaSource, report: Report) -> None:
    is_avro = source.value == "avro"
    for key in ("schema", "avro_framing"):
        if not is_avro and {"schema": "schema_"}.get(key, key) in source.model_fields_set:
            message = f"'{key}' is incompatible with value: {source.value}"
            report.add(("sources", name, key), key, message, "remove it, or use value: avro")
    if is_avro and source.schema_ is None:
        hint = "add the file below conf/ with the schema of the values, as in schema: schemas/order.avsc"
        report.add(("sources", name), None, "the key 'schema' is missing", hint)
    if is_avro and source.schema_ and not (report.root / "conf" / source.schema_).is_file():
        hint = "put the Avro schema there, as JSON"
        report.add(
            ("sources", name, "schema"), source.schema_, f"there is no file conf/{source.schema_}", hint
        )


def _overlap(one: FileSource | DeltaSource, other: FileSource | DeltaSource) -> bool:
    first, second = PurePosixPath(one.path), PurePosixPath(other.path)
    if not (first.is_relative_to(second) or second.is_relative_to(first)):
        return False
    patterns = [source.pattern if isinstance(source, FileSource) else "*" for source in (one, other)]
    return patterns[0] == patterns[1] or "*" in patterns


# Checks of relays: what Spark's continuous processing can read, and expressions over one message.

ALONE = ("sources", "dimensions", "silver", "gold", "sinks", "schedule")
KEYS = {"format", "servers", "topic", "connection", "rows_per_second"}
"""Of a source those that a relay heeds: it has no batches, and takes a value as text."""


def check_relays(pipeline: Pipeline, report: Report) -> None:
    for key in ALONE if pipeline.relays else ():
        if key in pipeline.model_fields_set:
            message = (
                f"'{key}' is incompatible with 'relays': a relay is no table, and no run, gate or ledger"
                " knows it"
            )
            report.add((key,), None, message, "give the relays a pipeline file of their own")
    for name, relay in pipeline.relays.items():
        _check_relay(relay, ("relays", name), report)


def _check_relay(relay: Relay, path: Path, report: Report) -> None:
    source = relay.from_
    if source.format not in FIELDS:
        message = (
            f"format: {source.format} is incompatible with relays: Spark's continuous processing reads"
            " topics, and rows by the clock"
        )
        hint = (
            "write format: kafka or rate, or make tables of the source and run `weir stream` with --trigger"
            " as-fast-as-possible"
        )
        report.add((*path, "from", "format"), source.format, message, hint)
        return
    for key in sorted(source.model_fields_set - KEYS):
        message = (
            f"'{key.rstrip('_')}' is incompatible with relays: they have no batches, and take a value as text"
        )
        report.add((*path, "from", key.rstrip("_")), None, message, "remove it")
    expressions: dict[Path, str] = {(*path, "columns", name): text for name, text in relay.columns.items()}
    if relay.where is not None:
        expressions[*path, "where"] = relay.where
    for place, text in expressions.items():
        for message, hint in judge_row_expression(text, FIELDS[source.format]):
            report.add(place, text, message, hint)
    if relay.to.key is not None and relay.to.key not in relay.columns:
        message = f"there is no column {relay.to.key!r}"
        report.add((*path, "to", "key"), relay.to.key, message, did_you_mean(relay.to.key, relay.columns))
    if isinstance(source, KafkaSource) and (source.topic, source.servers) == (
        relay.to.topic,
        relay.to.servers,
    ):
        message = (
            f"the relay reads and writes topic {source.topic!r}: each message would be sent again for ever"
        )
        report.add((*path, "to", "topic"), source.topic, message, "send to another topic")
