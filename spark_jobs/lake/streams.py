"""Structured Streaming over Delta tables: one availableNow query per table, its progress in the table's checkpoint."""

from collections.abc import Callable
from pathlib import Path

from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession


class CheckpointLost(Exception):
    """The ledger knows batches of a table whose checkpoint is gone: a new one would count from 0 and its batches be taken for done."""

    def __init__(self, table: str, checkpoint: str) -> None:
        self.table, self.checkpoint = table, checkpoint
        super().__init__(
            f"{table}: its checkpoint {checkpoint} is gone, but its batches are in the ledger; restore the folder, or load into a new lake"
        )


def read_rows(spark: SparkSession, path: str, files_per_batch: int | None = None) -> DataFrame:
    """New rows of an append-only table."""
    reader = spark.readStream.format("delta")
    return (reader.option("maxFilesPerTrigger", files_per_batch) if files_per_batch else reader).load(path)


def read_changes(spark: SparkSession, path: str) -> DataFrame:
    """Inserts, updates (old and new image) and deletes since the table was made."""
    return spark.readStream.format("delta").option("readChangeFeed", "true").option("startingVersion", 0).load(path)


def run_stream(rows: DataFrame, table: str, checkpoint: str, has_batches: bool, handle: Callable[[DataFrame, int], None]) -> None:
    """Hand every micro-batch that is there to `handle`, in order, and return when there is none left."""
    if has_batches and not Path(checkpoint, "offsets").is_dir():
        raise CheckpointLost(table, checkpoint)
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
