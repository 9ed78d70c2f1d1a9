"""What the footers of Parquet and ORC say that Arrow does not tell."""

import re
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import SEEK_END, BufferedReader
from typing import Any

import pyarrow as pa

from spark_jobs.bronze.arrived import UnreadableFile

# Parquet and ORC are read by their end. Of two files that were put together, one behind the other, readers
# see the second one alone, or its rows in the bytes of the first. What lies before a footer and is none of
# its file's shows where the one ends and the other begins.

BLOCK_BYTES = 1024 * 1024
PARQUET, PARQUET_TAIL = b"PAR1", 8
"""A file begins and ends with the mark; before that last one stands how long the footer is."""
PARQUET_SEAM, ORC_SEAM = re.compile(b"PAR1PAR1"), re.compile(b"ORC.ORC", re.DOTALL)
LONGEST_SEAM = 8
SEVERAL = "several files, one behind the other, of which a reader sees the last alone: land each by itself"


def check_one_parquet(opened: BufferedReader, metadata: Any) -> None:
    """UnreadableFile where another file stands before the one that the footer tells of. Ask when all columns
    were read: a damaged footer ends the process that asks its metadata.
    """
    groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
    chunks = [group.column(number) for group in groups for number in range(group.num_columns)]
    end = max((_start_of(chunk) + chunk.total_compressed_size for chunk in chunks), default=len(PARQUET))
    tail = opened.seek(0, SEEK_END) - PARQUET_TAIL
    opened.seek(tail)
    footer = int.from_bytes(opened.read(PARQUET_TAIL - len(PARQUET)), "little")
    _check_seam(opened, end, tail - footer, PARQUET_SEAM)


def _start_of(chunk: Any) -> int:
    first: int = chunk.data_page_offset
    return min(first, chunk.dictionary_page_offset) if chunk.dictionary_page_offset else first


def check_one_orc(opened: BufferedReader) -> None:
    """The same; whether a footer that is not understood can be read its reader says."""
    try:
        postscript, footer, start = _read_footer(opened)
        content = next(_number(found) for number, found in _fields(footer) if number == CONTENT_LENGTH)
        end = start - _number(postscript.get(METADATA_LENGTH, 0))
    except NOT_UNDERSTOOD:
        return
    _check_seam(opened, content, end, ORC_SEAM)


def _check_seam(opened: BufferedReader, start: int, end: int, seam: re.Pattern[bytes]) -> None:
    opened.seek(start)
    before, rest = b"", end - start
    while rest > 0 and (block := opened.read(min(BLOCK_BYTES, rest))):
        if seam.search(before + block):
            raise UnreadableFile(SEVERAL)
        before, rest = block[-LONGEST_SEAM:], rest - len(block)


# What the footer of an ORC file says of its columns: how many values each has, and how many bytes its texts
# have in all. Arrow does not tell, and reads as many rows as it is asked for, whatever they hold: a few
# kilobytes may hold a list of a billion items. The footer is a message of protocol buffers
# (https://orc.apache.org/specification/ORCv1/), packed in chunks by the file's codec.

TAIL_BYTES = 256
"""The postscript and its length, a byte, are the last of the file."""
FOOTER_BYTES = 16 * 1024 * 1024
CHUNK_HEADER = 3
FOOTER_LENGTH, COMPRESSION, BLOCK_SIZE, METADATA_LENGTH = 1, 2, 3, 5
"""Fields of the postscript."""
CONTENT_LENGTH, STATISTICS = 2, 7
"""Fields of the footer."""
VALUE_COUNT, OF_STRING, OF_BINARY, OF_ITEMS = 1, 4, 8, 12
"""Fields of the statistics of a column; within those of strings and binaries, the bytes of all of them:"""
STRING_SUM, BINARY_SUM = 3, 1
MOST_ITEMS, ALL_ITEMS = 2, 3
"""And within those of lists and maps."""
NONE = 0
"""Of the codecs."""
NOT_UNDERSTOOD = (IndexError, KeyError, ValueError, OSError, zlib.error, StopIteration)


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
    try:
        _, footer, _ = _read_footer(opened)
        return [
            _column(found)
            for number, found in _fields(footer)
            if number == STATISTICS and isinstance(found, bytes)
        ]
    except NOT_UNDERSTOOD:
        return []


def _read_footer(opened: BufferedReader) -> tuple[dict[int, int | bytes], bytes, int]:
    """The postscript, the footer unpacked, and where it begins. One of NOT_UNDERSTOOD where it is none."""
    size = opened.seek(0, SEEK_END)
    opened.seek(max(0, size - TAIL_BYTES))
    tail = opened.read(TAIL_BYTES)
    postscript = dict(_fields(tail[-1 - tail[-1] : -1]))
    length = _number(postscript[FOOTER_LENGTH])
    if length > FOOTER_BYTES:
        raise ValueError(f"a footer of {length:,} bytes")
    start = max(0, size - 1 - tail[-1] - length)
    opened.seek(start)
    codec, block_size = _number(postscript.get(COMPRESSION, NONE)), _number(postscript.get(BLOCK_SIZE, 0))
    return postscript, _unpack(opened.read(length), codec, block_size), start


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
