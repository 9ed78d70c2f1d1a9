"""Gold tables made by `from`: plain windows and groups over a whole silver table."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.gold import Gold

WINDOW = ("window_start", "window_end")


def key_of(gold: Gold) -> list[str]:
    return [*(WINDOW if gold.window else ()), *gold.group_by]


def keeps_late(gold: Gold) -> bool:
    return gold.watermark is not None and gold.late == "keep"


def aggregate(silver: DataFrame, gold: Gold, column: str, progress: DataFrame | None) -> DataFrame:
    """All windows and groups; with `emit: append` those that are closed, with `late: keep` without the rows that came too late."""
    rows = in_windows(silver, gold, column)
    if keeps_late(gold):
        rows = rows.where(~_is_late(str(gold.watermark)))
    measures = [F.expr(measure).alias(name) for name, measure in gold.measures.items()]
    if gold.window and gold.window.gap:
        session = F.session_window(F.col(column), gold.window.gap)
        found = rows.where(F.col(column).isNotNull()).groupBy(session.alias("_window"), *gold.group_by)
        bounds = [F.col(f"_window.{edge}").alias(f"window_{edge}") for edge in ("start", "end")]
        result = found.agg(*measures, F.count(F.lit(1)).alias("_row_count")).select(*bounds, "*").drop("_window")
    else:
        result = rows.groupBy(*key_of(gold)).agg(*measures, F.count(F.lit(1)).alias("_row_count"))
    if not key_of(gold):  # SQL gives one row even for no rows at all
        result = result.where("_row_count > 0")
    if gold.mode == "append" and gold.watermark and progress is not None:
        result = result.crossJoin(F.broadcast(progress)).where(_is_closed(gold.watermark)).drop(*progress.columns)
    return result


def late_rows(silver: DataFrame, gold: Gold, column: str) -> DataFrame:
    """The rows that `late: keep` sets aside, once per window that they are late in."""
    late = in_windows(silver, gold, column).where(_is_late(str(gold.watermark)))
    return late.select(*WINDOW, F.col("_file_id").alias("file_id"), F.col("_line").alias("line"))


def in_windows(silver: DataFrame, gold: Gold, column: str) -> DataFrame:
    rows = silver.where(gold.where) if gold.where else silver
    if gold.window is None or gold.window.gap:
        return rows
    window = F.window(F.col(column), gold.window.length, gold.window.step)
    return rows.select("*", window.alias("_window")).select(
        *silver.columns, F.col("_window.start").alias("window_start"), F.col("_window.end").alias("window_end")
    )


def _is_late(watermark: str) -> Column:
    """What the table had seen before the row's file came says that the window was closed."""
    is_behind = F.col("window_end") <= F.col("_seen_until") - F.expr(f"INTERVAL {watermark}")
    is_after_close = F.col("window_start") <= F.col("_closed_until")
    return F.coalesce(is_behind, F.lit(False)) | F.coalesce(is_after_close, F.lit(False))


def _is_closed(watermark: str) -> Column:
    is_behind = F.col("window_end") <= F.col("_high") - F.expr(f"INTERVAL {watermark}")
    is_after_close = F.col("window_start") <= F.col("_closed")
    return F.coalesce(is_behind, F.lit(False)) | F.coalesce(is_after_close, F.lit(False))
