"""From arrivals to bronze. What enters: a chunk of arrivals, one row per file. What leaves: one bronze row
per record of those files.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from spark_jobs.bronze.arrived import make_arrived
from spark_jobs.bronze.batches import ROWS_PER_BATCH
from spark_jobs.bronze.records import read_records
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.scan import scan_pieces

BRONZE_DDL = (
    "record string, _file string, _file_id string, _line bigint, _file_modified_at timestamp, "
    "_arrived_at timestamp, _chunk bigint, _problem string"
)
ARRIVAL_COLUMNS = ("path", "file_id", "modified_at", "arrived_at", "chunk")
"""What bronze rows keep of their file's arrival."""
READING_COLUMNS = ("size", "content_hash", "start_byte", "start_line")
"""What its reader needs to know besides."""
READ_BY_DRIVER = 4 * 1024 * 1024
"""Chunks of up to so many bytes are read by the driver: starting Python workers would take longer than the
reading.
"""
ROWS_OF_DRIVER = 4 * READ_BY_DRIVER
"""Of such a chunk the driver takes rows of so many bytes: a few kilobytes may hold millions of rows, and only
reading them tells.
"""
TASKS_PER_CORE = 2

_TIME = pa.timestamp("us", "UTC")


def read_by_tasks(
    arrivals: DataFrame, files: Sequence[Mapping[str, Any]], source: FileSource, landing: str
) -> DataFrame:
    """The bronze rows of a chunk; `files` are its arrivals, which are few. Files are read in parallel, each
    by one task, in blocks.
    """
    spark = arrivals.sparkSession

    def read_in_task(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        reach("read.before", source.path)
        for batch in batches:
            yield from _read_files(batch.to_pylist(), source, landing)

    tasks = min(len(files), spark.sparkContext.defaultParallelism * TASKS_PER_CORE)
    return (
        arrivals.select(*ARRIVAL_COLUMNS, *READING_COLUMNS)
        .repartition(tasks)
        .mapInArrow(read_in_task, BRONZE_DDL)
    )


def read_by_driver(files: Sequence[Mapping[str, Any]], source: FileSource, landing: str) -> pa.Table | None:
    """All bronze rows of the files where they are few; None where they are not, which may show only while
    they are read. ORC is left to tasks: who reads it makes a process first, and a driver has threads.
    """
    to_read = sum(file["size"] - (file["start_byte"] or 0) for file in files)
    if source.format == "orc" or to_read > READ_BY_DRIVER:
        return None
    batches, size = [], 0
    for batch in _read_files(files, source, landing):
        batches.append(batch)
        size += batch.nbytes
        if size > ROWS_OF_DRIVER:
            return None
    return pa.Table.from_batches(batches, schema=_BRONZE)


def _read_files(
    files: Iterable[Mapping[str, Any]], source: FileSource, landing: str
) -> Iterator[pa.RecordBatch]:
    for file in files:
        for records in read_records(make_arrived(file, landing), source):
            for start in range(0, len(records), ROWS_PER_BATCH):
                yield _bronze_rows(file, records.slice(start, ROWS_PER_BATCH))


_BRONZE = pa.schema(
    [("record", pa.string()), ("_file", pa.string()), ("_file_id", pa.string()), ("_line", pa.int64()),
     ("_file_modified_at", _TIME), ("_arrived_at", _TIME), ("_chunk", pa.int64()), ("_problem", pa.string())]
)  # fmt: skip


def _bronze_rows(file: Mapping[str, Any], records: pa.RecordBatch) -> pa.RecordBatch:
    line, record, problem = records.columns
    path, file_id, modified_at, arrived_at, chunk = (
        pa.repeat(pa.scalar(file[name], kind), len(records))
        for name, kind in zip(
            ARRIVAL_COLUMNS, (pa.string(), pa.string(), _TIME, _TIME, pa.int64()), strict=True
        )
    )
    return pa.RecordBatch.from_arrays(
        [record, path, file_id, line, modified_at, arrived_at, chunk, problem], schema=_BRONZE
    )


# Files of a batch that brought no record to bronze. What enters: the files, and the bronze rows of their
# chunks.


ASKED = ["_file_id", "_line", "_problem"]


ROWS_AT_ONCE = 65_536


File = Mapping[str, Any]


"""A row of the arrivals."""


Barren = tuple[list[tuple[str, str]], list[str]]


"""Paths that cannot be read, each with its problem; and paths without a record."""


def barren_in(files: Sequence[File], rows: Iterable[pa.Table | pa.RecordBatch]) -> Barren:
    """By the rows of the batch: at line 0 stands the problem of a file that cannot be read, and of one
    without a record there is none. Rows without these columns are those of files that can be read.
    """
    seen: set[str] = set()
    problems: dict[str, str] = {}
    for piece in rows:
        seen.update(pc.unique(piece["_file_id"]).to_pylist())
        if "_problem" not in piece.schema.names:
            continue
        at_fault = piece.filter(pc.equal(piece["_line"], 0))
        problems.update(zip(at_fault["_file_id"].to_pylist(), at_fault["_problem"].to_pylist(), strict=True))
    unreadable = [(file["path"], problems[file["file_id"]]) for file in files if file["file_id"] in problems]
    return unreadable, [file["path"] for file in files if file["file_id"] not in seen]


def find_barren(
    bronze: str, files: Sequence[File], chunks: Collection[int], *, records: int, unreadable: int
) -> Barren:
    """The same from the table, by how many records and unreadable files the batch has brought to it. A file
    of any size may be without a record: one of XML whose rows have another tag, or of Parquet with many
    columns. The table is not read where one file has brought all there is.
    """
    import pyarrow.dataset as ds  # takes a third of a second

    if not unreadable and len(files) == 1:
        return [], [] if records else [files[0]["path"]]
    where, asked = ds.field("_chunk").isin(sorted(chunks)), ASKED if unreadable else ASKED[:1]
    return barren_in(files, scan_pieces(bronze, asked, ROWS_AT_ONCE, where, ["_chunk"]))
