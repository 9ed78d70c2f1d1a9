"""Close marks: a row of the arrivals that says that what came before it is complete, so that windows which are still open can be closed."""

from collections.abc import Iterable
from datetime import datetime

from spark_jobs.config.names import parse_duration
from spark_jobs.landing.arrivals import CLOSED, TAKEN, Row, append_chunk, read_arrivals
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.verdicts import close_mark


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
    """When the last file arrived, by its chunk and not by a clock that may have been wrong; None where a mark stands after it."""
    decided = [row for row in rows if row["verdict"] in (TAKEN, CLOSED) and row.get("chunk")]
    last = max(decided, key=lambda row: int(row["chunk"]), default=None)
    return last["arrived_at"] if last and last["verdict"] == TAKEN else None
