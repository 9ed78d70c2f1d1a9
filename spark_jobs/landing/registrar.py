"""Registers landed files as arrivals: lists the folder of a source, decides about every file that is new or changed, and writes it down.

Needs no JVM. Whoever calls holds the pipeline's lease.
"""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.config.names import parse_duration
from spark_jobs.landing.arrivals import (
    ARRIVALS,
    REFUSED,
    REPEATED,
    TAKEN,
    Row,
    append_chunks,
    bytes_after,
    close_marks,
    files_not_taken,
    last_taken_chunk,
    newest_arrival,
    read_arrivals,
)
from spark_jobs.landing.closing import close_if_idle
from spark_jobs.landing.content import Content, Earlier, read_content
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.folder import LandedFile, list_folder, say
from spark_jobs.landing.history import History, as_earlier
from spark_jobs.landing.reconcile import find_unread
from spark_jobs.landing.verdicts import HIDDEN, judge, refuse_unread

__all__ = [
    "ARRIVALS",
    "REFUSED",
    "TAKEN",
    "Arrivals",
    "bytes_after",
    "close_marks",
    "files_not_taken",
    "last_taken_chunk",
    "newest_arrival",
    "read_arrivals",
    "register_arrivals",
]

GROWING = "it is still being written"

Named = tuple[tuple[str, str], ...]
"""Paths, each with its reason."""


@dataclass(frozen=True)
class Arrivals:
    """What a listing found: files to take, files not taken, and taken files that bronze will not find as they were."""

    taken: int = 0
    refused: Named = ()
    repeated: Named = ()
    waiting: Named = ()
    unread: Named = ()
    closed: str | None = None


def register_arrivals(feed: Feed, arrived_at: datetime, consumed: int | None = None) -> Arrivals:
    """Append what is new to the arrivals table. `consumed` is the last chunk that bronze has read."""
    history = History(read_arrivals(feed.arrivals), feed.bronze)
    listing = list_folder(feed.landing, feed.source.path, feed.source.pattern)
    hidden = [(file, f"{HIDDEN} `{feed.take_command(file.path)}`") for file in listing.files if is_hidden(file.path)]
    refused = [refuse_unread(file, reason) for file, reason in [*listing.refused, *hidden] if not history.knows(file, reason)]
    files = [file for file in listing.files if not is_hidden(file.path) and not history.knows(file)]
    settled, unsettled = _split_settled(feed, files, arrived_at)
    judged, growing = _judge_all(feed, settled, history)
    rows = sorted([*refused, *judged], key=lambda row: str(row["path"]))
    waiting = (*listing.waiting, *unsettled, *growing)
    unread = tuple(find_unread(feed, history.rows, listing, consumed or 0))
    if rows:
        append_chunks(feed, rows, arrived_at)
    taken = sum(row["verdict"] == TAKEN for row in rows)
    closed = None if taken or waiting else close_if_idle(feed, history.rows, arrived_at)
    return Arrivals(taken, _named(rows, REFUSED), _named(rows, REPEATED), waiting, unread, closed)


def is_hidden(path: str) -> bool:
    return path.rpartition("/")[2].startswith((".", "_"))


def _split_settled(feed: Feed, files: list[LandedFile], arrived_at: datetime) -> tuple[list[LandedFile], Named]:
    """Files that are old enough to be whole, and those that wait."""
    if feed.source.settle is None:
        return files, ()
    newest = arrived_at - parse_duration(feed.source.settle)
    reason = "it was modified at {}, less than {} ago"
    waiting = ((f.path, reason.format(f.modified_at, feed.source.settle)) for f in files if f.modified_at > newest)
    return [file for file in files if file.modified_at <= newest], tuple(waiting)


def _judge_all(feed: Feed, files: list[LandedFile], history: History) -> tuple[list[Row], Named]:
    """The verdicts in the order of paths, so that of two new files that say the same the first is taken; and the files that wait."""
    earlier = [as_earlier(history.earlier(file.path)) if history.taken(file.path) else None for file in files]
    with ThreadPoolExecutor(4) as pool:
        contents = list(pool.map(lambda file, before: _read_quiet(feed, file, before), files, earlier))
    rows, waiting = [], []
    for file, content in zip(files, contents, strict=True):
        if isinstance(content, str):
            waiting.append((file.path, content))
        else:
            rows.append(judge(feed, file, content, history))
            history.add(rows[-1])
    return rows, tuple(waiting)


def _read_quiet(feed: Feed, file: LandedFile, earlier: Earlier | None) -> Content | str:
    """The content, or why the file must wait for a later run."""
    try:
        return read_content(feed.landing, file, feed.source.format, earlier) or GROWING
    except OSError as error:
        return f"it cannot be read: {say(error)}"


def _named(rows: list[Row], verdict: str) -> Named:
    return tuple((row["path"], row["reason"]) for row in rows if row["verdict"] == verdict)
