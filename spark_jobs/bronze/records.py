"""The records of one landed file, read where the task runs. What leaves: Arrow batches of (line, record, problem), one row per record.

A record that cannot be told apart from its neighbours (a CSV row of the wrong width, a line that is not UTF-8) keeps its text and
gets a problem. A file that cannot be read gives one row at line 0 with its problem, and none of its records.
"""

import csv
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import ExitStack
from io import BufferedReader

import pyarrow as pa

from spark_jobs.bronze.arrived import ArrivedFile, ReadingBroken, UnreadableFile, check_unchanged
from spark_jobs.bronze.batches import make_batch, make_batches
from spark_jobs.bronze.lines import read_blocks, read_lines
from spark_jobs.bronze.parquet import parquet_batches, read_parquet
from spark_jobs.bronze.sheets import check_sheet, read_sheet
from spark_jobs.landing.content import open_landed

UNREADABLE = (OSError, EOFError, zlib.error, csv.Error, UnreadableFile, pa.ArrowException)


def read_records(file: ArrivedFile, file_format: str, delimiter: str) -> Iterator[pa.RecordBatch]:
    """All records of the file, or its problem: what may fail is read to its end once before the first record is handed on."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_landed(file.path))
            check_unchanged(opened, file, file_format)
            _read_through(opened, file, file_format, delimiter)
        except UNREADABLE as error:
            yield make_batch([(0, None, f"{type(error).__name__}: {_first_line(error)}")])
            return
        try:
            yield from _read_batches(opened, file, file_format, delimiter)
            check_unchanged(opened, file, file_format)
        except UNREADABLE as error:  # records are handed on already: their batch must not be written
            raise ReadingBroken(file.path, f"{type(error).__name__}: {_first_line(error)}") from error


def _read_through(opened: BufferedReader, file: ArrivedFile, file_format: str, delimiter: str) -> None:
    """Plain lines cannot fail; a compressed file may be cut anywhere."""
    if file_format == "parquet":
        deque(parquet_batches(opened), maxlen=0)
    elif file_format == "csv":
        check_sheet(opened, file, delimiter)
    elif file.is_packed:
        deque(read_blocks(opened, file), maxlen=0)


def _read_batches(opened: BufferedReader, file: ArrivedFile, file_format: str, delimiter: str) -> Iterator[pa.RecordBatch]:
    if file_format == "parquet":
        return make_batches(read_parquet(opened))
    if file_format == "csv":
        return make_batches(read_sheet(opened, file, delimiter))
    return read_lines(opened, file)


def _first_line(error: BaseException) -> str:
    """Without the path, which differs between machines and is in the row already."""
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return said.splitlines()[0][:300] if said else "no further word"
