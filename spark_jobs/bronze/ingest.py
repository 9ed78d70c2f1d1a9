"""From arrivals to bronze. What enters: a chunk of arrivals, one row per file. What leaves: one bronze row per record of those files."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.bronze.records import read_records
from spark_jobs.config.pipeline import Source

BRONZE_DDL = (
    "record string, _file string, _file_id string, _line bigint, _file_modified_at timestamp, "
    "_arrived_at timestamp, _chunk bigint, _problem string"
)
ARRIVAL_COLUMNS = ("path", "file_id", "modified_at", "arrived_at", "chunk")
READ_BY_DRIVER = 4 * 1024 * 1024
"""Chunks of up to so many bytes are read by the driver: starting Python workers would take longer than the reading."""
TASKS_PER_CORE = 2

_TIME = pa.timestamp("us", "UTC")


def read_chunk(arrivals: DataFrame, source: Source, landing: str) -> DataFrame:
    """The bronze rows of the chunk's files. Files are read in parallel, each by one task, in blocks."""
    spark = arrivals.sparkSession
    taken = arrivals.where(F.col("verdict") == "taken").select(*ARRIVAL_COLUMNS, "size")
    sizes = [row["size"] for row in taken.select("size").collect()]
    read = _file_reader(landing, source.format, source.delimiter)
    if sum(sizes) <= READ_BY_DRIVER:
        return spark.createDataFrame(pa.Table.from_batches(read([taken.toArrow()]), schema=_BRONZE)).coalesce(1)
    tasks = min(len(sizes), spark.sparkContext.defaultParallelism * TASKS_PER_CORE)
    return taken.repartition(tasks).mapInArrow(read, BRONZE_DDL)


def _file_reader(landing: str, file_format: str, delimiter: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for file in batch.to_pylist():
                for records in read_records(f"{landing}/{file['path']}", file_format, delimiter):
                    yield _bronze_rows(file, records)

    return read


_BRONZE = pa.schema(
    [("record", pa.string()), ("_file", pa.string()), ("_file_id", pa.string()), ("_line", pa.int64()), ("_file_modified_at", _TIME),
     ("_arrived_at", _TIME), ("_chunk", pa.int64()), ("_problem", pa.string())]
)  # fmt: skip


def _bronze_rows(file: Mapping[str, Any], records: pa.RecordBatch) -> pa.RecordBatch:
    line, record, problem = records.columns
    path, file_id, modified_at, arrived_at, chunk = (
        pa.repeat(pa.scalar(file[name], kind), len(records))
        for name, kind in zip(ARRIVAL_COLUMNS, (pa.string(), pa.string(), _TIME, _TIME, pa.int64()), strict=True)
    )
    return pa.RecordBatch.from_arrays([record, path, file_id, line, modified_at, arrived_at, chunk, problem], schema=_BRONZE)
