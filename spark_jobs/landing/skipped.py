"""The files of a source whose records are not in bronze: refused, repeated, unreadable, or left out by a
person; one FileAside each.

A person decides about such a file: `weir take` takes it in, `discard_file` says that it is not wanted.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from spark_jobs.config.errors import did_you_mean
from spark_jobs.config.names import shorten
from spark_jobs.config.text import count
from spark_jobs.lake.delta_table import DeltaTable
from spark_jobs.landing.arrivals import (
    DISCARDED,
    REFUSED,
    REPEATED,
    TAKEN,
    Row,
    append_chunks,
    newest_decisions,
    read_arrivals,
)
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.history import file_ids

UNREADABLE = "unreadable"
LISTED = 3
"""So many files of a kind are named in a message that tells of all of them."""
KEPT = ("path", "size", "modified_at", "content_hash", "file_id", "tag")
"""What a decision repeats of the file that it is about."""


class NotDiscardable(Exception):
    """The file cannot be discarded: its path, why, and what to do."""

    def __init__(self, path: str, reason: str, hint: str = "") -> None:
        self.path, self.reason, self.hint = path, reason, hint
        super().__init__(
            f"{shorten(path, 200)} cannot be discarded: {reason}" + (f"; {hint}" if hint else "")
        )


@dataclass(frozen=True)
class FileAside:
    """`verdict`: refused, repeated, unreadable, or discarded. `command` takes it in."""

    source: str
    path: str
    verdict: str
    reason: str
    arrived_at: datetime
    command: str

    @property
    def is_open(self) -> bool:
        return self.verdict != DISCARDED


def files_set_aside(feed: Feed) -> list[FileAside]:
    """All of them in the order of their paths, those that were discarded too."""
    found = files_without_records(feed.arrivals, feed.bronze)
    return [
        FileAside(feed.name, path, verdict, reason, row["arrived_at"], feed.take_command(path))
        for path, verdict, reason, row in found
    ]


def files_without_records(arrivals: str, bronze: str | None) -> list[tuple[str, str, str, Row]]:
    """The same by the tables alone: path, verdict, reason and the newest decision of each. Without bronze no
    file is unreadable.
    """
    decisions = newest_decisions(read_arrivals(arrivals))
    problems = _unreadable(bronze) if bronze else {}
    found = []
    for path, row in decisions.items():
        verdict, reason = row["verdict"], row["reason"]
        if verdict == TAKEN and _is_unread(row, problems):
            verdict, reason = UNREADABLE, problems[row["file_id"]][1]
        if verdict in (REFUSED, REPEATED, UNREADABLE, DISCARDED):
            found.append((path, verdict, reason or "", row))
    return found


def say_more(pipeline: str, source: str, kind: str, total: int) -> str:
    """How many files of a kind there are beside the first, which were named, and where all of them are."""
    files = f"{count(total - LISTED, 'more file')} {kind} ({total:,} in all)"
    return f"{source}: {files}: `weir quarantine list {pipeline} bronze.{source}` lists them"


def discard_files(feed: Feed, paths: Sequence[str], arrived_at: datetime, by: str, reason: str) -> int:
    """Write down that these files are not wanted, all or none of them; gives the last chunk. The caller holds
    the pipeline's lease.
    """
    decisions = check_discardable(feed, paths)
    row = {"verdict": DISCARDED, "reason": f"by {by}: {reason}", "start_byte": None, "start_line": None}
    return append_chunks(
        feed,
        [{name: decisions[path].get(name) for name in KEPT} | row for path in dict.fromkeys(paths)],
        arrived_at,
    )


def check_discardable(feed: Feed, paths: Sequence[str]) -> dict[str, Row]:
    """NotDiscardable unless each of these files waits for a decision; gives the newest decision per path."""
    decisions = newest_decisions(read_arrivals(feed.arrivals))
    waiting = {file.path: file for file in files_set_aside(feed)}
    for path in paths:
        _check_open(feed, path, waiting, path in decisions)
    return decisions


def _check_open(feed: Feed, path: str, waiting: dict[str, FileAside], is_known: bool) -> None:
    file = waiting.get(path)
    if file is None:
        why = (
            f"its records are in {feed.table}, or come there with the next run"
            if is_known
            else f"{feed.name} knows no such file"
        )
        raise NotDiscardable(
            path, why, did_you_mean(path, (known.path for known in waiting.values() if known.is_open))
        )
    if not file.is_open:
        raise NotDiscardable(
            path, f"it was discarded already, {file.reason}", f"to take it in after all: `{file.command}`"
        )


def _is_unread(row: Row, problems: dict[str, tuple[int, str]]) -> bool:
    """Bronze has tried it since it was taken last, and holds nothing of it but the problem."""
    return row["file_id"] in problems and problems[row["file_id"]][0] >= row["chunk"]


def _unreadable(bronze: str) -> dict[str, tuple[int, str]]:
    """Per file id of which bronze has no record: the last chunk in which it was tried, and what was wrong."""
    import pyarrow.dataset as ds  # takes a third of a second: only where something is looked for

    if not DeltaTable.is_deltatable(bronze):
        return {}
    rows = (
        DeltaTable(bronze)
        .to_pyarrow_dataset()
        .to_table(columns=["_file_id", "_chunk", "_problem"], filter=ds.field("_line") == 0)
    )
    newest = {
        row["_file_id"]: (row["_chunk"], row["_problem"])
        for row in sorted(rows.to_pylist(), key=lambda row: row["_chunk"])
    }
    read = file_ids(bronze, is_record=True, among=newest) if newest else ()
    return {file_id: found for file_id, found in newest.items() if file_id not in read}
