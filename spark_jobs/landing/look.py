"""Looks at the landing folder of a source: what lies there that is new or changed, and what is decided about
it; and registers that as arrivals. Only `register_arrivals` writes.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.config.names import parse_duration
from spark_jobs.landing.arrivals import (
    REFUSED,
    REPEATED,
    TAKEN,
    Row,
    append_chunk,
    append_chunks,
    compact_arrivals,
    read_arrivals,
)
from spark_jobs.landing.content import Content, is_plain_lines, peek_content, read_content
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.folder import LandedFile, Listing, list_folder, say
from spark_jobs.landing.history import History, as_earlier
from spark_jobs.landing.taking import mark_if_idle
from spark_jobs.landing.verdicts import HIDDEN, judge, refuse_unread

# Landed files against arrivals: the files that were taken and that bronze will not find as they were.

GONE = "it was taken and is gone, before bronze was done with it"
CHANGED = "it was taken and has changed, before bronze was done with it"


def find_unread(feed: Feed, history: History, listing: Listing, consumed: int) -> Iterator[tuple[str, str]]:
    """The taken files of chunks after the consumed one that are gone or changed: bronze names them as
    unreadable.

    Lines that were appended to do no harm, because bronze reads exactly as far as the file went when it
    arrived.
    """
    pending = [row for row in history.rows if row["verdict"] == TAKEN and row.get("chunk", 0) > consumed]
    if not pending:
        return
    files = {file.path: file for file in listing.files}
    replaced = {file.path for file, _ in listing.refused}
    for row in pending:
        path, file = row["path"], files.get(row["path"])
        if _is_waiting(path, listing):
            continue
        if file is None:
            yield path, CHANGED if path in replaced else GONE
        elif history.content_now(file) != row["content_hash"]:
            has_grown = file.size > row["size"] and is_plain_lines(feed.files.format, path)
            if not has_grown:
                yield path, CHANGED


def _is_waiting(path: str, listing: Listing) -> bool:
    """What cannot be looked at now, the file or a folder above it, is named already."""
    return any(path == waiting or path.startswith(f"{waiting}/") for waiting, _ in listing.waiting)


GROWING = "it is still being written"

Named = tuple[tuple[str, str], ...]
"""Paths, each with its reason."""
Read = Callable[[Feed, LandedFile, History], Content | None]
"""Gives the content of a file, or None where it is not the listed one any more."""


@dataclass(frozen=True)
class Arrivals:
    """What a listing found: files to take, files not taken, and taken files that bronze will not find as they
    were.
    """

    taken: int = 0
    refused: Named = ()
    repeated: Named = ()
    waiting: Named = ()
    unread: Named = ()
    closed: str | None = None


@dataclass(frozen=True)
class Look:
    """`rows` are decisions that the arrivals do not have yet, `mark` a close mark to set after them;
    `to_read` are all files that were or will be taken and that bronze has not read.
    """

    found: Arrivals
    rows: list[Row]
    mark: Row | None
    to_read: list[Row]
    next_chunk: int

    @property
    def is_behind(self) -> bool:
        """Whether bronze has yet to read files that were registered before."""
        return len(self.to_read) > self.found.taken

    @property
    def ahead(self) -> list[Row]:
        """What the arrivals will have more than now."""
        return [{**row, "chunk": self.next_chunk} for row in (*self.rows, self.mark) if row is not None]


def read_whole(feed: Feed, file: LandedFile, history: History) -> Content | None:
    earlier = as_earlier(history.earlier(file.path)) if history.taken(file.path) else None
    return read_content(feed.landing, file, feed.files, earlier)


def read_if_it_matters(feed: Feed, file: LandedFile, history: History) -> Content | None:
    """Of a file that is taken whatever it says, only whether it can be read. Of several new files that say
    the same, each counts.
    """
    may_repeat = feed.files.same_content == "skip" and history.has_size(file.size)
    return (
        read_whole(feed, file, history)
        if may_repeat or history.has_path(file.path)
        else peek_content(feed.landing, file, feed.files)
    )


def look_at(feed: Feed, arrived_at: datetime, consumed: int | None = None, read: Read = read_whole) -> Look:
    """What a registration at this time writes. `consumed` is the last chunk that bronze has read."""
    known = read_arrivals(feed.arrivals)
    history = History(known, feed.bronze)
    listing = list_folder(feed.landing, feed.files.path, feed.files.pattern)
    hidden = [
        (file, f"{HIDDEN} `{feed.take_command(file.path)}`") for file in listing.files if is_hidden(file.path)
    ]
    refused = [
        refuse_unread(file, reason)
        for file, reason in [*listing.refused, *hidden]
        if not history.knows(file, reason)
    ]
    files = [file for file in listing.files if not is_hidden(file.path) and not history.knows(file)]
    settled, unsettled = _split_settled(feed, files, arrived_at)
    judged, growing = _judge_all(feed, settled, history, read)
    rows = [
        {**row, "arrived_at": arrived_at}
        for row in sorted([*refused, *judged], key=lambda row: str(row["path"]))
    ]
    waiting = (*listing.waiting, *unsettled, *growing)
    unread = tuple(find_unread(feed, history, listing, consumed or 0))
    taken = [row for row in rows if row["verdict"] == TAKEN]
    mark = None if taken or waiting else mark_if_idle(feed, known, arrived_at)
    found = Arrivals(
        len(taken),
        _named(rows, REFUSED),
        _named(rows, REPEATED),
        waiting,
        unread,
        mark["reason"] if mark else None,
    )
    to_read = [row for row in known if row["verdict"] == TAKEN and row["chunk"] > (consumed or 0)]
    return Look(found, rows, mark, [*to_read, *taken], max((row["chunk"] for row in known), default=0) + 1)


def is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith((".", "_"))


def _split_settled(
    feed: Feed, files: list[LandedFile], arrived_at: datetime
) -> tuple[list[LandedFile], Named]:
    """Files that are old enough to be whole, and those that wait."""
    if feed.files.settle is None:
        return files, ()
    newest = arrived_at - parse_duration(feed.files.settle)
    reason = "it was modified at {}, less than {} ago"
    waiting = (
        (f.path, reason.format(f.modified_at, feed.files.settle)) for f in files if f.modified_at > newest
    )
    return [file for file in files if file.modified_at <= newest], tuple(waiting)


def _judge_all(feed: Feed, files: list[LandedFile], history: History, read: Read) -> tuple[list[Row], Named]:
    """The verdicts in the order of paths, so that of two new files that say the same the first is taken; and
    the files that wait.
    """
    with ThreadPoolExecutor(4) as pool:
        contents = list(pool.map(lambda file: _read_quiet(feed, file, history, read), files))
    rows, waiting = [], []
    for file, content in zip(files, contents, strict=True):
        if isinstance(content, str):
            waiting.append((file.path, content))
        else:
            rows.append(judge(feed, file, content, history))
            history.add(rows[-1])
    return rows, tuple(waiting)


def _read_quiet(feed: Feed, file: LandedFile, history: History, read: Read) -> Content | str:
    """The content, or why the file must wait for a later run."""
    try:
        return read(feed, file, history) or GROWING
    except OSError as error:
        return f"it cannot be read: {say(error)}"


def _named(rows: list[Row], verdict: str) -> Named:
    return tuple((row["path"], row["reason"]) for row in rows if row["verdict"] == verdict)


# Registers landed files as arrivals: what a look at the folder of a source finds new or changed is written
# down.
#
# Needs no JVM. Whoever calls holds the pipeline's lease.


def register_arrivals(feed: Feed, arrived_at: datetime, consumed: int | None = None) -> Arrivals:
    """Append what is new to the arrivals table. `consumed` is the last chunk that bronze has read."""
    look = look_at(feed, arrived_at, consumed)
    if look.rows:
        if consumed is not None and not look.is_behind:
            compact_arrivals(feed)
        append_chunks(feed, look.rows, arrived_at)
    if look.mark:
        append_chunk(feed, [look.mark], arrived_at)
    return look.found
