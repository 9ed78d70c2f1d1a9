"""How often a window was replaced after it had closed. A window that comes out as it was keeps its revision
and its processing time.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.gold.windows import closed_windows
from spark_jobs.lake.json_text import WHOLE_JSON
from spark_jobs.lake.seen import Watermark

BESIDE = ("_processed_at", "_revision")


def first_revision(windows: DataFrame) -> DataFrame:
    return windows.withColumn("_revision", F.lit(0))


def count_revisions(windows: DataFrame, old: DataFrame, closed: Watermark) -> DataFrame:
    """Adds `_revision` to recomputed windows, against the same windows as they stand."""
    was = _content(old).select(
        "window_start",
        F.col("_said").alias("_was_said"),
        F.col("_revision").alias("_was"),
        F.col("_processed_at").alias("_was_at"),
    )
    joined = windows.join(_content(windows).select("window_start", "_said"), on="window_start", how="inner")
    joined = joined.join(was, on="window_start", how="left")
    is_same = F.coalesce(F.col("_said") == F.col("_was_said"), F.lit(False))
    is_reopened = F.col("_was").isNotNull() & ~is_same & F.expr(closed_windows(closed))
    revision = F.coalesce("_was", F.lit(0)) + is_reopened.cast("int")
    at = F.when(is_same, F.col("_was_at")).otherwise(F.col("_processed_at"))
    columns = [
        at.alias("_processed_at") if name == "_processed_at" else F.col(name) for name in windows.columns
    ]
    return joined.select(*columns, revision.alias("_revision"))


def _content(windows: DataFrame) -> DataFrame:
    """What each window says: its rows, in no order."""
    row = F.xxhash64(
        F.to_json(F.struct(*(name for name in windows.columns if name not in BESIDE)), WHOLE_JSON)
    )
    said = F.struct(F.bit_xor(row), F.count(F.lit(1)))
    beside = [F.max(name).alias(name) for name in BESIDE if name in windows.columns]
    return windows.groupBy("window_start").agg(said.alias("_said"), *beside)
