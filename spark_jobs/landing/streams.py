"""Sources that are no files: how far they go, how far they were read, and each batch of them as a chunk of
the arrivals.

A row of the arrivals is a range of one partition: its path, as in kafka/orders/0, the first position as
`start_line`, and as `size` how many positions it spans. Of a topic positions are offsets + 1, and not every
offset is a message: bronze says how many were read.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from spark_jobs.config.connections import read_connection
from spark_jobs.config.loading import Project
from spark_jobs.config.sources import AnySource, DeltaSource, KafkaSource
from spark_jobs.lake.delta_log import table_version
from spark_jobs.landing.arrivals import TAKEN, Row, append_chunk, compact_arrivals, read_arrivals
from spark_jobs.landing.broker import read_ends
from spark_jobs.landing.feed import Feed
from spark_jobs.landing.look import Arrivals, Look
from spark_jobs.landing.taking import mark_if_idle


@dataclass(frozen=True)
class Range:
    """Positions [start, end) of one partition, counted from 0."""

    path: str
    start: int
    end: int


def look_at_stream(
    feed: Feed, arrived_at: datetime, consumed: int | None, settings: Mapping[str, str]
) -> Look:
    """What a run would read now. Nothing of it is registered before its batch begins."""
    known = read_arrivals(feed.arrivals)
    begun = [row for row in known if row["verdict"] == TAKEN and row["chunk"] > (consumed or 0)]
    ahead = [_row(place, arrived_at) for place in _find_ahead(feed, read_until(known), settings)]
    mark = None if ahead or begun else mark_if_idle(feed, known, arrived_at)
    found = Arrivals(len(ahead), closed=mark["reason"] if mark else None)
    return Look(found, ahead, mark, [*begun, *ahead], max((row["chunk"] for row in known), default=0) + 1)


def register_stream(
    feed: Feed, arrived_at: datetime, consumed: int | None, settings: Mapping[str, str]
) -> list[Row]:
    """Set a close mark where the source is idle, and give what a run will register."""
    look = look_at_stream(feed, arrived_at, consumed, settings)
    if look.rows and not look.is_behind:
        compact_arrivals(feed)
    if look.mark:
        append_chunk(feed, [look.mark], arrived_at)
    return [row for row in look.ahead if row["verdict"] == TAKEN]


def broker_settings(project: Project, source: AnySource) -> Mapping[str, str]:
    """What it takes to connect beside the servers, from the connections file; never shown."""
    if isinstance(source, KafkaSource) and source.connection:
        return read_connection(project.root, source.connection).settings
    return {}


def register_batch(
    feed: Feed, batch: str, ranges: list[Range], arrived_at: datetime, tag: str | None = None
) -> tuple[list[Row], datetime]:
    """The rows of a batch's chunk and when it arrived. A batch that was begun before keeps both, whatever was
    killed. `tag` is what tells a topic from another one of its name.
    """
    mine = [row for row in read_arrivals(feed.arrivals) if row["content_hash"] == batch]
    if not mine:
        append_chunk(
            feed,
            [{**_row(place, arrived_at), "content_hash": batch, "tag": tag} for place in ranges],
            arrived_at,
        )
        mine = [row for row in read_arrivals(feed.arrivals) if row["content_hash"] == batch]
    return mine, mine[0]["arrived_at"]


def last_tag(feed: Feed) -> str | None:
    """The tag that the last batch was registered with; None where none has one yet."""
    tagged = [row for row in read_arrivals(feed.arrivals) if row["verdict"] == TAKEN and row.get("tag")]
    return str(tagged[-1]["tag"]) if tagged else None


def count_misplaced(rows: Sequence[Row], found: Mapping[str, tuple[int, int, int, int]]) -> dict[str, int]:
    """Per partition of a batch, the messages in bronze that its offsets cannot have given: outside of them,
    or there twice. Offsets are not messages, so that fewer than these are no loss.
    """
    ranges = {row["path"]: (row["start_line"], row["start_line"] + row["size"]) for row in rows}
    wrong: dict[str, int] = {}
    for path, (count, places, first, last) in found.items():
        start, end = ranges.get(path, (0, 0))
        wrong[path] = count - places if start <= first and last < end else count
    return {path: count for path, count in wrong.items() if count}


def read_until(rows: list[Row]) -> dict[str, int]:
    """Per path the position that comes next."""
    until: dict[str, int] = {}
    for row in rows:
        if row["verdict"] == TAKEN:
            until[row["path"]] = max(until.get(row["path"], 0), row["start_line"] - 1 + row["size"])
    return until


def _find_ahead(feed: Feed, until: dict[str, int], settings: Mapping[str, str]) -> list[Range]:
    """What is there and was not read. A source that ends before what was read of it was re-created: it is not
    up to date, and whoever reads it says so.
    """
    source = feed.source
    if isinstance(source, KafkaSource):
        ends = {
            f"kafka/{source.topic}/{partition}": ends
            for partition, ends in read_ends(source, settings).items()
        }
        ranges = [Range(path, until.get(path, first), end) for path, (first, end) in ends.items()]
    elif isinstance(source, DeltaSource):
        version = table_version(f"{feed.landing}/{source.path}")
        ranges = [] if version is None else [Range(source.path, until.get(source.path, 0), version + 1)]
    elif source.format == "rate":  # the clock has always moved
        ranges = [Range("rate", until.get("rate", 0), until.get("rate", 0) + 1)]
    else:
        ranges = []
    return [
        place if place.end > place.start else replace(place, end=place.start + 1)
        for place in ranges
        if place.end != place.start
    ]


def _row(place: Range, arrived_at: datetime) -> Row:
    row: Row = {
        "path": place.path,
        "size": place.end - place.start,
        "modified_at": arrived_at,
        "verdict": TAKEN,
        "reason": None,
    }
    file_id = hashlib.sha256(place.path.encode()).hexdigest()[:16]  # as bronze has it
    return row | {
        "content_hash": None,
        "file_id": file_id,
        "start_byte": None,
        "start_line": place.start + 1,
        "arrived_at": arrived_at,
    }
