"""Checks of relays: what Spark's continuous processing can read, and expressions over one message."""

from spark_jobs.config.checks_columns import Path
from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.relays import FIELDS, Relay
from spark_jobs.config.report import Report
from spark_jobs.config.sources import KafkaSource

ALONE = ("sources", "dimensions", "silver", "gold", "sinks", "schedule")
KEYS = {"format", "servers", "topic", "connection", "rows_per_second"}
"""Of a source those that a relay heeds: it has no batches, and takes a value as text."""


def check_relays(pipeline: Pipeline, report: Report) -> None:
    for key in ALONE if pipeline.relays else ():
        if key in pipeline.model_fields_set:
            message = f"'{key}' is incompatible with 'relays': a relay is no table, and no run, gate or ledger knows it"
            report.add((key,), None, message, "give the relays a pipeline file of their own")
    for name, relay in pipeline.relays.items():
        _check_relay(relay, ("relays", name), report)


def _check_relay(relay: Relay, path: Path, report: Report) -> None:
    source = relay.from_
    if source.format not in FIELDS:
        message = f"format: {source.format} is incompatible with relays: Spark's continuous processing reads topics, and rows by the clock"
        hint = "write format: kafka or rate, or make tables of the source and run `weir stream` with --trigger as-fast-as-possible"
        report.add((*path, "from", "format"), source.format, message, hint)
        return
    for key in sorted(source.model_fields_set - KEYS):
        message = f"'{key.rstrip('_')}' is incompatible with relays: they have no batches, and take a value as text"
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
    if isinstance(source, KafkaSource) and (source.topic, source.servers) == (relay.to.topic, relay.to.servers):
        message = f"the relay reads and writes topic {source.topic!r}: each message would be sent again for ever"
        report.add((*path, "to", "topic"), source.topic, message, "send to another topic")
