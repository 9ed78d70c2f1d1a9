"""Queries of an always-on stream that never end: the bronze tables of sources that keep nothing, such as a
socket, and relays from topic to topic.
"""

import time
from dataclasses import replace
from datetime import timedelta
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.config import Project
from spark_jobs.config.connections import read_connection
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.relays import FIELDS, Relay
from spark_jobs.config.sources import KafkaSource
from spark_jobs.config.text import count
from spark_jobs.failure import first_line
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.streams import Running
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.landing.broker import read_ends
from spark_jobs.landing.streams import broker_settings
from spark_jobs.run.bronze import read_stream, start_bronze
from spark_jobs.run.context import RunContext
from spark_jobs.run.definitions import check_definitions, note_definitions
from spark_jobs.run.notices import Notices
from spark_jobs.run.order import new_order, note_run
from spark_jobs.run.plan import Plan
from spark_jobs.run.result import Start, Status
from spark_jobs.run.silver import LENIENT
from spark_jobs.session.settings import PER_BATCH
from spark_jobs.sinks.changes import JSON

AS_FAST_AS_POSSIBLE = {"processingTime": "0 seconds"}
LOOK_SECONDS = 0.05


class OpenQueries:
    """The open queries of a stream, as one run in the ledger."""

    def __init__(self, project: Project, profile: Profile, plan: Plan, lease: Lease, start: Start) -> None:
        check_definitions(plan)
        order = new_order(project, profile, plan, lease)
        known, _ = note_definitions(plan, order.run_id)
        self.order = replace(order, plan=known)
        self.batch_progress: list[dict[str, Any]] = []
        self.queries: list[Running] = []
        note_run(self.order, "started")
        try:
            with start(self.order, {}) as spark:  # the session of the stream: it stays
                self._open(spark)
        except Exception as error:
            self.end(Status.FAILED, first_line(error))
            raise

    def _open(self, spark: SparkSession) -> None:
        settings, ledger = {name: str(spark.conf.get(name)) for name in PER_BATCH}, self.order.ledger
        told = self.batch_progress.extend
        # of a query that never ends nobody waits for the end: `weir account` has it
        notices = Notices(self.order.plan.pipeline.name)
        context = RunContext(
            self.order,
            spark,
            settings,
            lambda batch, counts: None,
            told,
            lambda line: None,
            Verdicts(ledger),
            notices,
        )
        for name in self.order.plan.pipeline.live_sources:
            self.queries.append(start_bronze(context, name, AS_FAST_AS_POSSIBLE))

    def check(self) -> None:
        """Raise what has ended a query, if one has ended."""
        for running in self.queries:
            if not running.query.isActive:
                running.wait()

    def end(self, status: Status, message: str) -> None:
        """Close them, each after the batch at work."""
        for running in self.queries:
            while (
                running.query.isActive
                and running.query.status["isTriggerActive"]
                and running.query.status["isDataAvailable"]
            ):
                time.sleep(LOOK_SECONDS)
            running.query.stop()
            running.tell()
        if self.batch_progress:
            self.order.ledger.append("progress", self.batch_progress)
        note_run(self.order, "ended", status, message)


# The open queries of a stream with relays: Spark's continuous processing, from topic to topic, at least
# once, outside the tables.
#
# There are no batches: nothing is judged, counted or written to the ledger. How far a relay has come stands
# in its checkpoint in the lake.


class TooFewCores(Exception):
    """A relay holds one core for each partition that it reads, for as long as it runs; with fewer, some would
    never be read.
    """

    def __init__(self, needed: int, there: int) -> None:
        self.needed, self.there = needed, there
        super().__init__(
            f"the relays read {count(needed, 'partition')} and need as many cores, but Spark has {there}: set"
            f" `master: local[{needed}]` in the profile, run on a cluster, or give relays to several"
            " pipelines"
        )


class Relays:
    """What a stream keeps open: opened at once or not at all."""

    def __init__(
        self, project: Project, profile: Profile, plan: Plan, lease: Lease, start: Start, every: timedelta
    ) -> None:
        self.project, self.plan, self.every = project, plan, every
        self.queries: list[StreamingQuery] = []
        needed = sum(self._partitions(relay) for relay in plan.pipeline.relays.values())
        # the session of the stream: it stays
        with start(new_order(project, profile, plan, lease), {}) as spark:
            if needed > spark.sparkContext.defaultParallelism:
                raise TooFewCores(needed, spark.sparkContext.defaultParallelism)
            try:
                for name, relay in plan.pipeline.relays.items():
                    self.queries.append(self._open(spark, name, relay))
            except BaseException:
                self.end(Status.FAILED, "")
                raise

    def _partitions(self, relay: Relay) -> int:
        """Asks the broker, so that one that is not there, or lets nobody in, is told of in words."""
        source = relay.from_
        return (
            len(read_ends(source, broker_settings(self.project, source)))
            if isinstance(source, KafkaSource)
            else 1
        )

    def _open(self, spark: SparkSession, name: str, relay: Relay) -> StreamingQuery:
        session = spark.newSession()
        # a value that is no number is NULL: one message must not stop the others
        for setting, value in LENIENT.items():
            session.conf.set(setting, value)
        to, topic = (
            relay.to,
            relay.from_.topic if isinstance(relay.from_, KafkaSource) else relay.from_.format,
        )
        secret = read_connection(self.project.root, to.connection).settings if to.connection else {}
        writer = relayed(read_stream(session, self.project, relay.from_), relay).writeStream.format("kafka")
        writer = writer.options(**{f"kafka.{name}": value for name, value in secret.items()})
        writer = writer.option("kafka.bootstrap.servers", to.servers).option("topic", to.topic)
        writer = writer.option("checkpointLocation", f"{self.plan.lake.checkpoints}/relay.{name}/{topic}")
        return writer.trigger(continuous=f"{self.every.total_seconds() * 1000:.0f} milliseconds").start()

    def check(self) -> None:
        """Raise what has ended a query, if one has ended."""
        for query in self.queries:
            if not query.isActive:
                query.awaitTermination()

    def end(self, status: Status, message: str) -> None:  # noqa: ARG002 - as of the session of tables
        """Close them. What was sent since the last checkpoint is sent again at the next start."""
        for query in self.queries:
            query.stop()


def relayed(messages: DataFrame, relay: Relay) -> DataFrame:
    """Key and value of what is sent: an object of the columns."""
    fields = {
        name: F.col(name).cast("string")
        if relay.from_.format == "kafka" and name in ("key", "value")
        else F.col(name)
        for name in FIELDS[relay.from_.format]
    }
    seen = messages.select(*(field.alias(name) for name, field in fields.items()))
    chosen = seen.where(relay.where) if relay.where else seen
    columns = chosen.select(*(F.expr(text).alias(name) for name, text in relay.columns.items()))
    key = F.col(relay.to.key).cast("string") if relay.to.key else F.lit(None).cast("string")
    return columns.select(key.alias("key"), F.to_json(F.struct(*relay.columns), JSON).alias("value"))
