"""How far a silver table had seen the event time when each file came. What enters: its rows, of which the accepted ones count, and the
close marks. What leaves: per file `_seen_until` and `_closed_until`, and for the table as a whole one row (`_high`, `_closed`).
"""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

EARLIEST = "TIMESTAMP '0100-01-01'"
"""Event times before it have no part in the watermark."""


def seen_by_file(judged: DataFrame, event_time: str, marks: DataFrame, *, is_stream: bool = False) -> DataFrame:
    """Files in the order of their chunks, then of their paths; a close mark (`chunk`) stands before the files of later chunks. All that
    came in one chunk of a stream came at once.
    """
    counts = F.col("_is_accepted") & (F.col(event_time) >= F.expr(EARLIEST))
    latest = F.max(F.when(counts, F.col(event_time)))
    files = judged.groupBy("_file_id", "_chunk", F.col("_file").alias("_path")).agg(latest.alias("_latest"))
    events = files.withColumn("_is_mark", F.lit(False))
    nothing = F.lit(None)
    closes = marks.select(
        nothing.cast("string").alias("_file_id"),
        F.col("chunk").alias("_chunk"),
        nothing.cast("string").alias("_path"),
        nothing.cast("timestamp").alias("_latest"),
        F.lit(True).alias("_is_mark"),
    )
    in_order = Window.orderBy("_chunk", F.col("_path").asc_nulls_first())
    before = in_order.rowsBetween(Window.unboundedPreceding, -1)
    if is_stream:
        before = Window.orderBy("_chunk").rangeBetween(Window.unboundedPreceding, -1)
    numbered = events.unionByName(closes).withColumn("_file_number", F.row_number().over(in_order))
    seen = numbered.withColumn("_seen_until", F.max("_latest").over(before))
    closed = F.max(F.when(F.col("_is_mark"), F.col("_seen_until"))).over(before)
    return seen.withColumn("_closed_until", closed)


def progress(seen: DataFrame) -> DataFrame:
    """How far the table has come now."""
    closed_until = F.max(F.when(F.col("_is_mark"), F.col("_seen_until")))
    return seen.agg(F.max("_latest").alias("_high"), closed_until.alias("_closed"))


def with_seen(rows: DataFrame, seen: DataFrame) -> DataFrame:
    files = seen.where(~F.col("_is_mark")).select("_file_id", "_chunk", "_file_number", "_seen_until", "_closed_until")
    return rows.join(F.broadcast(files), on=["_file_id", "_chunk"], how="left")
