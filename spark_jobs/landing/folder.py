"""The files of one landing folder. What enters: a folder. What leaves: one LandedFile per file, by its path below the landing root."""

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path


@dataclass(frozen=True)
class LandedFile:
    """A file as it lies there now."""

    path: str
    size: int
    modified_at: datetime


def list_files(landing: str, folder: str, pattern: str) -> Iterator[LandedFile]:
    """Every file below the folder whose name matches, in the order of their paths."""
    for parent, folders, names in os.walk(Path(landing, folder)):
        folders.sort()
        for name in sorted(names):
            if fnmatchcase(name, pattern):
                yield stat_file(landing, Path(parent, name).relative_to(landing).as_posix())


def stat_file(landing: str, path: str) -> LandedFile:
    found = os.stat(Path(landing, path))
    return LandedFile(path, found.st_size, _microseconds(found.st_mtime_ns))


def hash_content(landing: str, path: str) -> str:
    with open(Path(landing, path), "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _microseconds(nanoseconds: int) -> datetime:
    """Delta keeps microseconds, and a file's time must compare equal after a round trip."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    return datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
