"""What is decided about a new file. What enters: the file, its content and what was decided before. What
leaves: a row for the arrivals.
"""

import hashlib
from datetime import datetime
from typing import Any

from spark_jobs.landing.arrivals import CLOSED, REFUSED, REPEATED, TAKEN, TOUCHED, Row
from spark_jobs.landing.content import Content, Start
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.folder import LandedFile
from spark_jobs.landing.history import History

HIDDEN = (
    "names that start with . or _ are taken for unfinished or private files; rename it when it is whole, or"
    " take it in with"
)
APPENDED = "it was appended to after it was taken; what is new is taken in with"
REWRITTEN = "it says something else than when it was taken; the new content is taken in with"
UNREAD = "it could not be read when it was taken; it is taken in again with"
DOUBT = "it was appended to after it was taken, but {doubt}; the whole line is taken in as well with"


def judge(feed: Feed, file: LandedFile, content: Content, history: History) -> Row:
    """The verdict on a file whose name and kind are in order."""
    source, path = feed.files, file.path
    if history.is_discarded(path, content.content_hash):
        return make_row(file, content, TOUCHED)
    command = f"`{feed.take_command(path)}`"
    taken = [row for row in history.taken(path) if row["size"] or not file.size]
    if any(row["content_hash"] == content.content_hash for row in taken):
        is_unread = make_file_id(path, content.content_hash) in history.unreadable
        return (
            make_row(file, content, REFUSED, f"{UNREAD} {command}")
            if is_unread
            else make_row(file, content, TOUCHED)
        )
    first = history.said_by(path, content.content_hash) if source.same_content == "skip" else None
    if first is not None:
        return make_row(file, content, REPEATED, f"it says exactly what {first!r} said")
    if taken and source.changed == "refuse":
        return make_row(file, content, REFUSED, f"{APPENDED if content.is_appended else REWRITTEN} {command}")
    if content.start and content.start.doubt:
        return make_row(file, content, REFUSED, f"{DOUBT.format(doubt=content.start.doubt)} {command}")
    return make_row(file, content, TAKEN, start=content.start)


def refuse_unread(file: LandedFile, reason: str) -> Row:
    """A file that is refused for its name or kind, without a look at its content."""
    return make_row(file, None, REFUSED, reason)


def close_mark(arrived_at: datetime, reason: str) -> Row:
    return make_row(LandedFile("", 0, arrived_at), None, CLOSED, reason)


def make_row(
    file: LandedFile,
    content: Content | None,
    verdict: str,
    reason: str | None = None,
    start: Start | None = None,
) -> Row:
    row: dict[str, Any] = {
        "path": file.path,
        "size": file.size,
        "modified_at": file.modified_at,
        "tag": file.tag,
    }
    row |= {"verdict": verdict, "reason": reason}
    row |= {
        "content_hash": content and content.content_hash,
        "file_id": content and make_file_id(file.path, content.content_hash),
    }
    return row | {"start_byte": start and start.byte, "start_line": start and start.line}


def make_file_id(path: str, content_hash: str) -> str:
    """The same file has the same id in every lake."""
    return hashlib.sha256(f"{path}\0{content_hash}".encode()).hexdigest()[:16]
