"""Windows over a silver table. What enters: changes of silver rows. What leaves: exactly the windows they touch, recomputed from silver.

A window is a function of the silver rows in it, so it comes out the same however the changes were grouped.
"""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.pipeline import Gold

MOST_WINDOWS_LISTED = 500
"""Touched windows that a replace names one by one; beyond it the whole span between the first and the last is recomputed."""


@dataclass(frozen=True)
class Touched:
    """The windows that a batch of changes touches: their starts, or where these are too many, the first and the last of them.

    Times are kept as Spark writes them: a feed's mistaken year may lie outside Python's.
    """

    first: str
    last: str
    starts: tuple[str, ...] | None

    @property
    def condition(self) -> str:
        """As a SQL condition on window_start, of literals only."""
        if self.starts is None:
            return f"window_start >= {_literal(self.first)} AND window_start <= {_literal(self.last)}"
        return f"window_start IN ({', '.join(_literal(start) for start in self.starts)})"


def find_touched(changes: DataFrame, gold: Gold, event_time: str) -> Touched | None:
    """The windows of the rows' old and new images; a bounded number of starts comes to the driver."""
    starts = _windowed(changes, gold, event_time).select("window_start").distinct()
    listed = starts.orderBy("window_start").limit(MOST_WINDOWS_LISTED + 1)
    found = [row[0] for row in listed.select(F.col("window_start").cast("string")).collect()]
    if not found:
        return None
    if len(found) <= MOST_WINDOWS_LISTED:
        return Touched(found[0], found[-1], tuple(found))
    last = starts.agg(F.max("window_start").cast("string")).collect()[0][0]
    return Touched(found[0], last, None)


def compute_windows(silver: DataFrame, gold: Gold, event_time: str, touched: Touched | None, processed_at: datetime) -> DataFrame:
    """The touched windows (or all) from the silver rows that fall into them."""
    rows = silver
    if touched is not None and gold.window is not None:
        at, size = F.col(event_time), F.expr(f"INTERVAL {gold.window.size}")
        rows = rows.where((at >= F.expr(_literal(touched.first))) & (at < F.expr(_literal(touched.last)) + size))
    if gold.where:
        rows = rows.where(gold.where)
    windowed = _windowed(rows, gold, event_time)
    if touched is not None:
        windowed = windowed.where(touched.condition)
    return _aggregate(windowed, gold, processed_at, ["window_start", "window_end"])


def compute_groups(silver: DataFrame, gold: Gold, processed_at: datetime) -> DataFrame:
    """A table without windows: one row per group, over all rows."""
    rows = silver.where(gold.where) if gold.where else silver
    return _aggregate(rows, gold, processed_at, [])


def _windowed(rows: DataFrame, gold: Gold, event_time: str) -> DataFrame:
    assert gold.window is not None
    window = F.window(F.col(event_time), gold.window.size, gold.window.slide or gold.window.size)
    return rows.withColumn("_window", window).withColumns({"window_start": F.col("_window.start"), "window_end": F.col("_window.end")})


def _aggregate(rows: DataFrame, gold: Gold, processed_at: datetime, windows: list[str]) -> DataFrame:
    measures = [F.expr(expression).alias(name) for name, expression in gold.measures.items()]
    groups = [*windows, *gold.group_by]
    return rows.groupBy(*groups).agg(*measures).select(*groups, *gold.measures, F.lit(processed_at).alias("_processed_at"))


def _literal(at: str) -> str:
    return f"TIMESTAMP '{at}'"
