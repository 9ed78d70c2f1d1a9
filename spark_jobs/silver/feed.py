"""What a row's table had seen of its feed when the row's file came: by it a row is known to be late, however
files are grouped.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.lake.seen import Seen


@dataclass(frozen=True)
class Feed:
    """How far the table had come before the batch, and the close marks of its source since then."""

    seen: Seen = field(default_factory=Seen)
    marks: tuple[int, ...] = ()


def add_seen(
    rows: DataFrame,
    accepted: DataFrame,
    event_time: str,
    feed: Feed,
    highs: Mapping[int, datetime | None],
    *,
    is_stream: bool = False,
) -> DataFrame:
    """Adds `_seen_until` and `_closed_until`. Files stand in the order of their arrival: the chunk, then the
    path. Of a stream a chunk is one moment: the partitions and data files that it was read from have no
    order.

    `accepted` are the rows of the batch that move the watermark; `highs` the greatest event time before each
    close mark.
    """
    files = accepted.groupBy("_file_id", "_chunk", "_file").agg(F.max(event_time).alias("_newest"))
    earlier_files = Window.orderBy("_chunk", "_file").rowsBetween(Window.unboundedPreceding, -1)
    before = (
        Window.orderBy("_chunk").rangeBetween(Window.unboundedPreceding, -1) if is_stream else earlier_files
    )
    earlier = files.select(
        "_file_id",
        "_chunk",
        F.greatest(F.max("_newest").over(before), _literal(feed.seen.high)).alias("_seen_until"),
    )
    joined = rows.join(F.broadcast(earlier), on=["_file_id", "_chunk"], how="left")
    return joined.withColumn("_closed_until", _closed_until(feed, highs)).select(
        *rows.columns, "_seen_until", "_closed_until"
    )


def _closed_until(feed: Feed, highs: Mapping[int, datetime | None]) -> Column:
    """The newest mark before the row's chunk counts; without one, what was closed before the batch."""
    closed = _literal(feed.seen.closed_until)
    for mark in sorted(feed.marks):
        at_mark = max(filter(None, (feed.seen.high, highs.get(mark))), default=None)
        closed = F.when(F.col("_chunk") > mark, _literal(at_mark)).otherwise(closed)
    return closed


def _literal(at: datetime | None) -> Column:
    return F.lit(at).cast("timestamp")
