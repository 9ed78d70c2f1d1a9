"""The records of one landed file, read where the task runs. What leaves: Arrow batches of (line, record,
problem), one row per record.

A record that cannot be told apart from its neighbours (a CSV row of the wrong width, a line that is not
UTF-8) keeps its text and gets a problem; one that is too long keeps only its place and its size. A file that
cannot be read gives one row at line 0 with its problem, and none of its records.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack
from io import BufferedReader

import pyarrow as pa

from spark_jobs.bronze.apart import try_apart
from spark_jobs.bronze.arrived import ArrivedFile, ReadingBroken, UnreadableFile, check_content, check_still
from spark_jobs.bronze.avro import KEY_TWICE, NO_TIME, read_avro
from spark_jobs.bronze.batches import KEYS_TWICE, NO_TIMES, TOO_LONG, Tally, make_batch, make_batches
from spark_jobs.bronze.columnar import orc_batches, parquet_batches
from spark_jobs.bronze.counting import count_records
from spark_jobs.bronze.lines import check_line_ends, check_lines, read_lines, read_start
from spark_jobs.bronze.objects import read_objects
from spark_jobs.bronze.recognise import check_beginning, check_text
from spark_jobs.bronze.sheets import check_sheet, read_sheet
from spark_jobs.bronze.xml import read_xml
from spark_jobs.config.sources import FileSource
from spark_jobs.lake.storage import StorageFailed, is_remote
from spark_jobs.landing.content import open_landed

TEXTS = ("json", "csv", "text")


def read_records(file: ArrivedFile, source: FileSource) -> Iterator[pa.RecordBatch]:
    """All records of the file, or its problem: what may fail is read to its end once before the first record
    is handed on.
    """
    is_handed_on = False
    with ExitStack() as stack:
        try:
            opened = stack.enter_context(open_landed(file.path, file.folder_of(source)))
            before = check_content(opened, file, source.format)
            _read_through(opened, file, source)
            counted, read = count_records(opened, file, source), 0
            for batch in _read_batches(opened, file, source):
                is_handed_on = True
                read += len(batch)
                yield batch
            if counted is not None:
                counted.check(read)
            check_still(opened, file, source.format, before)
        except (StorageFailed, MemoryError):  # it says nothing of the file: the batch is done again
            raise
        except (
            Exception
        ) as error:  # whatever a reader raises over the bytes of a file concerns that file alone
            problem = f"{type(error).__name__}: {_first_line(error)}"
            if is_handed_on:  # then none of its records may be written
                raise ReadingBroken(file.path, problem) from error
            yield make_batch([(0, None, problem)])


def _read_through(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> None:
    """UnreadableFile, or whatever its reader raises, where the file as a whole cannot be read."""
    longest = source.bytes_per_record
    if source.format in TEXTS:
        start = read_start(opened, file)
        check_text(start, source.delimiter if source.format == "csv" else "")
        if source.format == "text":
            check_line_ends(start)
    elif source.format == "xml":
        check_beginning(read_start(opened, file))
    match source.format:
        case "parquet" | "orc":
            if source.format == "orc" and not is_remote(file.path):
                try_apart(lambda: _try_reading(file, source))
            rows = _check_columns(_columnar_batches(opened, source))
            if (counted := count_records(opened, file, source)) is not None:
                counted.check(rows)
        case "csv":
            check_sheet(opened, file, source)
        case "json" | "text":
            check_lines(opened, file, longest, are_objects=source.format == "json")
        case _:
            _check_rows(_read_batches(opened, file, source))


def _try_reading(file: ArrivedFile, source: FileSource) -> None:
    """In another process, with a place of its own in the file."""
    with open_landed(file.path, file.folder_of(source)) as opened:
        _check_columns(_columnar_batches(opened, source))


def _check_columns(batches: Iterator[pa.RecordBatch]) -> int:
    """Read rows of Parquet or ORC to their end, and count them: where the footer says another number, the
    file is at fault. Their values are set aside one by one, but a column must have a name of its own.
    """
    rows = 0
    for batch in batches:
        rows += len(batch)
        if repeated := sorted(name for name, count in Counter(batch.schema.names).items() if count > 1):
            raise UnreadableFile(f"a column is there twice: {', '.join(repeated)[:200]}")
        for column in batch.schema:
            str(column)
    return rows


def _check_rows(batches: Iterator[pa.RecordBatch]) -> None:
    """Read rows of Avro or XML to their end; what may be wrong with one alone is its length, or in Avro a key
    that it has twice or a time of no year.
    """
    tally, of_avro = Tally(), {KEY_TWICE: KEYS_TWICE, NO_TIME: NO_TIMES}
    for batch in batches:
        lines, _, problems = batch.columns
        tally.total += len(batch)
        is_broken = problems.is_valid()
        for line, problem in zip(
            lines.filter(is_broken).to_pylist(), problems.filter(is_broken).to_pylist(), strict=True
        ):
            tally.add(of_avro.get(problem, TOO_LONG), line)
    tally.check()


def _read_batches(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> Iterator[pa.RecordBatch]:
    longest = source.bytes_per_record
    match source.format:
        case "parquet" | "orc":
            return make_batches(read_objects(_columnar_batches(opened, source), longest), longest)
        case "avro":
            return make_batches(read_avro(opened, longest), longest)
        case "xml":
            lists = frozenset(tuple(path.split(".")) for path in source.lists)
            return make_batches(read_xml(opened, file, str(source.row_tag), lists, longest), longest)
        case "csv":
            return make_batches(read_sheet(opened, file, source), longest)
    return read_lines(opened, file, longest)


def _columnar_batches(opened: BufferedReader, source: FileSource) -> Iterator[pa.RecordBatch]:
    return (
        parquet_batches(opened, source.bytes_per_record)
        if source.format == "parquet"
        else orc_batches(opened)
    )


def _first_line(error: BaseException) -> str:
    """Without the path, which differs between machines and is in the row already."""
    said = (error.strerror if isinstance(error, OSError) else None) or str(error)
    return said.splitlines()[0][:300] if said else "no message"
