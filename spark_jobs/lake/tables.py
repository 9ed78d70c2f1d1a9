"""Reads and writes of Delta tables by Spark. Every write carries its batch's transaction id, so that a repeated one is skipped."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from delta.tables import DeltaMergeBuilder, DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark_jobs.lake import delta_log
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.gate import Gate, OpenGate
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.ledger import BatchId

APPEND_ONLY = {"delta.appendOnly": "true"}
RECORDS = {**APPEND_ONLY, "delta.dataSkippingStatsColumns": "_file_id,_line,_arrived_at,_chunk"}
"""Bronze: nobody looks for a record by the order of its text, so its least and greatest text is not worth the finding."""
CHANGE_FEED = {"delta.enableChangeDataFeed": "true"}
CHANGEABLE: dict[str, str] = {}


class RowsMissing(Exception):
    """The classes of a batch do not add up to the rows that entered. Nothing of it was published."""

    def __init__(self, batch: "Batch", counts: Counts, what: str = "rows are not accounted for") -> None:
        self.batch, self.counts = batch, counts
        super().__init__(
            f"{batch.table} batch {batch.number} ({batch.step}): {counts.missing} of {counts.rows_in} {what}: {counts.as_dict()}"
        )


@dataclass(frozen=True)
class Batch:
    """One batch of one step of a table: what it reads, and what its writes are known by.

    `inputs` are the versions of the tables it reads, written down before its first write: done again after a crash, it reads the same.
    `gate` is asked before the first write.
    """

    lake: Lake
    lease: Lease
    table: str
    step: str
    generation: int
    number: int
    run_id: str
    processed_at: datetime
    inputs: Mapping[str, Any]
    gate: Gate = field(default_factory=OpenGate)

    @property
    def batch_id(self) -> BatchId:
        return (self.table, self.step, self.generation, self.number)

    @property
    def app_id(self) -> str:
        return f"weir/{self.lake.pipeline}/{self.table}/{self.step}/g{self.generation}"

    def check(self, counts: Counts) -> None:
        """RowsMissing unless every row that entered is in one of the classes: asked before anything is written."""
        if counts.missing:
            raise RowsMissing(self, counts)

    def has(self, name: str) -> bool:
        """Whether the table was there when the batch began."""
        return self.inputs[name] is not None

    def read(self, spark: SparkSession, name: str) -> DataFrame:
        """A table at the version of when the batch began."""
        return read(spark, self.lake.table(name), self.inputs[name])

    def note(self, counts: Counts) -> str:
        """What a commit says of itself, for a person who reads the table's history."""
        return json.dumps({"run_id": self.run_id, "step": self.step, "batch": self.number, **counts.as_dict()})


def create(path: str, ddl: str, properties: dict[str, str]) -> None:
    delta_log.create_table(path, StructType.fromDDL(ddl).json(), properties)


def read(spark: SparkSession, path: str, version: int | None = None) -> DataFrame:
    """A version, or the newest, pinned: later commits do not show in this frame."""
    pinned = delta_log.table_version(path) if version is None else version
    return spark.read.format("delta").option("versionAsOf", pinned).load(path)


def read_changes(spark: SparkSession, path: str, after: int, until: int) -> DataFrame:
    """The change feed of the versions (after, until]."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", after + 1).option("endingVersion", until).load(path)


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows are computed once for all that the block asks of them."""
    rows.persist()
    try:
        yield rows
    finally:
        rows.unpersist()


def append(rows: DataFrame, name: str, batch: Batch, counts: Counts) -> None:
    with writing(name, batch):
        writer = rows.write.format("delta").mode("append").option("userMetadata", batch.note(counts))
        writer.option("txnAppId", batch.app_id).option("txnVersion", batch.number).save(batch.lake.table(name))


def replace(rows: DataFrame, name: str, where: str, batch: Batch, counts: Counts) -> None:
    """Put these rows in the place of those that match; a row that does not match is refused by Delta."""
    with writing(name, batch):
        writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", where).option("userMetadata", batch.note(counts))
        writer.option("txnAppId", batch.app_id).option("txnVersion", batch.number).save(batch.lake.table(name))


def overwrite(rows: DataFrame, name: str, batch: Batch, counts: Counts) -> None:
    """Replace the whole table, its columns too. Needs no transaction id: a repeated one gives the same table."""
    with writing(name, batch):
        writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.option("userMetadata", batch.note(counts)).save(batch.lake.table(name))


@contextmanager
def merging(rows: DataFrame, name: str, same_row: str, batch: Batch, counts: Counts) -> Iterator[DeltaMergeBuilder]:
    """A MERGE of the rows (`new`) into the table (`old`), to be completed and executed in the block.

    MERGE takes its transaction id from the session, which must do nothing else meanwhile.
    """
    spark = rows.sparkSession
    settings = {
        "spark.databricks.delta.write.txnAppId": batch.app_id,
        "spark.databricks.delta.write.txnVersion": str(batch.number),
        "spark.databricks.delta.commitInfo.userMetadata": batch.note(counts),
    }
    with writing(name, batch):
        for setting, value in settings.items():
            spark.conf.set(setting, value)
        try:
            yield DeltaTable.forPath(spark, batch.lake.table(name)).alias("old").merge(rows.alias("new"), same_row)
        finally:
            for setting in settings:
                spark.conf.unset(setting)


@contextmanager
def writing(name: str, batch: Batch) -> Iterator[None]:
    """Around every write, of a table or of what a sink publishes: the lease is still held, and tests may fail it before and after."""
    reach("write.before", name, batch.step)
    batch.lease.check()
    yield
    reach("write.after", name, batch.step)
