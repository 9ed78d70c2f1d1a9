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
from spark_jobs.bronze.columnar import orc_batches, parquet_batches, read_avro
from spark_jobs.bronze.lines import read_lines, whole_line_blocks
from spark_jobs.bronze.objects import read_objects
from spark_jobs.bronze.sheets import check_sheet, read_sheet
from spark_jobs.bronze.xml import read_xml
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.storage import StorageFailed
from spark_jobs.landing.content import open_landed

UNREADABLE = (OSError, EOFError, zlib.error, csv.Error, UnreadableFile, pa.ArrowException)


def read_records(file: ArrivedFile, source: FileSource) -> Iterator[pa.RecordBatch]:
    """All records of the file, or its problem: what may fail is read to its end once before the first record is handed on."""
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_landed(file.path))
            check_unchanged(opened, file, source.format)
            _read_through(opened, file, source)
        except StorageFailed:  # it says nothing of the file: the batch is done again
            raise
        except UNREADABLE as error:
            yield make_batch([(0, None, f"{type(error).__name__}: {_first_line(error)}")])
            return
        try:
            yield from _read_batches(opened, file, source)
            check_unchanged(opened, file, source.format)
        except UNREADABLE as error:  # records are handed on already: their batch must not be written
            raise ReadingBroken(file.path, f"{type(error).__name__}: {_first_line(error)}") from error


def _read_through(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> None:
    """Plain lines cannot fail; a compressed file may be cut anywhere."""
    match source.format:
        case "parquet":
            deque(parquet_batches(opened), maxlen=0)
        case "orc":
            deque(orc_batches(opened), maxlen=0)
        case "csv":
            check_sheet(opened, file, source.delimiter)
        case "avro" | "xml":
            deque(_read_batches(opened, file, source), maxlen=0)
        case _ if file.is_packed:
            deque(whole_line_blocks(opened, file), maxlen=0)


def _read_batches(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> Iterator[pa.RecordBatch]:
    match source.format:
        case "parquet":
            return make_batches(read_objects(parquet_batches(opened)))
        case "orc":
            return make_batches(read_objects(orc_batches(opened)))
        case "avro":
            return make_batches(read_avro(opened))
        case "xml":
            lists = frozenset(tuple(path.split(".")) for path in source.lists)
            return make_batches(read_xml(opened, file, str(source.row_tag), lists))
        case "csv":
            return make_batches(read_sheet(opened, file, source.delimiter))
    return read_lines(opened, file)


def _first_line(error: BaseException) -> str:
    """Without the path, which differs between machines and is in the row already."""
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return said.splitlines()[0][:300] if said else "no further word"
