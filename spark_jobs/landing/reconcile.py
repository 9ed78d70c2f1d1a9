"""Landed files against arrivals: the files that were taken and that bronze will not find as they were."""

from collections.abc import Iterator

from spark_jobs.landing.arrivals import TAKEN
from spark_jobs.landing.content import is_plain_lines
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.folder import Listing
from spark_jobs.landing.history import History

GONE = "it was taken and is gone, before bronze was done with it"
CHANGED = "it was taken and has changed, before bronze was done with it"


def find_unread(feed: Feed, history: History, listing: Listing, consumed: int) -> Iterator[tuple[str, str]]:
    """The taken files of chunks after the consumed one that are gone or changed: bronze names them as unreadable.

    Lines that were appended to do no harm, because bronze reads exactly as far as the file went when it arrived.
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
