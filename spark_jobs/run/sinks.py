"""The step of a sink: brings what its table has published since the last run to the other side.

A generation of a sink begins with one batch, from what was delivered before to the table as it stands: all of
it where nothing was, the difference of two versions after a rebuild of the table. The change feed of the
table follows, through a stream with the sink's own checkpoint. With mode: complete every batch is a version
of the table.
"""

from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.config.connections import read_connection
from spark_jobs.config.sensitive import sensitive_columns
from spark_jobs.config.sink_tables import delivered_columns, sink_key
from spark_jobs.config.sinks import (
    AnySink,
    ConsoleSink,
    FileSink,
    JdbcSink,
    KafkaSink,
    MemorySink,
    PythonSink,
)
from spark_jobs.lake import delta_log, streams, tables
from spark_jobs.lake.balance import BEGIN, COMPLETE, last_delivered
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.ledger_batches import AFTER
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch
from spark_jobs.run.context import Done, RunContext
from spark_jobs.sinks.changes import Tally, changed_images, net_changes, whole_images
from spark_jobs.sinks.delivery import Delivery
from spark_jobs.sinks.files import deliver_files
from spark_jobs.sinks.jdbc import deliver_jdbc
from spark_jobs.sinks.kafka import deliver_kafka
from spark_jobs.sinks.previews import deliver_console, deliver_memory
from spark_jobs.sinks.python import deliver_python

NOTHING_ELSE: tuple[str, ...] = ()
"""A batch reads no table at a version of its own, but is written down before it begins: by that the other
side knows it again.
"""
DELIVERS = "delivers"
"""Among the inputs of a batch of a whole table: its version. Not by the name of the table: one that was cut
needs that version no more.
"""
FEED = ("_change_type", "_commit_version", "_commit_timestamp")
"""What the change feed adds to the columns of a table."""


def run_sink(run: RunContext, name: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """Deliver what the table has published since."""
    node, sink = f"sink.{name}", run.pipeline.sinks[name]
    path = run.lake.table(sink.from_)
    if sink.mode == "complete":
        version = inputs[sink.from_]
        run.batch(
            node,
            COMPLETE,
            version,
            partial(_deliver_version, run, sink, version),
            NOTHING_ELSE,
            {DELIVERS: version},
        )
        return
    open_feed(run, sink.from_)
    generation = run.plan.generation(node)
    run.batch(node, BEGIN, 0, partial(_begin, run, sink), [sink.from_], {AFTER: consumed.get(sink.from_)})
    begun = run.order.ledger.intent((node, BEGIN, generation, 0))
    assert begun is not None
    if (delta_log.table_version(path) or 0) > begun.inputs[sink.from_]:
        changes = streams.read_changes(run.new_session(), path, begun.inputs[sink.from_] + 1)
        run.start(changes, node, {}, partial(_deliver_changes, run, sink), NOTHING_ELSE).wait()


def open_feed(run: RunContext, table: str) -> None:
    """Let a table that a sink reads keep its changes from now on. Tables of silver do so from their first
    version.
    """
    path = run.lake.table(table)
    if delta_log.table_version(path) is not None:
        run.order.lease.check()
        delta_log.keep_changes(path)


def has_sink(run: RunContext, table: str) -> bool:
    return any(sink.from_ == table for sink in run.pipeline.sinks.values())


def _begin(run: RunContext, sink: AnySink, batch: Batch) -> Done:
    spark, path, after = run.new_session(), run.lake.table(sink.from_), batch.inputs[AFTER]
    version = batch.inputs[sink.from_]
    now = tables.read(spark, path, version)
    columns = delivered_columns(run.pipeline, sink, now.columns)
    images = whole_images(now, columns, version, is_new=True)
    if after is not None:
        images = images.unionByName(
            whole_images(tables.read(spark, path, after), columns, after, is_new=False)
        )
    return _deliver(run, sink, batch, images, columns, is_whole=after is None)


def _deliver_version(run: RunContext, sink: AnySink, version: int, batch: Batch) -> Done:
    rows = tables.read(run.new_session(), run.lake.table(sink.from_), version)
    columns = delivered_columns(run.pipeline, sink, rows.columns)
    return _deliver(
        run, sink, batch, whole_images(rows, columns, version, is_new=True), columns, is_whole=True
    )


def _deliver_changes(run: RunContext, sink: AnySink, changes: DataFrame, batch: Batch) -> Done:
    columns = delivered_columns(run.pipeline, sink, [name for name in changes.columns if name not in FEED])
    return _deliver(run, sink, batch, changed_images(changes, columns), columns, is_whole=False)


def _deliver(
    run: RunContext, sink: AnySink, batch: Batch, images: DataFrame, columns: list[str], *, is_whole: bool
) -> Done:
    tally = Tally()
    key = sink_key(run.pipeline, sink) if sink.mode == "update" or sink.operation else None
    rows = net_changes(images, columns, key, tally)
    keys, lake_id = tuple(key) if key is not None else None, run.lake_id
    after = last_delivered(run.order.ledger, lake_id, batch.table)
    told = Delivery(
        batch, sink.from_, rows, tuple(columns), keys, sink.operation, is_whole, tally, lake_id, after
    )
    counts, version = _hand_over(run, sink, told)
    return counts, Seen(version=batch.inputs.get(sink.from_, batch.inputs.get(DELIVERS, version)))


def _hand_over(run: RunContext, sink: AnySink, delivery: Delivery) -> tuple[Counts, int | None]:
    project = run.order.project
    match sink:
        case FileSink():
            return deliver_files(delivery, sink, project.exports)
        case KafkaSink():
            settings = read_connection(project.root, sink.connection).settings if sink.connection else {}
            return deliver_kafka(delivery, sink, settings)
        case JdbcSink():
            return deliver_jdbc(
                delivery, sink, read_connection(project.root, sink.connection, needs_url=True)
            )
        case PythonSink():
            return deliver_python(delivery, sink, project.conf)
        case ConsoleSink():
            return deliver_console(
                delivery, sink, sensitive_columns(run.pipeline, sink.from_, project.conf), run.say
            )
        case MemorySink():
            return deliver_memory(delivery, sink)
