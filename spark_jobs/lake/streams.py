"""Structured Streaming over Delta tables: one availableNow query per table, its progress in the table's checkpoint."""

import json
from collections.abc import Callable
from typing import Any

from pyspark.errors import AnalysisException, StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake.checkpoints import check_checkpoint, last_commit, next_watermark
from spark_jobs.lake.failpoints import reach

MOST_FILES = 2**31 - 1
"""Without it Delta takes 1,000 files at a time."""


def read_rows(spark: SparkSession, path: str, files_per_batch: int | None = None) -> DataFrame:
    """New rows of an append-only table."""
    reader = spark.readStream.format("delta")
    return (reader.option("maxFilesPerTrigger", files_per_batch) if files_per_batch else reader).load(path)


def read_all_rows(spark: SparkSession, path: str) -> DataFrame:
    """New rows of an append-only table, all that are there as one batch: a stateful query must not see a part of a commit."""
    return read_rows(spark, path, files_per_batch=MOST_FILES)


def read_changes(spark: SparkSession, path: str, starting_version: int) -> DataFrame:
    """Inserts, updates (old and new image) and deletes from this version on."""
    return spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", starting_version).load(path)


def come_to(spark: SparkSession, checkpoint: str) -> int:
    """How far a query has come: the watermark of its next batch, in milliseconds."""
    if "://" not in checkpoint:
        return next_watermark(last_commit(checkpoint))
    try:
        commits = spark.read.text(f"{checkpoint}/commits", wholetext=True).select("value", "_metadata.file_name").collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return 0
    return next_watermark(max(commits, key=lambda row: int(row["file_name"]))["value"] if commits else None)


def run_stream(
    rows: DataFrame, table: str, checkpoint: str, last_done: int | None, handle: Callable[[DataFrame, int], None]
) -> list[dict[str, Any]]:
    """Hand every micro-batch that is there to `handle`, in order, until there is none left; gives what Spark says of each.

    `last_done` is the last batch that the ledger knows: a checkpoint that counts from before it would have its batches taken for done.
    """
    check_checkpoint(table, checkpoint, last_done)
    causes: list[BaseException] = []

    def call(batch: DataFrame, number: int) -> None:
        try:
            handle(batch, number)
        except BaseException as error:  # Spark keeps only its text: keep the error itself for the caller
            causes.append(error)
            raise

    query = rows.writeStream.foreachBatch(call).option("checkpointLocation", checkpoint).trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    except StreamingQueryException as error:
        raise (causes[0] if causes else error) from None
    reach("checkpoint.after", table)
    return [json.loads(progress.json) for progress in query.recentProgress]
