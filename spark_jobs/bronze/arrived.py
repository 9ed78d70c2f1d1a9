"""A landed file as it was registered, and whether it still is that file: no row may come from another content
than its file id says.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from io import BufferedReader
from typing import Any, BinaryIO

from spark_jobs.config.sources import FileSource
from spark_jobs.landing import packing
from spark_jobs.landing.content import is_plain_lines, stat_open
from spark_jobs.landing.folder import LandedFile

CHANGED = "changed between arrival and reading"
BLOCK_BYTES = 1024 * 1024


@dataclass(frozen=True)
class ArrivedFile:
    """What its arrival says of it; `path` is where it lies, below the `landing` root. A file that was
    appended to is read from `start_byte` on.
    """

    path: str
    size: int
    modified_at: datetime
    content_hash: str
    start_byte: int = 0
    start_line: int = 1
    landing: str | None = None

    def folder_of(self, source: FileSource) -> str | None:
        """The folder of its source, in full."""
        return f"{self.landing}/{source.path}" if self.landing else None

    @property
    def is_packed(self) -> bool:
        return packing.is_packed(self.path)


class UnreadableFile(ValueError):
    """The file as a whole cannot be read: its reason."""


class ReadingBroken(Exception):
    """A file broke off or changed while its records were on their way, so that none of
    them may be written.
    """

    def __init__(self, path: str, cause: str) -> None:
        self.path, self.cause = path, cause
        super().__init__(
            f"{path!r} could not be read to its end: {cause}; run again, and if it says so again, move the"
            " file away first"
        )

    def __reduce__(self) -> tuple[type["ReadingBroken"], tuple[str, str]]:
        return ReadingBroken, (self.path, self.cause)  # it comes from a worker


def make_arrived(arrival: Mapping[str, Any], landing: str) -> ArrivedFile:
    start = (arrival["start_byte"] or 0, arrival["start_line"] or 1)
    known = (arrival["size"], arrival["modified_at"], arrival["content_hash"])
    return ArrivedFile(f"{landing}/{arrival['path']}", *known, *start, landing)


def check_content(opened: BufferedReader, file: ArrivedFile, file_format: str) -> LandedFile:
    """That the file says what it said when it arrived, whatever its size and time are like: `cp -p` keeps
    both. Plain lines may have been appended to. Gives the file as it lay there before it was read.
    """
    found = stat_open(opened, file.path)
    has_grown = found.size > file.size and is_plain_lines(file_format, file.path)
    if (found.size != file.size and not has_grown) or _hash_start(opened, file.size) != file.content_hash:
        raise UnreadableFile(CHANGED)
    return found


def check_still(opened: BufferedReader, file: ArrivedFile, file_format: str, before: LandedFile) -> None:
    """That nobody wrote to the file while its records were read."""
    if stat_open(opened, file.path) != before:
        check_content(opened, file, file_format)


def unpack(opened: BufferedReader, file: ArrivedFile) -> BinaryIO:
    """The content, from its start."""
    return packing.unpack(opened, file.path)


def _hash_start(opened: BufferedReader, size: int) -> str:
    opened.seek(0)
    digest, rest = hashlib.sha256(), size
    while rest > 0 and (block := opened.read(min(BLOCK_BYTES, rest))):
        digest.update(block)
        rest -= len(block)
    return digest.hexdigest()
