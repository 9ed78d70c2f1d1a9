"""Files of rows that say their own columns: Parquet and ORC, as Arrow batches of bounded size."""

from collections import deque
from collections.abc import Iterator
from io import SEEK_END, BufferedReader
from typing import Any

import pyarrow as pa

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.bronze.batches import ROWS_PER_BATCH
from spark_jobs.bronze.footers import check_one_orc, check_one_parquet, read_columns
from spark_jobs.config.text import count

VALUES_PER_BATCH = 4_000_000
BYTES_PER_READ = 64 * 1024 * 1024
ORC_ROWS = 1_000
"""Arrow spells out what ORC's dictionaries have once: few rows at a time."""
MOST_VALUES, VALUES_PER_BYTE = 64_000_000, 100
"""A row with more values in a column than so many is not read, where the file is too small to hold them as
they are. Of Parquet nobody knows how the values of a column are spread over its rows: one may have nearly
all.
"""
BOTH_ENDS = (
    "INT96 times before 1678 or after 2262 beside others with nanoseconds, which no type holds; write"
    " microseconds"
)
TEXTS = ("STRING", "NONE", "JSON", "ENUM", "BSON")
FIXED = "FIXED_LEN_BYTE_ARRAY"


def parquet_batches(opened: BufferedReader, longest: int) -> Iterator[pa.RecordBatch]:
    """Texts stay in their dictionaries: a few kilobytes may hold a long one a million times. A list of a
    billion values is not read.
    """
    import pyarrow.parquet as pq  # only where a Parquet file is read: it takes a tenth of a second

    opened.seek(0)
    asked = pq.ParquetFile(opened, buffer_size=1024, pre_buffer=False)  # else it fetches columns as wholes
    columns = _columns(asked.schema)
    if not columns:  # asked for rows of none, Arrow's reader divides by zero, and ends the process
        if rows := asked.metadata.num_rows:
            raise UnreadableFile(f"it has {count(rows, 'row')} and no column")
        return
    texts = [column.path for column in columns if _is_text(column)]
    units = ("ns", "us") if any(column.physical_type == "INT96" for column in columns) else ("ns",)
    opened.seek(0)
    files = [
        pq.ParquetFile(
            opened,
            read_dictionary=texts,
            coerce_int96_timestamp_unit=unit,
            page_checksum_verification=True,  # Arrow passes over the checksums of pages if it is not asked
        )
        for unit in units
    ]
    metadata = files[0].metadata
    _check_rows(metadata.num_rows, opened.seek(0, SEEK_END))
    for number in range(metadata.num_row_groups):
        _check_group(asked, number, len(columns))
        rows = _rows_at_once(metadata.row_group(number), columns, longest)
        for found in zip(
            *(file.iter_batches(rows, row_groups=[number], use_threads=False) for file in files), strict=True
        ):
            yield found[0] if len(found) == 1 else _whole_times(*found)
    check_one_parquet(opened, metadata)


def _check_group(file: Any, number: int, columns: int) -> None:
    """Whatever is wrong with what the footer says of its columns, as an error of Arrow's reader, which is
    asked for no rows. Asked by pyarrow's metadata, which passes no error on (no `except +` at `ColumnChunk`
    in its libparquet.pxd, 26.0), a damaged footer or an encrypted column ends the process.
    """
    if (found := file.metadata.row_group(number).num_columns) != columns:
        raise UnreadableFile(f"it has {count(columns, 'column')}, and {found:,} in its row group {number:,}")
    deque(file.reader.iter_batches(0, [number], None, use_threads=False), maxlen=0)


def _whole_times(nanoseconds: pa.RecordBatch, microseconds: pa.RecordBatch) -> pa.RecordBatch:
    """One of two readings of the same rows: times of INT96 reach further than 64 bits of nanoseconds, from
    1678 to 2262, and Arrow would let the year 9999 come round as 1816 without a word.
    """
    try:
        microseconds.cast(nanoseconds.schema)
    except pa.ArrowInvalid:  # a time is beyond them: then microseconds must say all of the others
        if not microseconds.cast(nanoseconds.schema, safe=False).equals(nanoseconds):
            raise UnreadableFile(BOTH_ENDS) from None
        return microseconds
    return nanoseconds


def orc_batches(opened: BufferedReader) -> Iterator[pa.RecordBatch]:
    """As many rows at once as the footer lets expect; a file with a list of a billion values is not read."""
    import pyarrow.dataset as ds  # only where an ORC file is read
    from pyarrow import orc

    check_one_orc(opened)
    columns, size = read_columns(opened), opened.seek(0, SEEK_END)
    rows = max((column.values for column in columns[:1]), default=0)
    for column in columns:
        values = max(column.values, column.items)
        _check_spread(rows, values, values - rows if column.most_items is None else column.most_items, size)
    opened.seek(0)
    _check_rows(orc.ORCFile(opened).nrows, size)
    opened.seek(0)
    fragment = ds.OrcFileFormat().make_fragment(opened)
    values, texts = (
        sum(column.values + column.items for column in columns),
        sum(column.text_bytes for column in columns),
    )
    at_once = max(
        1,
        (
            min(ORC_ROWS, VALUES_PER_BATCH * rows // max(values, 1), BYTES_PER_READ * rows // max(texts, 1))
            if rows
            else ORC_ROWS
        ),
    )
    yield from fragment.to_batches(
        batch_size=at_once, batch_readahead=0, fragment_readahead=0, use_threads=False
    )


def _check_spread(rows: int, values: int, most: int, size: int) -> None:
    """UnreadableFile where a row may have more values of a column than memory should hold, and than the file
    could hold as they are.
    """
    if most > max(MOST_VALUES, size * VALUES_PER_BYTE):
        raise UnreadableFile(
            f"{count(rows, 'row')} with {values:,} values in a column, in {size:,} bytes: one row may have"
            f" {most:,} of them"
        )


def _check_rows(rows: int, size: int) -> None:
    """UnreadableFile where a few kilobytes say that they hold rows without end: all of them would be read."""
    if rows > max(MOST_VALUES, size * VALUES_PER_BYTE):
        raise UnreadableFile(f"it says that it has {count(rows, 'row')}, in {size:,} bytes")


def _columns(schema: Any) -> list[Any]:
    return [schema.column(index) for index in range(len(schema))]


def _is_text(column: Any) -> bool:
    return column.physical_type == "BYTE_ARRAY" and column.logical_type.type in TEXTS


def _rows_at_once(group: Any, columns: list[Any], longest: int) -> int:
    """As many as have a bounded number of values and bytes, on average. Values of fixed length are written
    out as often as they occur.
    """
    chunks = [group.column(index) for index in range(group.num_columns)]
    counts, rows = [chunk.num_values for chunk in chunks], max(group.num_rows, 1)
    if (values := max(counts, default=0)) > longest * rows:
        raise UnreadableFile(
            f"{count(rows, 'row')} with {values:,} values in a column: more of a row than bytes_per_record"
            f" allows: {longest:,}"
        )
    for chunk, number in zip(chunks, counts, strict=True):
        _check_spread(rows, number, number - rows + 1, chunk.total_compressed_size)
    fixed = sum(
        column.length * number
        for column, number in zip(columns, counts, strict=True)
        if column.physical_type == FIXED
    )
    by_values: int = VALUES_PER_BATCH * rows // max(sum(counts), 1)
    by_bytes: int = BYTES_PER_READ * rows // max(group.total_byte_size, fixed, 1)
    return max(1, min(ROWS_PER_BATCH, by_values, by_bytes))
