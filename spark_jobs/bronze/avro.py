"""Records of Avro files. What enters: blocks, packed by one of Avro's codecs. What leaves: each row as a JSON
object.

The container is read here, and only rows by fastavro: a few bytes may unpack to gigabytes, and fastavro would
unpack them all. Everything in the file must be read: bytes that are left of a block are those of rows that
nobody would miss.
"""

import bz2
import io
import json
import lzma
import zlib
from collections.abc import Callable, Iterator
from io import BufferedReader
from typing import Any

import pyarrow as pa

from spark_jobs.bronze.arrived import UnreadableFile
from spark_jobs.bronze.avro_types import load_fastavro
from spark_jobs.bronze.avro_walk import SHORT, Walked, Walker, make_walker
from spark_jobs.bronze.batches import Record, set_aside
from spark_jobs.bronze.objects import as_text
from spark_jobs.config.text import count

HEADER_BYTES = 4 * 1024 * 1024
BLOCK_BYTES = 128 * 1024 * 1024
"""What a block may hold, unpacked. Writers end one after some ten or hundred kilobytes."""
SYNC_BYTES = 16
CHECKSUM_BYTES = 4
LONGEST_NUMBER = 10
KEY_TWICE = "a map of the row has a key twice"
NO_TIME = "a time of the row is beyond the years 1 to 9999"

Unpack = Callable[[bytes], bytes]


def read_avro(opened: BufferedReader, longest: int) -> Iterator[Record]:
    fastavro, line = load_fastavro(), 0
    try:
        schema, unpack, marker = _read_header(opened)
        walker = make_walker(schema, longest)
        while (count := _read_number(opened)) is not None:
            content = io.BytesIO(unpack(_read_exactly(opened, _read_number(opened) or 0)))
            if _read_exactly(opened, SYNC_BYTES) != marker:
                raise UnreadableFile("a block does not end with the marker of its file")
            _check_count(walker, content, count, line, longest)
            for walked in _walk_rows(walker, content, count, longest):
                line += 1
                if walked.size > longest:
                    yield set_aside(line, walked.size, longest)
                    continue
                start = content.tell()
                try:
                    row = fastavro.schemaless_reader(content, schema, None)
                except OverflowError:
                    content.seek(walker.walk(content.getvalue(), start).end)
                    yield line, None, NO_TIME
                    continue
                problem = KEY_TWICE if walked.has_key_twice else None
                yield line, as_text(row if isinstance(row, dict) else {"value": row}), problem
            if content.read(1):
                raise UnreadableFile("a block has more content than rows")
    except (UnreadableFile, OSError):
        raise
    except (
        Exception
    ) as error:  # what fastavro raises for broken files is anything from KeyError to struct.error
        raise UnreadableFile(f"not a whole Avro file: {type(error).__name__} {error}") from error


def _check_count(walker: Walker, content: io.BytesIO, total: int, before: int, longest: int) -> None:
    """UnreadableFile where a block cannot have so many rows. Rows without bytes are counted over all blocks
    of the file.
    """
    size = len(content.getbuffer())
    if total < 0 or (total > size and not walker.may_be_empty):
        raise UnreadableFile(f"a block of {size:,} bytes says that it has {count(total, 'row')}")
    if walker.may_be_empty and before + total > longest:
        raise UnreadableFile(f"it says that it has {count(before + total, 'row')} without any content")


def _walk_rows(walker: Walker, content: io.BytesIO, count: int, longest: int) -> Iterator[Walked]:
    """Each row of a block as far as it must be known before it is read. Of a row that is too long the content
    is passed over.
    """
    if walker.is_short(len(content.getbuffer()), longest):
        yield from (SHORT for _ in range(count))
        return
    block = content.getvalue()
    for _ in range(count):
        walked = walker.walk(block, content.tell())
        if walked.size > longest:
            content.seek(walked.end)
        yield walked


def _read_header(opened: BufferedReader) -> tuple[Any, Unpack, bytes]:
    """The schema, what unpacks a block, and the marker behind each block; leaves the file
    at its first block.
    """
    fastavro = load_fastavro()
    opened.seek(0)
    header = io.BytesIO(opened.read(HEADER_BYTES))
    found = fastavro.block_reader(header)
    opened.seek(header.tell())
    codec = found.metadata.get("avro.codec", "null")
    if codec not in UNPACK:
        raise UnreadableFile(f"its codec {codec[:50]!r} is not known; known ones: {', '.join(UNPACK)}")
    header.seek(header.tell() - SYNC_BYTES)
    return (
        fastavro.parse_schema(json.loads(found.metadata["avro.schema"])),
        UNPACK[codec],
        header.read(SYNC_BYTES),
    )


def _read_number(opened: BufferedReader) -> int | None:
    """A number as Avro writes it; None at the end of the file."""
    value = 0
    for place in range(LONGEST_NUMBER):
        if not (byte := opened.read(1)):
            if place:
                raise UnreadableFile("not a whole Avro file: it ends within a block")
            return None
        value |= (byte[0] & 127) << (7 * place)
        if byte[0] < 128:
            return (value >> 1) ^ -(value & 1)
    raise UnreadableFile("not a whole Avro file: a block has no size")


def _read_exactly(opened: BufferedReader, size: int) -> bytes:
    if not 0 <= size <= BLOCK_BYTES:
        raise UnreadableFile(f"a block of {size:,} bytes; it may have {BLOCK_BYTES:,}")
    found = opened.read(size)
    if len(found) < size:
        raise UnreadableFile("not a whole Avro file: it ends within a block")
    return found


def _checked(content: bytes, *, is_whole: bool) -> bytes:
    if len(content) > BLOCK_BYTES:
        raise UnreadableFile(f"a block holds more than {BLOCK_BYTES:,} bytes when it is unpacked")
    if not is_whole:
        raise UnreadableFile("not a whole Avro file: a packed block is cut, or has more behind it")
    return content


def _inflate(packed: bytes) -> bytes:
    """Some writers leave a part of zlib's own checksum behind the content."""
    stream = zlib.decompressobj(-zlib.MAX_WBITS)
    content = stream.decompress(packed, BLOCK_BYTES + 1)
    return _checked(content, is_whole=stream.eof and len(stream.unused_data) <= CHECKSUM_BYTES)


def _unpack_by(make: Callable[[], bz2.BZ2Decompressor | lzma.LZMADecompressor]) -> Unpack:
    def unpack(packed: bytes) -> bytes:
        stream = make()
        content = stream.decompress(packed, BLOCK_BYTES + 1)
        return _checked(content, is_whole=stream.eof and not stream.unused_data)

    return unpack


def _unpack_zstandard(packed: bytes) -> bytes:
    content = pa.CompressedInputStream(pa.BufferReader(packed), "zstd").read(BLOCK_BYTES + 1)
    return _checked(content, is_whole=True)


def _unpack_snappy(packed: bytes) -> bytes:
    """A block of snappy says first how long it will be, and has its content's checksum behind it."""
    size = _read_plain_number(packed)
    if size > BLOCK_BYTES:
        raise UnreadableFile(f"a block holds more than {BLOCK_BYTES:,} bytes when it is unpacked")
    content: bytes = (
        pa.Codec("snappy").decompress(packed[:-CHECKSUM_BYTES], size, asbytes=True) if size else b""
    )
    return _checked(
        content, is_whole=zlib.crc32(content).to_bytes(CHECKSUM_BYTES, "big") == packed[-CHECKSUM_BYTES:]
    )


def _read_plain_number(packed: bytes) -> int:
    value = 0
    for place, byte in enumerate(packed[:LONGEST_NUMBER]):
        value |= (byte & 127) << (7 * place)
        if byte < 128:
            break
    return value


UNPACK: dict[str, Unpack] = {
    "null": lambda content: content,
    "deflate": _inflate,
    "snappy": _unpack_snappy,
    "zstandard": _unpack_zstandard,
    "bzip2": _unpack_by(bz2.BZ2Decompressor),
    "xz": _unpack_by(lzma.LZMADecompressor),
}
