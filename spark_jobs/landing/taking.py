"""Takes in one file by hand: one that was refused, skipped as a repeat, or could not be read. Bronze reads it
in the next run.
"""

import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath

from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.names import parse_duration, shorten
from spark_jobs.lake.storage import describe, is_remote
from spark_jobs.landing.arrivals import (
    CLOSED,
    TAKEN,
    Row,
    append_chunk,
    append_chunks,
    files_not_taken,
    read_arrivals,
)
from spark_jobs.landing.content import Content, read_content
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.folder import LINK, NOT_UTF8, SPECIAL, LandedFile, landed_file, landed_object, say
from spark_jobs.landing.history import History, as_earlier, file_ids
from spark_jobs.landing.verdicts import close_mark, make_file_id, make_row

# Close marks: a row of the arrivals that says that what came before it is complete, so that windows which are
# still open can be closed.


def close_feed(feed: Feed, arrived_at: datetime, reason: str) -> int | None:
    """Set a mark and give its chunk; None where nothing has arrived since the last one."""
    if _newest_open(read_arrivals(feed.arrivals, ["chunk", "verdict", "arrived_at"])) is None:
        return None
    return append_chunk(feed, [close_mark(arrived_at, reason)], arrived_at)


def mark_if_idle(feed: Feed, rows: Iterable[Row], arrived_at: datetime) -> Row | None:
    """The mark to set where the last file came at least `idle_after` ago."""
    idle_after = feed.source.idle_after
    newest = _newest_open(rows) if idle_after else None
    if idle_after is None or newest is None or arrived_at - newest < parse_duration(idle_after):
        return None
    return close_mark(arrived_at, f"nothing arrived for {idle_after}") | {"arrived_at": arrived_at}


def _newest_open(rows: Iterable[Row]) -> datetime | None:
    """When the last file arrived, by its chunk and not by a clock that may have been wrong; None where a mark
    stands after it.
    """
    decided = [row for row in rows if row["verdict"] in (TAKEN, CLOSED) and row.get("chunk")]
    last = max(decided, key=lambda row: int(row["chunk"]), default=None)
    return last["arrived_at"] if last and last["verdict"] == TAKEN else None


class NotTakeable(Exception):
    """The file cannot be taken in: its path, why, and what to do."""

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        self.path, self.reason, self.hint = path, reason, hint
        super().__init__(f"{shorten(path, 200)} cannot be taken in: {reason}" + (f"; {hint}" if hint else ""))


@dataclass(frozen=True)
class Taking:
    """A file that was taken in: its chunk, from which line on it is read, and whether some of its records may
    be in bronze already.
    """

    path: str
    file_id: str
    chunk: int
    start_line: int | None
    doubt: str | None
    may_repeat: bool


@dataclass(frozen=True)
class Prepared:
    """A file that can be taken in: the row that says so, and what is to be told of it."""

    row: Row
    doubt: str | None
    may_repeat: bool


def take_file(feed: Feed, path: str, arrived_at: datetime, by: str, consumed: int | None) -> Taking:
    """Register the file as taken, whatever the source's policies say. `consumed` is the last chunk that
    bronze has read.
    """
    return take_prepared(feed, prepare_file(feed, path, by, consumed), arrived_at)


def take_prepared(feed: Feed, prepared: Prepared, arrived_at: datetime) -> Taking:
    """Register a file as taken that was found to be takeable."""
    row = prepared.row
    chunk = append_chunks(feed, [row], arrived_at)
    return Taking(row["path"], row["file_id"], chunk, row["start_line"], prepared.doubt, prepared.may_repeat)


def prepare_file(feed: Feed, path: str, by: str, consumed: int | None) -> Prepared:
    """Find and read the file, and say how it would be taken in; NotTakeable where it cannot. Nothing is
    written.
    """
    file = _find_file(feed, path)
    history = History(read_arrivals(feed.arrivals), feed.bronze)
    content = _read(feed, file, history)
    again = [row for row in history.taken(path) if row["content_hash"] == content.content_hash]
    if again:
        _check_unread(feed, path, again[-1], history, consumed or 0)
    row = make_row(file, content, TAKEN, f"by {by}", start=content.start)
    is_changed = history.earlier(path) is not None and content.start is None
    may_repeat = is_changed or history.said_by(path, content.content_hash) is not None
    return Prepared(row, content.start.doubt if content.start else None, may_repeat)


def _find_file(feed: Feed, path: str) -> LandedFile:
    """The regular file at this path below the source's folder."""
    folder, below = PurePosixPath(feed.files.path), PurePosixPath(path)
    if below.as_posix() != path or ".." in below.parts or folder not in below.parents:
        raise NotTakeable(
            path, f"it is not a path below the folder {feed.files.path!r} of {feed.name}", _hint(feed, path)
        )
    if not _is_utf8(path):
        raise NotTakeable(path, NOT_UTF8)
    file = (
        _find_object(feed, path)
        if is_remote(feed.landing)
        else _find_on_disk(feed, path, below.parts[len(folder.parts) :])
    )
    if not fnmatchcase(below.name, feed.files.pattern):
        raise NotTakeable(path, f"its name does not match the pattern {feed.files.pattern!r} of {feed.name}")
    return file


def _find_object(feed: Feed, path: str) -> LandedFile:
    try:
        return landed_object(path, describe(f"{feed.landing}/{path}"))
    except FileNotFoundError:
        raise NotTakeable(path, f"there is no such file in {feed.landing}", _hint(feed, path)) from None
    except OSError as error:
        raise NotTakeable(path, f"it cannot be looked at: {say(error)}") from error


def _find_on_disk(feed: Feed, path: str, parts: Sequence[str]) -> LandedFile:
    """A link on the way may lead anywhere."""
    walked = Path(feed.landing, feed.files.path)
    for part in parts:
        walked = walked / part
        try:
            found = os.lstat(walked)
        except FileNotFoundError:
            raise NotTakeable(path, f"there is no such file in {feed.landing}", _hint(feed, path)) from None
        except OSError as error:
            raise NotTakeable(path, f"it cannot be looked at: {say(error)}") from error
        if stat.S_ISLNK(found.st_mode):
            raise NotTakeable(path, LINK)
    if not stat.S_ISREG(found.st_mode):
        raise NotTakeable(path, "it is a folder; name one file" if stat.S_ISDIR(found.st_mode) else SPECIAL)
    return landed_file(path, found)


def _is_utf8(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _hint(feed: Feed, path: str) -> str:
    return did_you_mean(path, (known for known, _ in files_not_taken(feed.arrivals)))


def _read(feed: Feed, file: LandedFile, history: History) -> Content:
    try:
        content = read_content(feed.landing, file, feed.files, as_earlier(history.earlier(file.path)))
    except OSError as error:
        raise NotTakeable(file.path, f"it cannot be read: {say(error)}") from error
    if content is None:
        raise NotTakeable(file.path, "it is still being written", "try again when it is whole")
    return content


def _check_unread(feed: Feed, path: str, row: Row, history: History, consumed: int) -> None:
    """The same content may be taken again only where bronze has no record of it: its file id is the same, and
    nothing may be doubled.
    """
    file_id = make_file_id(path, row["content_hash"])
    if row["chunk"] > consumed:
        raise NotTakeable(path, "it is taken already", f"`weir run {feed.pipeline}` reads it")
    if file_ids(feed.bronze, is_record=True, among=[file_id]):
        raise NotTakeable(
            path,
            f"its records are in {feed.table} already",
            "to read it a second time, land it under another name",
        )
    if file_id not in history.unreadable:
        raise NotTakeable(path, "it was read and holds no records")
