"""Reads the files of a project: regular ones of a bounded size. A pipe would be waited for without end, a
device read without end.
"""

import errno
import os
import stat
from pathlib import Path

MAX_BYTES = 1_000_000
KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFSOCK: "a socket",
}


def read_file(path: Path) -> bytes:
    """The content of a regular file, or of one that a link leads to; OSError, with the reason in words, for
    all else.
    """
    _check_kind(os.stat(path), path)  # a device may do something when it is opened
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    with os.fdopen(handle, "rb") as opened:
        found = os.fstat(opened.fileno())
        _check_kind(found, path)
        if found.st_size > MAX_BYTES:
            raise _too_large(path, found.st_size)
        content = opened.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:  # it has grown, or is one that does not know its size
        raise _too_large(path, len(content))
    return content


def read_text(path: Path) -> str:
    """UTF-8; UnicodeDecodeError where it is none."""
    return read_file(path).decode("utf-8")


def _check_kind(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def _too_large(path: Path, size: int) -> OSError:
    return OSError(
        errno.EFBIG, f"it has {size:,} bytes or more, and at most {MAX_BYTES:,} are read", str(path)
    )
