"""Messages on a topic: one per change, by key, in the order of the batches. A delete is a message without a value.

Spark's writer may send a message twice when a task or a run is done again. Every message therefore says in its headers which batch, version
and row it is: a consumer that has seen the pair (weir.batch, weir.row) has seen the message.
"""

from collections.abc import Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.config.sinks import KafkaSink
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import kept, writing
from spark_jobs.sinks.changes import DELETE, JSON, OPERATION, ROW_ID, VERSION
from spark_jobs.sinks.delivery import Delivery


def deliver_kafka(delivery: Delivery, sink: KafkaSink, settings: Mapping[str, str]) -> tuple[Counts, int | None]:
    """Send the batch. What must hold of it is asked before the first message leaves."""
    with kept(delivery.rows) as rows:
        counts = delivery.counts(rows.count())
        delivery.refuse_deletes(counts)
        key = list(sink.key or delivery.key or ())
        messages = rows.select(
            _key(key).alias("key") if key else F.lit(None).cast("string").alias("key"),
            _value(delivery, sink).alias("value"),
            _headers(delivery).alias("headers"),
        )
        options = {f"kafka.{name}": value for name, value in {**sink.options, **settings}.items()}
        with writing(delivery.batch.table, delivery.batch):
            writer = messages.write.format("kafka").option("kafka.bootstrap.servers", sink.servers).option("topic", sink.topic)
            writer.options(**options).option("includeHeaders", "true").save()
    return counts, delivery.tally.version


def _key(columns: Sequence[str]) -> Column:
    """The value itself as text; several as a JSON object."""
    return F.col(columns[0]).cast("string") if len(columns) == 1 else F.to_json(F.struct(*columns), JSON)


def _value(delivery: Delivery, sink: KafkaSink) -> Column:
    operation = [F.col(OPERATION).alias(sink.operation)] if sink.operation else []
    value = F.to_json(F.struct(*delivery.columns, *operation), JSON)
    return value if sink.operation else F.when(F.col(OPERATION) != DELETE, value)


def _headers(delivery: Delivery) -> Column:
    told = delivery.told
    said = {
        "weir.table": F.lit(f"{told.pipeline}.{told.table}"),
        "weir.batch": F.lit(told.id),
        "weir.version": F.col(VERSION).cast("string"),
        "weir.row": F.col(ROW_ID),
        "weir.operation": F.col(OPERATION),
    }
    return F.array(*(F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in said.items()))
