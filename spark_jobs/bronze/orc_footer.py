"""What the footer of an ORC file says of its columns: how many values each has, and how many bytes its texts have in all.

Arrow does not tell, and reads as many rows as it is asked for, whatever they hold: a few kilobytes may hold a list of a billion items.
The footer is a message of protocol buffers (https://orc.apache.org/specification/ORCv1/), packed in chunks by the file's codec.
"""

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from io import SEEK_END, BufferedReader

import pyarrow as pa

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
    """`values` are without NULLs, but `items`, of a list or map, with them; `most_items` are those of one row, None if nobody counted."""

    values: int
    text_bytes: int = 0
    items: int = 0
    most_items: int | None = None


def read_columns(opened: BufferedReader) -> list[OrcColumn]:
    """The columns, inner ones too, in the order of the schema. Nothing where the writer has kept no statistics, or a footer that is not
    understood: whether the file can be read at all its reader says.
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
        footer = _unpack(opened.read(length), _number(postscript.get(COMPRESSION, NONE)), _number(postscript.get(BLOCK_SIZE, 0)))
        return [_column(found) for number, found in _fields(footer) if number == STATISTICS and isinstance(found, bytes)]
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
