"""What every step of a run shares, and the frame of a batch: skip it if done, do it, check its sum, write its marker."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake import delta_log, streams
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.tables import Batch
from spark_jobs.run.order import RunOrder

STREAM = "stream"

Work = Callable[[DataFrame, Batch], Counts]
CountAgain = Callable[[DataFrame], Counts]


class RowsMissing(Exception):
    """The classes of a batch do not add up to the rows that entered."""

    def __init__(self, batch: Batch, counts: Counts) -> None:
        self.batch, self.counts = batch, counts
        lost = f"{counts.missing} of {counts.rows_in} rows are not accounted for"
        super().__init__(f"{batch.table} batch {batch.number}: {lost}: {counts.as_dict()}")


@dataclass(frozen=True)
class RunContext:
    """The run's order, its session, and whom to tell of finished batches."""

    order: RunOrder
    spark: SparkSession
    batch_settings: dict[str, str]
    on_batch: Callable[[Batch, Counts], None]

    @property
    def pipeline(self) -> Pipeline:
        return self.order.plan.pipeline

    @property
    def lake(self) -> Lake:
        return self.order.plan.lake

    def new_session(self, **settings: str) -> SparkSession:
        """A session of its own for one table: its settings and transaction ids concern no other."""
        session = self.spark.newSession()
        self.tune(session, settings)
        return session

    def tune(self, session: SparkSession, settings: dict[str, str]) -> None:
        for name, value in {**self.batch_settings, **settings}.items():
            session.conf.set(name, value)

    def stream(self, rows: DataFrame, table: str, settings: dict[str, str], work: Work, count_again: CountAgain | None = None) -> None:
        """Take the table's input, batch by batch, to its end. A batch may be empty: an OPTIMIZE of the input gives one."""

        def handle(frame: DataFrame, number: int) -> None:
            self.tune(frame.sparkSession, settings)
            self.batch(table, STREAM, number, partial(work, frame), partial(count_again, frame) if count_again else None)

        has_batches = self.order.ledger.has_any_batch(table, STREAM)
        streams.run_stream(rows, table, self.lake.checkpoint(table), has_batches, handle)

    def batch(
        self, table: str, step: str, number: int, work: Callable[[Batch], Counts], count_again: Callable[[], Counts] | None = None
    ) -> None:
        """Do a batch once. One that was published before a crash is not done again: its counts stand in its commit, or are counted anew."""
        started_at = datetime.now(UTC)
        batch = Batch(self.pipeline.name, table, step, number, self.order.run_id, processed_at=started_at)
        if self.order.ledger.has_batch(batch.batch_id):
            return
        path = self.lake.table(table)
        published = delta_log.find_published(path, batch.app_id, number)
        recorded = count_again or (lambda: published.counts if published else Counts())
        counts = recorded() if published else work(batch)
        if counts.missing and not table.startswith("gold."):
            raise RowsMissing(batch, counts)
        version = delta_log.table_version(path)
        self.order.ledger.write_batch(self.order.run_id, batch.batch_id, started_at, datetime.now(UTC), version, counts)
        self.on_batch(batch, counts)
