"""Messages on a topic: one per change, by key, in the order of the batches. A delete is a message without a
value.

Spark's writer may send a message twice when a task or a run is done again. Every message therefore says in
its headers which batch, version and row it is: a consumer that has seen the pair (weir.batch, weir.row) has
seen the message.
"""

import re
from collections.abc import Mapping, Sequence

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.connections import mend_login
from spark_jobs.config.sinks import KafkaSink
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.kept import kept
from spark_jobs.lake.tables import writing
from spark_jobs.sinks.changes import DELETE, JSON, OPERATION, ROW_ID, VERSION
from spark_jobs.sinks.delivery import Delivery, SinkBatch

CAUSED_BY_KAFKA = "Caused by: org.apache.kafka."
LOGIN = re.compile(r"\w*(Authentication|Authorization|Config|Kafka)Exception\b")
"""Errors of Kafka's producer that are about its settings, not about the broker."""


class NotSent(Exception):
    """The messages of a batch cannot be sent, and the next run sends them: topic, servers, and what Kafka
    said.
    """

    def __init__(self, sink: KafkaSink, said: str) -> None:
        self.topic, self.servers, self.said = sink.topic, sink.servers, said
        way_out = (
            mend_login(sink.connection)
            if LOGIN.match(said)
            else "start the broker, or correct `servers` and `topic`"
        )
        super().__init__(
            f"messages cannot be sent to topic {sink.topic!r} at {sink.servers}: {said}; {way_out}"
        )


def deliver_kafka(
    delivery: Delivery, sink: KafkaSink, settings: Mapping[str, str]
) -> tuple[Counts, int | None]:
    """Send the batch. What must hold of it is asked before the first message leaves."""
    with kept(delivery.rows) as rows:
        counts = delivery.counts(rows.count())
        delivery.refuse_deletes(counts)
        if delivery.has_nothing(counts):
            return counts, delivery.tally.version
        options = {f"kafka.{name}": value for name, value in {**sink.options, **settings}.items()}
        with writing(delivery.batch.table, delivery.batch):
            messages = as_messages(
                rows, delivery.told, delivery.columns, sink.key or delivery.key or (), sink.operation
            )
            writer = (
                messages.write.format("kafka")
                .option("kafka.bootstrap.servers", sink.servers)
                .option("topic", sink.topic)
            )
            try:
                writer.options(**options).option("includeHeaders", "true").save()
            except Py4JJavaError as error:
                raise _explain(sink, error) from error
    return counts, delivery.tally.version


def as_messages(
    changes: DataFrame,
    told: SinkBatch,
    columns: Sequence[str],
    key: Sequence[str],
    operation_column: str | None,
) -> DataFrame:
    """Key, value and headers of each change. The key is the value itself as text, several
    are a JSON object.
    """
    operation = [F.col(OPERATION).alias(operation_column)] if operation_column else []
    value = F.to_json(F.struct(*columns, *operation), JSON)
    keys = (
        F.col(key[0]).cast("string")
        if len(key) == 1
        else F.to_json(F.struct(*key), JSON)
        if key
        else F.lit(None).cast("string")
    )
    headers = {
        "weir.table": F.lit(f"{told.pipeline}.{told.table}"),
        "weir.batch": F.lit(told.id),
        "weir.version": F.col(VERSION).cast("string"),
        "weir.row": F.col(ROW_ID),
        "weir.operation": F.col(OPERATION),
    }
    pairs = [
        F.struct(F.lit(name).alias("key"), said.cast("binary").alias("value"))
        for name, said in headers.items()
    ]
    return changes.select(
        keys.alias("key"),
        (value if operation_column else F.when(F.col(OPERATION) != DELETE, value)).alias("value"),
        F.array(*pairs).alias("headers"),
    )


def _explain(sink: KafkaSink, error: Py4JJavaError) -> Exception:
    """In words for a person, where it was Kafka; an error of Spark's own stays as it is."""
    causes = [line for line in str(error).splitlines() if line.startswith(CAUSED_BY_KAFKA)]
    return NotSent(sink, re.sub(r"^Caused by: [\w.]+\.", "", causes[-1])[:200]) if causes else error
