"""Structured Streaming over Delta tables: one availableNow query per table, its progress in the table's
checkpoint.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming.query import StreamingQuery

from spark_jobs.lake.checkpoints import Checkpoint, begun_batches, check_checkpoint, read_offset
from spark_jobs.lake.delta_log import only_grew
from spark_jobs.lake.failpoints import reach

MOST_FILES = 2**31 - 1
"""Without it Delta takes 1,000 files at a time."""
AVAILABLE_NOW: Mapping[str, Any] = {"availableNow": True}
"""A trigger, as DataStreamWriter.trigger takes it."""


DATA_FILE = "_data_file"
"""The column that says in which data file a row of a table of others stands: a batch has no other access to
it.
"""


@dataclass(frozen=True)
class Running:
    """A query at work on a table."""

    table: str
    query: StreamingQuery
    causes: list[BaseException]
    """What a batch raised: Spark keeps only its text."""
    explain: Callable[[BaseException], BaseException] = lambda error: error
    """Turns what the source itself raised into words for a person."""
    on_end: Callable[[list[dict[str, Any]]], None] = lambda said: None
    """Hears what Spark said of each batch."""

    def wait(self) -> list[dict[str, Any]]:
        """Until the query ends; gives what Spark says of each batch that is done, or raises what ended it."""
        try:
            self.query.awaitTermination()
        except StreamingQueryException as error:
            self.tell()
            raise self.explain(self.causes[0] if self.causes else error) from None
        reach("checkpoint.after", self.table)
        return self.tell()

    def tell(self) -> list[dict[str, Any]]:
        """Say how the batches went that are done."""
        said = [json.loads(progress.json) for progress in self.query.recentProgress]
        self.on_end(said)
        return said


def read_rows(
    spark: SparkSession, path: str, files_per_batch: int | None = None, checkpoint: Checkpoint | None = None
) -> DataFrame:
    """New rows of an append-only table; those that are there already in the order of their commits where that
    can be had.

    Asked for a table without more, Delta gives it as of now first, in the order of its files' times, for
    which it rebuilds the table's state: four executions in the query's first run and once more in its second,
    in which it looks at its first batch again. `checkpoint` is that of the query.
    """
    reader = spark.readStream.format("delta")
    if checkpoint is not None and _starts_with_commits(path, checkpoint):
        reader = reader.option("startingVersion", 0)
    return (reader.option("maxFilesPerTrigger", files_per_batch) if files_per_batch else reader).load(path)


def _starts_with_commits(path: str, checkpoint: Checkpoint) -> bool:
    """Whether the query's first batch is, or may be, taken from the table's commits, from the first on.

    A first batch that was begun as a part of the table as it was then stays one. One that ends with a commit
    is the same rows either way.
    """
    begun = begun_batches(checkpoint)
    if begun and (max(begun) > 0 or read_offset(checkpoint, 0)["isStartingVersion"]):
        return False
    return only_grew(path)


def read_all_rows(spark: SparkSession, path: str, checkpoint: Checkpoint | None = None) -> DataFrame:
    """New rows of an append-only table, all that are there as one batch: for a query that must not see a part
    of a commit, or later ones before earlier ones.
    """
    return read_rows(spark, path, files_per_batch=MOST_FILES, checkpoint=checkpoint)


def read_table_of_others(spark: SparkSession, path: str, files: int, size: int | None) -> DataFrame:
    """New rows of a table that somebody else writes to, which may only be added to."""
    reader = spark.readStream.format("delta").option("maxFilesPerTrigger", files)
    rows = (reader.option("maxBytesPerTrigger", f"{size}b") if size else reader).load(path)
    return rows.select("*", F.input_file_name().alias(DATA_FILE))


def read_changes_of_others(spark: SparkSession, path: str, files: int, size: int | None) -> DataFrame:
    """What the table holds now, as inserts, and its changes from then on."""
    reader = (
        spark.readStream.format("delta").option("readChangeFeed", "true").option("maxFilesPerTrigger", files)
    )
    rows = (reader.option("maxBytesPerTrigger", f"{size}b") if size else reader).load(path)
    return rows.select("*", F.input_file_name().alias(DATA_FILE))


def read_changes(spark: SparkSession, path: str, starting_version: int) -> DataFrame:
    """Inserts, updates (old and new image) and deletes from this version on."""
    return (
        spark.readStream.format("delta")
        .option("readChangeFeed", "true")
        .option("startingVersion", starting_version)
        .load(path)
    )


def start_stream(
    rows: DataFrame,
    checkpoint: Checkpoint,
    last_done: int | None,
    handle: Callable[[DataFrame, int], None],
    trigger: Mapping[str, Any] = AVAILABLE_NOW,
) -> Running:
    """Start to hand micro-batches to `handle`, in order.

    `last_done` is the last batch that the ledger knows: a checkpoint that counts from before it would have
    its batches taken for done.
    """
    check_checkpoint(checkpoint, last_done)
    causes: list[BaseException] = []

    def call(batch: DataFrame, number: int) -> None:
        try:
            handle(batch, number)
        except BaseException as error:
            causes.append(error)
            raise

    query = (
        rows.writeStream.foreachBatch(call)
        .option("checkpointLocation", checkpoint.path)
        .trigger(**trigger)
        .start()
    )
    return Running(checkpoint.table, query, causes)
