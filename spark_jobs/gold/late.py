"""Late rows: those that came after their window had closed. A row knows what had been seen before its file
came, so lateness does not depend on how files were grouped into runs.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.gold import Gold
from spark_jobs.gold.windows import first_window
from spark_jobs.lake.json_text import MICROSECONDS

LATE_DDL = (
    "window_start timestamp, window_end timestamp, event_at timestamp, watermark_at timestamp, late_seconds"
    " double, row string, file string, file_id string, line bigint, arrived_at timestamp, set_aside_at"
    " timestamp, run_id string"
)


def is_late(gold: Gold, start: Column, end: Column) -> Column:
    """Whether a row was late for the window [start, end)."""
    if not gold.watermark:
        return F.lit(False)
    by_watermark = end <= F.col("_seen_until") - F.expr(f"INTERVAL {gold.watermark}")
    return F.coalesce(by_watermark, F.lit(False)) | F.coalesce(start <= F.col("_closed_until"), F.lit(False))


def is_late_row(gold: Gold, event_time: str) -> Column:
    """Whether a row was late for at least one of its windows: the earliest is the first to close."""
    if not gold.watermark or gold.window is None:
        return F.lit(False)
    return F.coalesce(is_late(gold, *first_window(gold.window, F.col(event_time))), F.lit(False))


def late_rows(
    rows: DataFrame, gold: Gold, event_time: str, declared: list[str], run: tuple[str, Column]
) -> DataFrame:
    """Rows of windows that were late for them, with the watermark of then and how far behind it they were."""
    run_id, processed_at = run
    at = F.col(event_time)
    watermark = F.greatest(
        F.col("_seen_until") - F.expr(f"INTERVAL {gold.watermark}"), F.col("_closed_until")
    )
    behind = (F.unix_micros(watermark) - F.unix_micros(at)) / F.lit(1_000_000.0)
    return rows.where(is_late(gold, F.col("window_start"), F.col("window_end"))).select(
        "window_start",
        "window_end",
        at.alias("event_at"),
        watermark.alias("watermark_at"),
        F.greatest(behind, F.lit(0.0)).alias("late_seconds"),
        F.to_json(F.struct(*declared), MICROSECONDS).alias("row"),
        F.col("_file").alias("file"),
        F.col("_file_id").alias("file_id"),
        F.col("_line").alias("line"),
        F.col("_arrived_at").alias("arrived_at"),
        processed_at.alias("set_aside_at"),
        F.lit(run_id).alias("run_id"),
    )
