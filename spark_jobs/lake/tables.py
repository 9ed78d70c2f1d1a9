"""Reads and writes of Delta tables by Spark. Every write carries its batch's transaction id, so that a repeated one is skipped."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark_jobs.lake import delta_log
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import GENERATION
from spark_jobs.lake.ledger import BatchId

APPEND_ONLY = {"delta.appendOnly": "true"}
RECORDS = {**APPEND_ONLY, "delta.dataSkippingStatsColumns": "_file_id,_line,_arrived_at,_chunk"}
"""Bronze: nobody looks for a record by the order of its text, so its least and greatest text is not worth the finding."""
CHANGE_FEED = {"delta.enableChangeDataFeed": "true"}


@dataclass(frozen=True)
class Batch:
    """One batch of one step of a table: what its writes are known by."""

    pipeline: str
    table: str
    step: str
    number: int
    run_id: str
    processed_at: datetime

    @property
    def batch_id(self) -> BatchId:
        return (self.table, self.step, GENERATION, self.number)

    @property
    def app_id(self) -> str:
        return f"weir/{self.pipeline}/{self.table}/{self.step}/g{GENERATION}"

    def note(self, counts: Counts) -> str:
        """What the publishing commit says of itself; after a crash the counts are read from here."""
        return json.dumps({"app_id": self.app_id, "batch": self.number, "run_id": self.run_id, "counts": counts.as_dict()})


def create(path: str, ddl: str, properties: dict[str, str]) -> None:
    delta_log.create_table(path, StructType.fromDDL(ddl).json(), properties)


def read(spark: SparkSession, path: str) -> DataFrame:
    """The newest version, pinned: later commits do not show in this frame."""
    version = delta_log.table_version(path)
    return spark.read.format("delta").option("versionAsOf", version).load(path)


def read_changes(spark: SparkSession, path: str, after: int, until: int) -> DataFrame:
    """The change feed of the versions (after, until]."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", after + 1).option("endingVersion", until).load(path)


def append(rows: DataFrame, path: str, batch: Batch, counts: Counts) -> None:
    writer = rows.write.format("delta").mode("append")
    writer.option("txnAppId", batch.app_id).option("txnVersion", batch.number).option("userMetadata", batch.note(counts)).save(path)


def replace(rows: DataFrame, path: str, where: str, batch: Batch, counts: Counts) -> None:
    """Put these rows in the place of those that match; a row that does not match is refused by Delta."""
    writer = rows.write.format("delta").mode("overwrite").option("replaceWhere", where)
    writer.option("txnAppId", batch.app_id).option("txnVersion", batch.number).option("userMetadata", batch.note(counts)).save(path)


def overwrite(rows: DataFrame, path: str) -> None:
    """Replace the whole table, its columns too. Needs no transaction id: a repeated one gives the same table."""
    rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)


@contextmanager
def merge_session(spark: SparkSession, batch: Batch, counts: Counts) -> Iterator[None]:
    """MERGE takes its transaction id from the session: the block's session must do nothing else meanwhile."""
    settings = {
        "spark.databricks.delta.write.txnAppId": batch.app_id,
        "spark.databricks.delta.write.txnVersion": str(batch.number),
        "spark.databricks.delta.commitInfo.userMetadata": batch.note(counts),
    }
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in settings:
            spark.conf.unset(name)


def target(spark: SparkSession, path: str) -> DeltaTable:
    return DeltaTable.forPath(spark, path).alias("old")
