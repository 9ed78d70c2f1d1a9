"""Reads and writes of Delta tables by Spark. Every write carries its batch's transaction id, so that a
repeated one is skipped.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from delta.tables import DeltaMergeBuilder, DeltaTable
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from spark_jobs.config.spark_settings import CUTS_PLANS
from spark_jobs.lake import delta_commit, delta_log
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.gate import Gate
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.ledger_batches import BatchId
from spark_jobs.lake.queries import nodes_of
from spark_jobs.lake.storage import is_remote
from spark_jobs.lake.upkeep import compact_small_files

if TYPE_CHECKING:
    import pyarrow as pa


APPEND_ONLY = {"delta.appendOnly": "true"}
RECORDS = {**APPEND_ONLY, "delta.dataSkippingStatsColumns": "_file_id,_line,_arrived_at,_chunk"}
"""Bronze: nobody looks for a record by the order of its text, so its least and greatest text is not worth the
finding.
"""
CHANGE_FEED = {"delta.enableChangeDataFeed": "true"}
CHANGEABLE: dict[str, str] = {}
COMPACT = "spark.databricks.delta.autoCompact.enabled"
FEW_ROWS, FEW_BYTES = 500, 8_000_000
"""So many rows, and so much of records in them, the driver holds with ease."""
PICKS = ("Filter", "Project", "SubqueryAlias", "Union")
"""The parts of a plan that give the same rows whenever theirs are the same: a join or an aggregate may take
them in another order.
"""


class RowsMissing(Exception):
    """The classes of a batch do not add up to the rows that entered. Nothing of it was published."""

    def __init__(self, batch: "Batch", counts: Counts, what: str = "rows are not accounted for") -> None:
        self.batch, self.counts = batch, counts
        super().__init__(
            f"{batch.table} batch {batch.number} ({batch.step}): {counts.missing} of {counts.rows_in} {what}:"
            f" {counts.as_dict()}"
        )


@dataclass(frozen=True)
class Batch:
    """One batch of one step of a table: what it reads, and what its writes are known by.

    `inputs` are the versions of the tables it reads, written down before its first write: done again after a
    crash, it reads the same. `gate` is asked before the first write.
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
    gate: Gate

    @property
    def batch_id(self) -> BatchId:
        return (self.table, self.step, self.generation, self.number)

    @property
    def app_id(self) -> str:
        return f"weir/{self.lake.pipeline}/{self.table}/{self.step}/g{self.generation}"

    def check(self, counts: Counts) -> None:
        """RowsMissing unless every row that entered is in one of the classes: asked before anything is
        written.
        """
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
        return json.dumps(
            {"run_id": self.run_id, "step": self.step, "batch": self.number, **counts.as_dict()}
        )


def has_standing_rows(batch: Batch, name: str) -> bool:
    """Whether readers see rows of this table now; while it is built beside, of the one that stands."""
    path = dataclasses.replace(batch.lake, staged=frozenset()).table(name)
    return delta_log.table_version(path) is not None and bool(delta_log.count_rows(path))


def create(path: str, ddl: str, properties: dict[str, str], guard: Callable[[], None]) -> None:
    """Create an empty table, or give one that is there the columns that it lacks. The guard raises where the
    lease is lost.
    """
    guard()
    delta_commit.create_table(path, StructType.fromDDL(ddl).json(), properties)


def read(spark: SparkSession, path: str, version: int | None = None) -> DataFrame:
    """A version, or the newest, pinned: later commits do not show in this frame.

    Of a small table the log tells the files, and Spark reads these. Asked by Delta, each query would begin
    with a job of its own that finds the files, after one per version that rebuilds the table's state.
    """
    if plain := delta_log.plain_files(path, version):
        return (
            spark.read.schema(StructType.fromJson(json.loads(plain.schema_json)))
            .format("parquet")
            .load(plain.files)
        )
    pinned = delta_log.table_version(path) if version is None else version
    return spark.read.format("delta").option("versionAsOf", pinned).load(path)


def read_changes(spark: SparkSession, path: str, after: int, until: int) -> DataFrame:
    """The change feed of the versions (after, until]."""
    reader = spark.read.format("delta").option("readChangeFeed", "true")
    return reader.option("startingVersion", after + 1).option("endingVersion", until).load(path)


def append(rows: DataFrame, name: str, batch: Batch, counts: Counts) -> None:
    with writing(name, batch):
        writer = rows.write.format("delta").mode("append").option("userMetadata", batch.note(counts))
        writer.option("txnAppId", batch.app_id).option("txnVersion", batch.number).save(
            batch.lake.table(name)
        )


def append_few(rows: DataFrame, count: int, longest: int, name: str, batch: Batch, counts: Counts) -> None:
    """Append rows, of which there are so many, with records of at most so many bytes. A few go by way of the
    driver, which takes one job; a write of Spark's takes two, and rebuilds the table's state for the
    transaction id.
    """
    if count > FEW_ROWS or count * longest > FEW_BYTES or is_remote(batch.lake.table(name)):
        append(rows, name, batch, counts)
    else:
        append_held(rows.toArrow(), rows.sparkSession, name, batch, counts)


def append_held(rows: "pa.Table", spark: SparkSession, name: str, batch: Batch, counts: Counts) -> None:
    """Append rows that the driver holds, without a question to Spark. Not on an object store, where each
    version that Spark did not write costs it a job.
    """
    path = batch.lake.table(name)
    if is_remote(path):
        append(spark.createDataFrame(rows).coalesce(1), name, batch, counts)
        return
    with writing_held(spark, name, batch):
        delta_commit.append_rows(path, rows, batch.app_id, batch.number, batch.note(counts))


def is_driver_enough(spark: SparkSession, path: str) -> bool:
    """Whether rows may be written by the driver: in a small run, on a file system."""
    return spark.conf.get(CUTS_PLANS, "false") == "true" and not is_remote(path)


def replace(rows: DataFrame, name: str, where: str, batch: Batch, counts: Counts) -> None:
    """Put these rows in the place of those that match; a row that does not match is refused by Delta."""
    with writing(name, batch):
        writer = (
            rows.write.format("delta")
            .mode("overwrite")
            .option("replaceWhere", where)
            .option("userMetadata", batch.note(counts))
        )
        writer.option("txnAppId", batch.app_id).option("txnVersion", batch.number).save(
            batch.lake.table(name)
        )


def overwrite(rows: DataFrame, name: str, batch: Batch, counts: Counts) -> None:
    """Replace the whole table, its columns too. Needs no transaction id: a repeated one
    gives the same table.
    """
    with writing(name, batch):
        writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
        writer.option("userMetadata", batch.note(counts)).save(batch.lake.table(name))


@contextmanager
def merging(
    rows: DataFrame, name: str, same_row: str, batch: Batch, counts: Counts
) -> Iterator[DeltaMergeBuilder]:
    """A MERGE of the rows (`new`) into the table (`old`), to be completed and executed in the block.

    MERGE takes its transaction id from the session, which must do nothing else meanwhile.
    """
    spark = rows.sparkSession
    settings = {
        "spark.databricks.delta.merge.materializeSource": "none" if is_fixed(rows) else "auto",
        "spark.databricks.delta.write.txnAppId": batch.app_id,
        "spark.databricks.delta.write.txnVersion": str(batch.number),
        "spark.databricks.delta.commitInfo.userMetadata": batch.note(counts),
    }
    with writing(name, batch):
        for setting, value in settings.items():
            spark.conf.set(setting, value)
        try:
            yield (
                DeltaTable.forPath(spark, batch.lake.table(name))
                .alias("old")
                .merge(rows.alias("new"), same_row)
            )
        finally:
            for setting in settings:
                spark.conf.unset(setting)


def is_fixed(rows: DataFrame) -> bool:
    """Whether the rows were computed already and come out the same however often they are read: a local
    relation or a checkpoint, of which columns and rows are picked.

    MERGE reads its source twice. Unless that is a Delta table it keeps a copy of it first, which such rows do
    not need.
    """
    plan = rows._jdf.queryExecution().withCachedData()
    return bool(plan.deterministic()) and all(map(_is_kept_or_picked, nodes_of(plan)))


def _is_kept_or_picked(node: Any) -> bool:
    """Not so a cached frame: what was dropped of it is computed again, and MERGE refuses one that it may not
    copy.
    """
    name = node.nodeName()
    return (
        name in PICKS or name == "LocalRelation" or bool(name == "LogicalRDD" and node.rdd().isCheckpointed())
    )


@contextmanager
def writing(name: str, batch: Batch) -> Iterator[None]:
    """Around every write, of a table or of what a sink publishes: the lease is still held, and tests may fail
    it before and after.
    """
    reach("write.before", name, batch.step)
    batch.lease.check()
    yield
    reach("write.after", name, batch.step)


@contextmanager
def writing_held(spark: SparkSession, name: str, batch: Batch) -> Iterator[None]:
    """The same around a write by the driver, which puts small files together where Spark would after one of
    its own.
    """
    with writing(name, batch):
        yield
        if spark.conf.get(COMPACT, "false") == "true":
            batch.lease.check()
            compact_small_files(batch.lake.table(name))
