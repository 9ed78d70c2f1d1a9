"""What a landed file says: its hash and, where it begins with what it said before, where
the new part begins.
"""

import errno
import hashlib
import json
import os
import stat
from dataclasses import dataclass
from io import BufferedReader

from spark_jobs.config.sources import FileSource
from spark_jobs.lake.storage import StoredFile, describe, is_remote, open_object
from spark_jobs.landing.folder import LandedFile, landed_file, landed_object
from spark_jobs.landing.packing import is_packed

BLOCK_BYTES = 1024 * 1024
NEVER_WAITING = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
BOM = b"\xef\xbb\xbf"
LINE_ENDS = (b"\n", b"\r\n")
CUT_TEXT = "its line {line} was half-written when it was taken, and that half is a record of its own now"
CUT_JSON = (
    "its line {line} was not whole when it was taken, and whether that part was taken as a record cannot be"
    " told"
)


@dataclass(frozen=True)
class Earlier:
    """What the file said when it was taken."""

    size: int
    content_hash: str


@dataclass(frozen=True)
class Start:
    """Where the new part of a file of lines begins; `doubt` where reading it there may
    give a record twice.
    """

    byte: int
    line: int
    doubt: str | None = None


@dataclass(frozen=True)
class Content:
    """`is_appended`: it begins with exactly what it said before; for plain lines `start` says where the rest
    begins.
    """

    content_hash: str
    is_appended: bool = False
    start: Start | None = None


def open_landed(path: str, folder: str | None = None) -> BufferedReader:
    """The file, never waiting: what has become a link or a pipe since it was listed is an OSError. So is a
    folder on the way, below the `folder` of the source, which is given in full: who may write there could
    otherwise let a run read any file that it may read. The folder itself may be a link, or lie behind one.
    """
    if is_remote(path):
        return open_object(path)
    is_below = folder is not None and path.startswith(f"{folder}/")
    descriptor = (
        _open_below(str(folder), path.removeprefix(f"{folder}/"))
        if is_below
        else os.open(path, NEVER_WAITING)
    )
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "not a regular file", path)
    return os.fdopen(descriptor, "rb")


def _open_below(folder: str, inside: str) -> int:
    """Step by step: each folder is opened in the one before it, and none may be a link."""
    *between, name = inside.split("/")
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in between:
            above, at = (
                at,
                os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=at),
            )
            os.close(above)
        return os.open(name, NEVER_WAITING, dir_fd=at)
    finally:
        os.close(at)


def stat_open(file: BufferedReader, path: str) -> LandedFile:
    if isinstance(file.raw, StoredFile):
        return landed_object(path, describe(file.raw.place))
    return landed_file(path, os.fstat(file.fileno()))


def is_plain_lines(file_format: str, path: str) -> bool:
    """Files that can be read from the middle."""
    return file_format in ("json", "text") and not is_packed(path)


def read_content(
    landing: str, file: LandedFile, source: FileSource, earlier: Earlier | None
) -> Content | None:
    """The file's content, or None where the file is not the listed one any more."""
    with open_landed(f"{landing}/{file.path}", source.place(landing)) as opened:
        if earlier is None or earlier.size >= file.size:
            content = Content(hashlib.file_digest(opened, "sha256").hexdigest())
        else:
            content = _compare(
                opened, earlier, source.format if is_plain_lines(source.format, file.path) else None
            )
        return content if stat_open(opened, file.path) == file else None


def peek_content(landing: str, file: LandedFile, source: FileSource) -> Content | None:
    """A stand-in for the content of a file that can be read and is the listed one still: nothing else says
    the same.
    """
    with open_landed(f"{landing}/{file.path}", source.place(landing)) as opened:
        return Content(f"not read: {file.path}") if stat_open(opened, file.path) == file else None


def _compare(opened: BufferedReader, earlier: Earlier, line_format: str | None) -> Content:
    digest, lines, line_start = hashlib.sha256(), 1, 0
    while block := opened.read(min(BLOCK_BYTES, earlier.size - opened.tell())):
        digest.update(block)
        if b"\n" in block:
            lines, line_start = (
                lines + block.count(b"\n"),
                opened.tell() - len(block) + block.rfind(b"\n") + 1,
            )
    is_appended = digest.hexdigest() == earlier.content_hash
    while block := opened.read(BLOCK_BYTES):
        digest.update(block)
    start = (
        _resume(opened, earlier.size, line_start, lines, line_format) if is_appended and line_format else None
    )
    return Content(digest.hexdigest(), is_appended, start)


def _resume(opened: BufferedReader, size: int, line_start: int, line: int, line_format: str) -> Start:
    """After what was read; but a record that was cut is read again, whole, from where its line begins."""
    opened.seek(line_start)
    half, following = opened.read(size - line_start), opened.read(2)
    if not half.strip() or following.startswith(LINE_ENDS):
        return Start(size, line)
    if line_format == "text":
        return Start(line_start, line, CUT_TEXT.format(line=line))
    is_record = _is_object(half.removeprefix(BOM) if line_start == 0 else half)
    if is_record is None:
        return Start(line_start, line, CUT_JSON.format(line=line))
    return Start(size, line) if is_record else Start(line_start, line)


def _is_object(half: bytes) -> bool | None:
    """Whether the beginning of a line was taken as a record: a JSON object. None where a more tolerant parser
    may see one.
    """
    text = ""
    try:
        text = half.decode().rstrip()
        return isinstance(json.loads(text), dict)
    except json.JSONDecodeError as error:
        return None if text.endswith("}") and error.pos < len(text) else False
    except UnicodeDecodeError:
        return False
    except (RecursionError, ValueError):  # nested too deeply, or a number of thousands of digits
        return None
