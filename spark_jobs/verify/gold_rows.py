"""Windows, native tables and what they had seen, computed a second time."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.config.gold import Dedup, Gold, Join

# Gold tables made by `from`: plain windows and groups over a whole silver table.

WINDOW = ("window_start", "window_end")


def key_of(gold: Gold) -> list[str]:
    return [*(WINDOW if gold.window else ()), *gold.group_by]


def keeps_late(gold: Gold) -> bool:
    return gold.watermark is not None and gold.late == "keep"


def aggregate(silver: DataFrame, gold: Gold, column: str, progress: DataFrame | None) -> DataFrame:
    """All windows and groups; with `emit: append` those that are closed, with `late: keep` without the rows
    that came too late.
    """
    rows = in_windows(silver, gold, column)
    if keeps_late(gold):
        rows = rows.where(~_is_late(str(gold.watermark)))
    measures = [F.expr(measure).alias(name) for name, measure in gold.measures.items()]
    if gold.window and gold.window.gap:
        rows = in_sessions(rows.where(F.col(column).isNotNull()), gold.group_by, column, gold.window.gap)
    result = rows.groupBy(*key_of(gold)).agg(*measures, F.count(F.lit(1)).alias("_row_count"))
    if not key_of(gold):  # SQL gives one row even for no rows at all
        result = result.where("_row_count > 0")
    groups = f"PARTITION BY {', '.join(f'`{name}`' for name in gold.group_by)}" if gold.group_by else ""
    until_now = f"({groups} ORDER BY window_start RANGE UNBOUNDED PRECEDING)"
    result = result.select(
        "*", *(F.expr(f"{total} OVER {until_now}").alias(name) for name, total in gold.running.items())
    )
    if gold.mode == "append" and gold.watermark and progress is not None:
        result = (
            result.crossJoin(F.broadcast(progress)).where(_is_closed(gold.watermark)).drop(*progress.columns)
        )
    return result


def late_rows(silver: DataFrame, gold: Gold, column: str) -> DataFrame:
    """The rows that `late: keep` sets aside, once per window that they are late in."""
    late = in_windows(silver, gold, column).where(_is_late(str(gold.watermark)))
    return late.select(*WINDOW, F.col("_file_id").alias("file_id"), F.col("_line").alias("line"))


def in_windows(silver: DataFrame, gold: Gold, column: str) -> DataFrame:
    rows = silver.where(gold.where) if gold.where else silver
    if gold.window is None or gold.window.gap:
        return rows
    if gold.window.calendar:
        rows = rows.where(F.col(column).isNotNull())
        window = calendar_window(gold.window.calendar, gold.window.zone or "UTC", column)
    else:
        window = F.window(F.col(column), gold.window.length, gold.window.step)
    return rows.select("*", window.alias("_window")).select(
        *(name for name in silver.columns if name not in WINDOW),
        F.col("_window.start").alias("window_start"),
        F.col("_window.end").alias("window_end"),
    )


def in_sessions(rows: DataFrame, groups: Sequence[str], column: str, gap: str) -> DataFrame:
    """Each row with the bounds of its session: one begins more than a gap behind the row before."""
    at, length = F.col(column), F.expr(f"INTERVAL {gap}")
    in_order = Window.partitionBy(*groups).orderBy(column)
    is_first = F.coalesce(F.lag(at).over(in_order) + length < at, F.lit(True))
    before = in_order.rangeBetween(Window.unboundedPreceding, Window.currentRow)
    numbered = rows.withColumn("_is_first", is_first.cast("int")).withColumn(
        "_session", F.sum("_is_first").over(before)
    )
    session = Window.partitionBy(*groups, "_session")
    bounds = {"window_start": F.min(at).over(session), "window_end": F.max(at).over(session) + length}
    return numbered.withColumns(bounds).drop("_is_first", "_session")


NEXT_DAY = {
    "day": "date_add({day}, 1)",
    "week": "date_add({day}, 7)",
    "month": "add_months({day}, 1)",
    "quarter": "add_months({day}, 3)",
    "year": "add_months({day}, 12)",
}
LOCAL_DAY = "CAST(convert_timezone('UTC', '{zone}', CAST({at} AS TIMESTAMP_NTZ)) AS DATE)"
MIDNIGHT = "make_timestamp(year({day}), month({day}), day({day}), 0, 0, 0, '{zone}')"


def calendar_window(unit: str, zone: str, column: str) -> Column:
    """By dates: the last of three neighbouring midnights of the zone that is not after the time, and the one
    behind it.
    """
    day = LOCAL_DAY.format(zone=zone, at=f"`{column}`")
    first = day if unit == "day" else f"CAST(date_trunc('{unit}', {day}) AS DATE)"
    second = NEXT_DAY[unit].format(day=first)
    third = NEXT_DAY[unit].format(day=second)
    starts = [MIDNIGHT.format(day=each, zone=zone) for each in (first, second, third)]
    late, early = (F.expr(f"named_struct('start', {starts[at]}, 'end', {starts[at + 1]})") for at in (1, 0))
    return F.when(F.col(column) >= F.expr(starts[1]), late).otherwise(early)


def _is_late(watermark: str) -> Column:
    """What the table had seen before the row's file came says that the window was closed."""
    is_behind = F.col("window_end") <= F.col("_seen_until") - F.expr(f"INTERVAL {watermark}")
    is_after_close = F.col("window_start") <= F.col("_closed_until")
    return F.coalesce(is_behind, F.lit(False)) | F.coalesce(is_after_close, F.lit(False))


def _is_closed(watermark: str) -> Column:
    is_behind = F.col("window_end") <= F.col("_high") - F.expr(f"INTERVAL {watermark}")
    is_after_close = F.col("window_start") <= F.col("_closed")
    return F.coalesce(is_behind, F.lit(False)) | F.coalesce(is_after_close, F.lit(False))


# What can be recomputed of native stateful tables: the pairs of a join, and that dedup has published one row
# of every key, none twice. Rows that were late for the query are taken as recorded. Rows of an outer join
# that found no partner must be in the table once no partner can come any more; before, they are held in its
# state, and are compared only where they stand.

MARGIN = "INTERVAL 1 second"
"""Spark's watermark has milliseconds: what lies so close to it may be in the table or not."""
PLACE = ("_file_id", "_line", "_event_at")
SIDES = ("left", "right")
PLACES = tuple(f"_{side}_{name}" for side in SIDES for name in ("file_id", "line"))


def on_time(silver: DataFrame, late: DataFrame | None, table: str) -> DataFrame:
    """The rows of a silver table without those that the native table has set aside as late."""
    if late is None:
        return silver
    places = late.where(F.col("input") == table).select(
        *(F.col(name.removeprefix("_")).alias(name) for name in PLACE)
    )
    return silver.join(places, on=list(PLACE), how="left_anti")


def newest_of(silver: DataFrame) -> DataFrame:
    """The greatest event time (`_high`) of the rows that a query has read. Its table may have seen later
    ones, which rules have quarantined: by these the query comes further with its next row, and not before.
    """
    return silver.where(F.col("_event_at") >= F.expr(EARLIEST)).agg(F.max("_event_at").alias("_high"))


def watermark_of(join: Join, newest: Sequence[DataFrame]) -> DataFrame:
    """How far the query has come at least (`_until`), by the greatest event times (`_high`) that it has read
    of both inputs.
    """
    left, right = (
        frame.select((F.col("_high") - F.expr(f"INTERVAL {side.watermark}")).alias(f"_{name}"))
        for frame, side, name in zip(newest, join.sides.values(), SIDES, strict=True)
    )
    both = [F.col(f"_{name}") for name in SIDES]
    until = F.least(*both) if join.watermark_policy == "min" else F.greatest(*both)
    is_known = both[0].isNotNull() & both[1].isNotNull()
    return left.crossJoin(right).select(F.when(is_known, until).alias("_until"))


def join_rows(
    join: Join, left: DataFrame, right: DataFrame, standing: DataFrame | None, watermark: DataFrame
) -> DataFrame:
    """Every pair; and of rows without a partner those that stand in the table, or that can find none any
    more.
    """
    ours, theirs = left.alias("left"), right.alias("right")
    at, theirs_at = F.col("left._event_at"), F.col("right._event_at")
    earliest = at - F.expr(f"INTERVAL {join.within.before}") if join.within.before else at
    latest = at + F.expr(f"INTERVAL {join.within.after}") if join.within.after else at
    is_same = reduce(
        Column.__and__, (F.col(f"left.{mine}") == F.col(f"right.{other}") for mine, other in join.on.items())
    )
    how = {"inner": "inner", "left": "left_outer", "full": "full_outer"}[join.kind]
    places = [
        F.col(f"{side}._{name}").alias(f"_{side}_{name}") for side in SIDES for name in ("file_id", "line")
    ]
    taken = [F.col(path).alias(name) for name, path in join.take.items()]
    before = F.expr(f"INTERVAL {join.within.before}") if join.within.before else F.expr("INTERVAL 0 seconds")
    last_at = F.coalesce(latest, theirs_at + before).alias("_last_at")
    found = ours.join(theirs, on=is_same & theirs_at.between(earliest, latest), how=how).select(
        *taken, *places, last_at
    )
    is_pair = F.col("_left_file_id").isNotNull() & F.col("_right_file_id").isNotNull()
    alone = found.where(~is_pair).crossJoin(F.broadcast(watermark))
    is_due = F.coalesce(F.col("_last_at") + F.expr(MARGIN) < F.col("_until"), F.lit(False))
    pairs, due = (frame.drop("_last_at", "_until") for frame in (found.where(is_pair), alone.where(is_due)))
    if standing is None:
        return pairs.unionByName(due)
    stands = reduce(Column.__and__, (F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in PLACES))
    held = alone.where(~is_due).drop("_last_at", "_until")
    early = held.alias("a").join(standing.select(*PLACES).distinct().alias("b"), on=stands, how="left_semi")
    return pairs.unionByName(due).unionByName(early)


def dedup_rows(dedup: Dedup, rows: DataFrame, standing: DataFrame | None) -> DataFrame:
    """The rows that stand, as silver has them, and those of keys that the table does not know at all."""
    if standing is None:
        return rows
    known = standing.select(*dedup.on).distinct()
    same = reduce(Column.__and__, (F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in dedup.on))
    missing = rows.alias("a").join(known.alias("b"), on=same, how="left_anti").select(*rows.columns)
    return (
        rows.join(standing.select(*PLACE).distinct(), on=list(PLACE), how="left_semi")
        .select(*rows.columns)
        .unionByName(missing)
    )


# How far a silver table had seen the event time when each file came. What enters: its rows, of which the
# accepted ones count, and the close marks. What leaves: per file `_seen_until` and `_closed_until`, and for
# the table as a whole one row (`_high`, `_closed`).

EARLIEST = "TIMESTAMP '0100-01-01'"
"""Event times before it have no part in the watermark."""


def seen_by_file(
    judged: DataFrame, event_time: str, marks: DataFrame, *, is_stream: bool = False
) -> DataFrame:
    """Files in the order of their chunks, then of their paths; a close mark (`chunk`) stands before the files
    of later chunks. All that came in one chunk of a stream came at once.
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
    files = seen.where(~F.col("_is_mark")).select(
        "_file_id", "_chunk", "_file_number", "_seen_until", "_closed_until"
    )
    return rows.join(F.broadcast(files), on=["_file_id", "_chunk"], how="left")
