"""Files of rows that say their own columns: Parquet and ORC, as Arrow batches of bounded size."""

from collections.abc import Iterator
from io import BufferedReader
from typing import Any

import pyarrow as pa

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.bronze.batches import ROWS_PER_BATCH

VALUES_PER_BATCH = 4_000_000
BYTES_PER_READ = 64 * 1024 * 1024
ORC_ROWS = 1_000
"""ORC has no footer per column, and spells out what its dictionaries have once: few rows at a time."""
BOTH_ENDS = "INT96 times before 1678 or after 2262 beside others with nanoseconds, which no type holds; write microseconds"
TEXTS = ("STRING", "NONE", "JSON", "ENUM", "BSON")


def parquet_batches(opened: BufferedReader, longest: int) -> Iterator[pa.RecordBatch]:
    """Texts stay in their dictionaries: a few kilobytes may hold a long one a million times. A list of a billion values is not read."""
    import pyarrow.parquet as pq  # only where a Parquet file is read: it takes a tenth of a second

    opened.seek(0)
    columns = _columns(pq.ParquetFile(opened).schema)
    texts = [column.path for column in columns if _is_text(column)]
    units = ("ns", "us") if any(column.physical_type == "INT96" for column in columns) else ("ns",)
    opened.seek(0)
    files = [pq.ParquetFile(opened, read_dictionary=texts, coerce_int96_timestamp_unit=unit) for unit in units]
    metadata = files[0].metadata
    for number in range(metadata.num_row_groups):
        rows = _rows_at_once(metadata.row_group(number), longest)
        for found in zip(*(file.iter_batches(rows, row_groups=[number], use_threads=False) for file in files), strict=True):
            yield found[0] if len(found) == 1 else _whole_times(*found)


def _whole_times(nanoseconds: pa.RecordBatch, microseconds: pa.RecordBatch) -> pa.RecordBatch:
    """One of two readings of the same rows: times of INT96 reach further than 64 bits of nanoseconds, from 1678 to 2262, and Arrow would
    let the year 9999 come round as 1816 without a word.
    """
    try:
        microseconds.cast(nanoseconds.schema)
    except pa.ArrowInvalid:  # a time is beyond them: then microseconds must say all of the others
        if not microseconds.cast(nanoseconds.schema, safe=False).equals(nanoseconds):
            raise UnreadableFile(BOTH_ENDS) from None
        return microseconds
    return nanoseconds


def orc_batches(opened: BufferedReader) -> Iterator[pa.RecordBatch]:
    import pyarrow.dataset as ds  # only where an ORC file is read

    opened.seek(0)
    fragment = ds.OrcFileFormat().make_fragment(opened)
    yield from fragment.to_batches(batch_size=ORC_ROWS, batch_readahead=0, fragment_readahead=0, use_threads=False)


def _columns(schema: Any) -> list[Any]:
    return [schema.column(index) for index in range(len(schema))]


def _is_text(column: Any) -> bool:
    return column.physical_type == "BYTE_ARRAY" and column.logical_type.type in TEXTS


def _rows_at_once(group: Any, longest: int) -> int:
    """As many as have a bounded number of values and bytes, on average."""
    counts = [group.column(index).num_values for index in range(group.num_columns)]
    values, rows = max(counts, default=0), max(group.num_rows, 1)
    if values > longest * rows:
        raise UnreadableFile(f"{rows:,} rows with {values:,} values in a column: more of a row than bytes_per_record allows: {longest:,}")
    by_values: int = VALUES_PER_BATCH * rows // max(sum(counts), 1)
    by_bytes: int = BYTES_PER_READ * rows // max(group.total_byte_size, 1)
    return max(1, min(ROWS_PER_BATCH, by_values, by_bytes))
