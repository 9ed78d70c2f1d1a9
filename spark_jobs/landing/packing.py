"""Packed files of text: by the end of their name they are unpacked while they are read, a block at a time, to
their last byte.
"""

import bz2
import gzip
import io
from collections.abc import Callable
from io import BufferedReader
from typing import Any, BinaryIO, cast

PACKABLE = ("json", "csv", "text", "xml")
"""The formats that may be packed; the others pack their own content."""
BLOCK_BYTES = 64 * 1024
TIMES_PACKED, TIMES_COLUMNAR = 8, 4
"""About how many times its size a file of text was before it was packed, and the rows of a columnar file are
as records.
"""
COLUMNAR = ("parquet", "orc", "avro")


def is_packed(path: str) -> bool:
    return path.endswith(tuple(_UNPACK))


def estimate_unpacked(path: str, size: int, file_format: str) -> int:
    """About how many bytes of records a file holds, by its name and size alone: enough to choose settings by,
    and nothing else.
    """
    if file_format in COLUMNAR:
        return size * TIMES_COLUMNAR
    return size * TIMES_PACKED if is_packed(path) else size


def unpack(opened: BufferedReader, path: str) -> BinaryIO:
    """The content, from its start. A stream that is cut or broken, or has anything but another stream behind
    it, is an OSError or EOFError on the way: what was not read must not pass for the end.
    """
    opened.seek(0)
    if is_packed(path) and not opened.read(1):  # which readers take for the end of nothing
        raise EOFError("it has no byte, and a packed file has some also where it holds nothing")
    opened.seek(0)
    return next((start(opened) for end, start in _UNPACK.items() if path.endswith(end)), opened)


def _unpack_zstd(opened: BufferedReader) -> BinaryIO:
    import pyarrow as pa  # takes a tenth of a second: not for a look that finds no such file

    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(_Unowned(opened), "r"), "zstd"))


class _Unowned:
    """A file that is read and not closed: Arrow closes what it is given, and landed files are read more than
    once.
    """

    closed = False

    def __init__(self, opened: BufferedReader) -> None:
        self.read, self.seek, self.tell = opened.read, opened.seek, opened.tell

    def close(self) -> None:
        """Whoever opened it closes it."""


class _Bzip2(io.RawIOBase):
    """Streams of bzip2, one behind the other. Python's BZ2File takes a damaged second stream for rubbish and
    ends before it, in silence.
    """

    def __init__(self, opened: BufferedReader) -> None:
        self.opened = opened
        self.stream: bz2.BZ2Decompressor | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        while True:
            if self.stream is None or self.stream.eof:
                block = (self.stream.unused_data if self.stream else b"") or self.opened.read(BLOCK_BYTES)
                if not block:
                    return 0
                self.stream = bz2.BZ2Decompressor()
            elif self.stream.needs_input:
                block = self.opened.read(BLOCK_BYTES)
                if not block:
                    raise EOFError("the file ended before the end of its last bzip2 stream")
            else:
                block = b""
            if found := self.stream.decompress(block, len(buffer)):
                buffer[: len(found)] = found
                return len(found)


_UNPACK: dict[str, Callable[[BufferedReader], BinaryIO]] = {
    ".gz": lambda opened: cast(BinaryIO, gzip.GzipFile(fileobj=opened)),
    ".bz2": lambda opened: io.BufferedReader(_Bzip2(opened), BLOCK_BYTES),
    ".zst": _unpack_zstd,
}
