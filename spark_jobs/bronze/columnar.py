"""Files of rows that say their own columns: Parquet and ORC, as Arrow batches of bounded size."""

import zlib
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from io import SEEK_END, BufferedReader
from typing import Any

import pyarrow as pa

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.bronze.batches import ROWS_PER_BATCH
from spark_jobs.config.text import count

# What the footer of an ORC file says of its columns: how many values each has, and how many bytes its texts
# have in all. Arrow does not tell, and reads as many rows as it is asked for, whatever they hold: a few
# kilobytes may hold a list of a billion items. The footer is a message of protocol buffers
# (https://orc.apache.org/specification/ORCv1/), packed in chunks by the file's codec.

TAIL_BYTES = 256
"""The postscript and its length, a byte, are the last of the file."""
FOOTER_BYTES = 16 * 1024 * 1024
CHUNK_HEADER = 3
FOOTER_LENGTH, COMPRESSION, BLOCK_SIZE = 1, 2, 3
"""Fields of the postscript."""
ROWS, STATISTICS = 6, 7
"""Fields of the footer."""
VALUE_COUNT, OF_STRING, OF_BINARY, OF_ITEMS = 1, 4, 8, 12
"""Fields of the statistics of a column; within those of strings and binaries, the bytes of all of them:"""
STRING_SUM, BINARY_SUM = 3, 1
MOST_ITEMS, ALL_ITEMS = 2, 3
"""And within those of lists and maps."""
NONE = 0
"""Of the codecs."""


@dataclass(frozen=True)
class OrcColumn:
    """`values` are without NULLs, but `items`, of a list or map, with them; `most_items` are those of one
    row, None if nobody counted.
    """

    values: int
    text_bytes: int = 0
    items: int = 0
    most_items: int | None = None


def read_columns(opened: BufferedReader) -> list[OrcColumn]:
    """The columns, inner ones too, in the order of the schema. Nothing where the writer has kept no
    statistics, or a footer that is not understood: whether the file can be read at all its reader says.
    """
    size = opened.seek(0, SEEK_END)
    opened.seek(max(0, size - TAIL_BYTES))
    tail = opened.read(TAIL_BYTES)
    try:
        postscript = dict(_fields(tail[-1 - tail[-1] : -1]))
        length = _number(postscript[FOOTER_LENGTH])
        if length > FOOTER_BYTES:
            return []
        opened.seek(max(0, size - 1 - tail[-1] - length))
        footer = _unpack(
            opened.read(length),
            _number(postscript.get(COMPRESSION, NONE)),
            _number(postscript.get(BLOCK_SIZE, 0)),
        )
        return [
            _column(found)
            for number, found in _fields(footer)
            if number == STATISTICS and isinstance(found, bytes)
        ]
    except (IndexError, KeyError, ValueError, OSError, zlib.error):
        return []


def _column(statistics: bytes) -> OrcColumn:
    found = dict(_fields(statistics))
    sums = [(found.get(OF_STRING), STRING_SUM), (found.get(OF_BINARY), BINARY_SUM)]
    texts = [_signed(dict(_fields(inner)).get(place, 0)) for inner, place in sums if isinstance(inner, bytes)]
    of_items = found.get(OF_ITEMS)
    items = dict(_fields(of_items)) if isinstance(of_items, bytes) else {}
    most = _number(items[MOST_ITEMS]) if MOST_ITEMS in items else None
    return OrcColumn(_number(found.get(VALUE_COUNT, 0)), sum(texts), _number(items.get(ALL_ITEMS, 0)), most)


def _unpack(content: bytes, codec: int, block_size: int) -> bytes:
    """Each chunk says its length, and whether it is packed at all."""
    if codec == NONE:
        return content
    found = b""
    while content and len(found) <= FOOTER_BYTES:
        header = int.from_bytes(content[:CHUNK_HEADER], "little")
        chunk, content = content[CHUNK_HEADER:][: header >> 1], content[CHUNK_HEADER + (header >> 1) :]
        found += chunk if header & 1 else _unpack_chunk(chunk, codec, min(block_size, FOOTER_BYTES))
    return found


def _unpack_chunk(chunk: bytes, codec: int, block_size: int) -> bytes:
    match codec:
        case 1:  # zlib
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(chunk, block_size)
        case 2:
            return bytes(pa.Codec("snappy").decompress(chunk, min(_varint(chunk, 0)[0], block_size)))
        case 5:
            return bytes(pa.CompressedInputStream(pa.BufferReader(chunk), "zstd").read(block_size))
    raise ValueError(f"a footer that is packed by the codec {codec}")


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a message with their numbers. Of fixed numbers, which nobody asks for, the bytes."""
    at = 0
    while at < len(message):
        tag, at = _varint(message, at)
        match tag & 7:
            case 0:
                value, at = _varint(message, at)
                yield tag >> 3, value
            case 2:
                length, at = _varint(message, at)
                yield tag >> 3, message[at : at + length]
                at += length
            case 1 | 5 as kind:
                at += 8 if kind == 1 else 4
            case kind:
                raise ValueError(f"a field of the kind {kind}")


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
        if byte < 128 or shift > 63:
            return value, at


def _number(found: int | bytes) -> int:
    if isinstance(found, bytes):
        raise ValueError("a message in the place of a number")
    return found


def _signed(found: int | bytes) -> int:
    value = _number(found)
    return (value >> 1) ^ -(value & 1)


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
