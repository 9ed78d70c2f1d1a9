"""Packed files of text: by the end of their name they are unpacked while they are read, a block at a time."""

import bz2
import gzip
from collections.abc import Callable
from io import BufferedReader
from typing import BinaryIO, cast

import pyarrow as pa

PACKABLE = ("json", "csv", "text", "xml")
"""The formats that may be packed; the others pack their own content."""


def is_packed(path: str) -> bool:
    return path.endswith(tuple(_UNPACK))


def unpack(opened: BufferedReader, path: str) -> BinaryIO:
    """The content, from its start. A stream that is cut or broken is an OSError or EOFError on the way."""
    opened.seek(0)
    return next((start(opened) for end, start in _UNPACK.items() if path.endswith(end)), opened)


def _unpack_zstd(opened: BufferedReader) -> BinaryIO:
    return cast(BinaryIO, pa.CompressedInputStream(pa.PythonFile(_Unowned(opened), "r"), "zstd"))


class _Unowned:
    """A file that is read and not closed: Arrow closes what it is given, and landed files are read more than once."""

    closed = False

    def __init__(self, opened: BufferedReader) -> None:
        self.read, self.seek, self.tell = opened.read, opened.seek, opened.tell

    def close(self) -> None:
        """Whoever opened it closes it."""


_UNPACK: dict[str, Callable[[BufferedReader], BinaryIO]] = {
    ".gz": lambda opened: cast(BinaryIO, gzip.GzipFile(fileobj=opened)),
    ".bz2": lambda opened: cast(BinaryIO, bz2.BZ2File(opened)),
    ".zst": _unpack_zstd,
}
