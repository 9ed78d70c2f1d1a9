"""From arrivals to bronze. What enters: a chunk of arrivals, one row per file. What leaves: one bronze row per record of those files."""

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.bronze.records import read_records
from spark_jobs.config.pipeline import Source

BRONZE_DDL = (
    "record string, _file string, _file_id string, _line bigint, _file_modified_at timestamp, "
    "_arrived_at timestamp, _chunk bigint, _problem string"
)
TASKS_PER_CORE = 2


def read_chunk(arrivals: DataFrame, source: Source, landing: str) -> DataFrame:
    """The bronze rows of the chunk's files. Files are read in parallel, each by one task, in blocks."""
    files = arrivals.where(F.col("verdict") == "taken")
    tasks = min(files.count(), arrivals.sparkSession.sparkContext.defaultParallelism * TASKS_PER_CORE)
    read = _file_reader(landing, source.format, source.delimiter)
    records = files.repartition(max(tasks, 1)).select("path", "file_id").mapInArrow(read, "file_id string, line bigint, record string, problem string")
    return (
        records.join(F.broadcast(files), on="file_id", how="inner")
        .select(
            "record",
            F.col("path").alias("_file"),
            F.col("file_id").alias("_file_id"),
            F.col("line").alias("_line"),
            F.col("modified_at").alias("_file_modified_at"),
            F.col("arrived_at").alias("_arrived_at"),
            F.col("chunk").alias("_chunk"),
            F.col("problem").alias("_problem"),
        )
    )  # fmt: skip


def _file_reader(landing: str, file_format: str, delimiter: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                for records in read_records(f"{landing}/{file['path']}", file_format, delimiter):
                    file_ids = pa.repeat(pa.scalar(file["file_id"]), len(records))
                    yield pa.RecordBatch.from_arrays([file_ids, *records.columns], names=["file_id", *records.schema.names])

    return read
