"""Windows over a silver table. What enters: changes of silver rows. What leaves: exactly the windows they
touch, recomputed from silver.

A window is a function of the silver rows in it, so it comes out the same however the changes were grouped.
"""

from dataclasses import dataclass
from datetime import datetime

from pyspark.sql import Column, DataFrame
from pyspark.sql import Window as Over
from pyspark.sql import functions as F

from spark_jobs.config.gold import Gold, Window
from spark_jobs.config.names import parse_duration
from spark_jobs.gold.calendar import in_calendar
from spark_jobs.lake.json_text import WHOLE_JSON
from spark_jobs.lake.queries import refuse_clocks, refuse_floating_sums
from spark_jobs.lake.seen import Watermark

BOUNDS = ("window_start", "window_end")
"""Columns of every row of a window: measures may name them, and mean this window's."""
MOST_WINDOWS_LISTED = 500
"""Touched windows that a replace names one by one; beyond it the whole span between the first and the last is
recomputed.
"""


@dataclass(frozen=True)
class Selection:
    """Some windows: a SQL condition on window_start and window_end, of literals only, and the span of event
    times that they hold.

    Times are kept as Spark writes them: a feed's mistaken year may lie outside Python's.
    """

    condition: str
    earliest: str | None = None
    before: str | None = None

    def narrowed(self, condition: str) -> "Selection":
        return Selection(f"({self.condition}) AND ({condition})", self.earliest, self.before)


def find_touched(changes: DataFrame, gold: Gold, event_time: str) -> Selection | None:
    """The windows of the rows' old and new images; a bounded number of starts comes to the driver."""
    assert gold.window is not None
    starts = windowed(changes, gold, event_time).select("window_start").distinct()
    listed = starts.orderBy("window_start").limit(MOST_WINDOWS_LISTED + 1)
    found = [row[0] for row in listed.select(F.col("window_start").cast("string")).collect()]
    if not found:
        return None
    last = found[-1]
    condition = f"window_start IN ({', '.join(map(_literal, found))})"
    if len(found) > MOST_WINDOWS_LISTED:
        last = starts.agg(F.max("window_start").cast("string")).collect()[0][0]
        condition = f"window_start >= {_literal(found[0])} AND window_start <= {_literal(last)}"
    return Selection(condition, _literal(found[0]), f"{_literal(last)} + INTERVAL {gold.window.longest}")


def closed_windows(watermark: Watermark) -> str:
    """The windows that are closed, as a SQL condition."""
    conditions = [
        *([f"window_end <= {literal_time(watermark.until)}"] if watermark.until else []),
        *([f"window_start <= {literal_time(watermark.closed_until)}"] if watermark.closed_until else []),
    ]
    return " OR ".join(conditions) or "false"


def newly_closed(gold: Gold, before: Watermark, now: Watermark) -> Selection:
    """The windows that were open at the watermark `before` and are closed `now`."""
    assert gold.window is not None
    condition = f"({closed_windows(now)}) AND NOT ({closed_windows(before)})"
    ends = [*([literal_time(now.until)] if now.until else [])]
    ends += [f"{literal_time(now.closed_until)} + INTERVAL {gold.window.longest}"] if now.closed_until else []
    earliest = f"{literal_time(before.until)} - INTERVAL {gold.window.longest}" if before.until else None
    return Selection(
        condition, earliest, f"greatest({', '.join(ends)})" if len(ends) > 1 else ends[0] if ends else None
    )


def select_rows(silver: DataFrame, gold: Gold, event_time: str, selection: Selection | None) -> DataFrame:
    """The silver rows of the selected windows (or of all), once per window that they are in."""
    at, rows = F.col(event_time), silver.where(gold.where) if gold.where else silver
    if selection and selection.earliest:
        rows = rows.where(at >= F.expr(selection.earliest))
    if selection and selection.before:
        rows = rows.where(at < F.expr(selection.before))
    in_windows = windowed(rows, gold, event_time)
    return in_windows.where(selection.condition) if selection else in_windows


def aggregate(rows: DataFrame, gold: Gold, processed_at: datetime) -> DataFrame:
    """One row per window and group, or per group where the table has no window."""
    measures = [F.expr(expression).alias(name) for name, expression in gold.measures.items()]
    groups = [*(["window_start", "window_end"] if gold.window else []), *gold.group_by]
    counted = rows.groupBy(*groups).agg(*measures, F.count(F.lit(1)).alias("_row_count"))
    refuse_clocks(counted, ", ".join(gold.measures.values()))
    refuse_floating_sums(counted, ", ".join(gold.measures.values()))
    if gold.where:
        refuse_clocks(rows.where(gold.where), gold.where)
    if not groups:  # SQL gives one row even for no rows at all
        counted = counted.where("_row_count > 0")
    return counted.select(*groups, *gold.measures, "_row_count", F.lit(processed_at).alias("_processed_at"))


def with_running(windows: DataFrame, gold: Gold) -> DataFrame:
    """Adds the running totals of each group: over its windows up to this one, in their order."""
    before = Over.partitionBy(*gold.group_by).orderBy("window_start")
    before = before.rowsBetween(Over.unboundedPreceding, Over.currentRow)
    totals = {name: F.expr(total).over(before) for name, total in gold.running.items()}
    at = windows.columns.index("_row_count")
    in_order = [*windows.columns[:at], *totals, *windows.columns[at:]]
    return windows.withColumns(totals).select(*in_order) if totals else windows


def windowed(rows: DataFrame, gold: Gold, event_time: str) -> DataFrame:
    assert gold.window is not None
    if gold.window.calendar:
        rows, window = rows.where(F.col(event_time).isNotNull()), in_calendar(gold.window, F.col(event_time))
    else:
        window = F.window(F.col(event_time), gold.window.length, gold.window.step)
    own = [name for name in rows.columns if name not in BOUNDS]
    return rows.withColumn("_window", window).select(
        *own, F.col("_window.start").alias("window_start"), F.col("_window.end").alias("window_end")
    )


def window_count(window: Window, at: Column) -> Column:
    """In how many windows a time lies, by arithmetic: what is checked against the windows themselves."""
    if window.calendar:
        return at.isNotNull().cast("bigint")
    size, slide = _micros(window.length), _micros(window.step)
    last, before_first = _start(F.unix_micros(at), slide), _start(F.unix_micros(at) - size, slide)
    return F.coalesce(((last - before_first) / slide).cast("bigint"), F.lit(0))


def first_window(window: Window, at: Column) -> tuple[Column, Column]:
    """Start and end of the earliest window in which a time lies: the first to close. A row alone would be a
    session of one gap.
    """
    if window.gap:
        return at, at + F.expr(f"INTERVAL {window.gap}")
    if window.calendar:
        found = in_calendar(window, at)
        return found["start"], found["end"]
    size, slide = _micros(window.length), _micros(window.step)
    start = _start(F.unix_micros(at) - size, slide) + slide
    return F.timestamp_micros(start), F.timestamp_micros(start + size)


def _start(micros: Column, slide: int) -> Column:
    return micros - F.pmod(micros, F.lit(slide))


def _micros(duration: str) -> int:
    return int(parse_duration(duration).total_seconds()) * 1_000_000


def literal_time(at: datetime) -> str:
    # strftime writes the year 999 with three digits
    return _literal(at.replace(tzinfo=None).isoformat(" ", "microseconds"))


def _literal(at: str) -> str:
    return f"TIMESTAMP '{at}'"


# How often a window was replaced after it had closed. A window that comes out as it was keeps its revision
# and its processing time.


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
