"""Native stateful queries as streaming frames: what a batch emits, and beside it every row that it read.

What enters: the rows of append-only silver tables. What leaves: rows with `what` became of them: `emitted`
(in `out`), and for each row that was read one of `on time` (it went into the state), `late` (in `late`, not
given to Spark's state) or `filtered`. Rows are late by what their own table had seen before their file came,
and by how far the query itself has come. The second is what Spark drops rows by: it never has one to drop.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Self

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.gold import Gold, Join
from spark_jobs.config.names import parse_delay
from spark_jobs.lake.json_text import MICROSECONDS
from spark_jobs.lake.seen import Seen, Watermark

EMITTED, ON_TIME, LATE, FILTERED = "emitted", "on time", "late", "filtered"
NATIVE_LATE_DDL = (
    "input string, reason string, event_at timestamp, watermark_at timestamp, late_seconds double, row"
    " string, file string, file_id string, line bigint, arrived_at timestamp, set_aside_at timestamp, run_id"
    " string"
)
LATE_ROW = (
    "struct<input:string,reason:string,event_at:timestamp,watermark_at:timestamp,late_seconds:double,row:string,file:string,"
    "file_id:string,line:bigint,arrived_at:timestamp>"
)
BEHIND_TABLE = "it came after its table had seen later rows"
BEHIND_QUERY = "the query had gone on, by rows of its other input or before this row left the quarantine"
EVENT, MARK = "_event_at", "_mark_at"
EPOCH, MILLISECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(milliseconds=1)
POLICY = {"spark.sql.streaming.multipleWatermarkPolicy": "max"}
"""Of a query with a course. Spark writes it into the checkpoint: one of before there were courses keeps its
own, and its watermark goes on as it did until the table is rebuilt.
"""
SIDES = ("left", "right")


@dataclass(frozen=True)
class NativeInput:
    """A silver table that a native query reads: how late its rows may come (None: no row is late), and its
    own columns.
    """

    table: str
    delay: str | None
    declared: tuple[str, ...]


@dataclass(frozen=True)
class NativeTable:
    """What a batch needs to know of its table. `processor` makes the object that keeps the state of a `state`
    table.
    """

    name: str
    gold: Gold
    inputs: tuple[NativeInput, ...]
    processor: Callable[[], object] | None = None

    @property
    def late(self) -> str:
        return f"late.{self.name}"

    @property
    def reads(self) -> list[str]:
        return [self.name]


def build_query(
    table: NativeTable, rows: Mapping[str, DataFrame], come_to: int, course: "Course | None" = None
) -> DataFrame:
    """One streaming frame of all that becomes of the inputs' rows. `come_to` is the watermark of the query,
    in milliseconds; a query with several inputs has a `course`.
    """
    judged = {
        known.table: judge_rows(rows[known.table], known, table.gold, come_to) for known in table.inputs
    }
    on_time = {
        name: frame.where(F.col("_what") == ON_TIME).drop("_what", "_late") for name, frame in judged.items()
    }
    emitted = _emit(table, on_time, course)
    shape = emitted.select(F.struct("*").alias("out")).schema["out"].dataType
    nothing = F.lit(None).cast(shape)
    out = emitted.select(
        F.lit(EMITTED).alias("what"), F.struct("*").alias("out"), F.lit(None).cast(LATE_ROW).alias("late")
    )
    if course and course.mark:
        mark = F.lit(course.mark)
        judged = {
            name: frame.withColumn(MARK, mark).withWatermark(MARK, "0 seconds")
            for name, frame in judged.items()
        }
    read = [
        frame.select(F.col("_what").alias("what"), nothing.alias("out"), F.col("_late").alias("late"))
        for frame in judged.values()
    ]
    return reduce(DataFrame.unionByName, read, out)


@dataclass(frozen=True)
class Course:
    """How far a query with several inputs comes in this run: its watermark (`mark`), and per input a delay by
    which no row goes beyond it.

    Spark keeps the watermark of each input in memory: in the next run an input without rows counts as one of
    1970, and the least of all never moves. So the least is made here, of what the inputs' tables have come
    to. Every row that is read shows it to Spark, which takes the greatest of all watermarks (`POLICY`).
    """

    mark: datetime | None
    delays: Mapping[str, str]

    @classmethod
    def plot(
        cls, join: Join, highs: Mapping[str, datetime | None], now: Mapping[str, datetime | None]
    ) -> Self:
        """`highs` are the greatest event times of the inputs in what the next batch reads, `now` those of all
        that is there.
        """
        delays = {side.from_: parse_delay(side.watermark) for side in join.sides.values()}
        reached = {name: Watermark.of(Seen(high), delays[name]).until for name, high in highs.items()}
        known = [until for until in reached.values() if until is not None]
        if join.watermark_policy == "max":
            return cls(max(known, default=None), {name: _interval(delay) for name, delay in delays.items()})
        mark = min(known) if len(known) == len(delays) else None
        behind = {name: high - (mark or EPOCH) if high else delays[name] for name, high in now.items()}
        return cls(mark, {name: _interval(delay + 2 * MILLISECOND) for name, delay in behind.items()})


def _interval(delay: timedelta) -> str:
    return f"{max(delay // MILLISECOND, 0)} milliseconds"


def judge_rows(rows: DataFrame, known: NativeInput, gold: Gold, come_to: int) -> DataFrame:
    """Adds `_what` becomes of a row, and of a late one `_late`: what the late table keeps of it."""
    is_kept = F.coalesce(F.expr(gold.where), F.lit(False)) if gold.where else F.lit(True)
    if known.delay is None:
        return rows.withColumns(
            {"_what": F.when(is_kept, ON_TIME).otherwise(FILTERED), "_late": F.lit(None).cast(LATE_ROW)}
        )
    at, query_at = F.col(EVENT), F.timestamp_millis(F.lit(come_to))
    seen_at = F.col("_seen_until") - F.expr(f"INTERVAL {known.delay}")
    # Spark drops a row that is as old as the watermark, too
    by_table, by_query = F.coalesce(at <= seen_at, F.lit(False)), at <= query_at
    what = F.when(~is_kept, FILTERED).when(by_table | by_query, LATE).otherwise(ON_TIME)
    judged = rows.withColumn("_what", what)
    late = F.when(
        F.col("_what") == LATE, _late_row(known, F.greatest(seen_at, query_at), by_table)
    ).otherwise(F.lit(None).cast(LATE_ROW))
    return judged.withColumn("_late", late)


def _late_row(known: NativeInput, watermark: Column, by_table: Column) -> Column:
    behind = (F.unix_micros(watermark) - F.unix_micros(F.col(EVENT))) / F.lit(1_000_000.0)
    return F.struct(
        F.lit(known.table).alias("input"),
        F.when(by_table, BEHIND_TABLE).otherwise(BEHIND_QUERY).alias("reason"),
        F.col(EVENT).alias("event_at"),
        watermark.alias("watermark_at"),
        behind.alias("late_seconds"),
        F.to_json(F.struct(*known.declared), MICROSECONDS).alias("row"),
        F.col("_file").alias("file"),
        F.col("_file_id").alias("file_id"),
        F.col("_line").alias("line"),
        F.col("_arrived_at").alias("arrived_at"),
    ).cast(LATE_ROW)


def _emit(table: NativeTable, rows: Mapping[str, DataFrame], course: Course | None) -> DataFrame:
    gold = table.gold
    if gold.join is not None:
        delays = course.delays if course else {known.table: str(known.delay) for known in table.inputs}
        return _join(
            gold.join, table, {name: frame.withWatermark(EVENT, delays[name]) for name, frame in rows.items()}
        )
    [known] = table.inputs
    watermarked = rows[known.table].withWatermark(EVENT, known.delay) if known.delay else rows[known.table]
    if gold.dedup is not None:
        system = [
            name
            for name in watermarked.columns
            if name.startswith("_") and name not in ("_processed_at", "_seen_until", "_closed_until")
        ]
        return watermarked.dropDuplicatesWithinWatermark(gold.dedup.on).select(*known.declared, *system)
    return _keep_state(table, watermarked.select(*known.declared, *([EVENT] if known.delay else [])))


def _keep_state(table: NativeTable, rows: DataFrame) -> DataFrame:
    """Every row goes to the object that keeps the state of its key; what that one emits are the rows of the
    table.
    """
    assert table.processor is not None
    columns = ", ".join(f"`{name}` {kind}" for name, kind in (table.gold.columns or {}).items())
    mode = "ProcessingTime" if table.gold.timers == "processing" else "EventTime"
    groups = rows.groupBy(*(table.gold.key or []))
    emitted: DataFrame = groups.transformWithState(table.processor(), columns, "append", mode)  # type: ignore[arg-type]
    return emitted.select(*(table.gold.columns or {}))


def _join(join: Join, table: NativeTable, rows: Mapping[str, DataFrame]) -> DataFrame:
    """Pairs and, of an outer join, rows whose partner can no longer come; each with the places that both rows
    came from.
    """
    inputs = zip(SIDES, table.inputs, strict=True)
    left, right = (rows[known.table].alias(side) for side, known in inputs)
    earliest = f"left.{EVENT} - INTERVAL {join.within.before}" if join.within.before else f"left.{EVENT}"
    latest = f"left.{EVENT} + INTERVAL {join.within.after}" if join.within.after else f"left.{EVENT}"
    is_in_time = F.expr(f"right.{EVENT} >= {earliest} AND right.{EVENT} <= {latest}")
    is_same = reduce(
        Column.__and__,
        (F.col(f"left.{ours}") == F.col(f"right.{theirs}") for ours, theirs in join.on.items()),
    )
    how = {"inner": "inner", "left": "left_outer", "full": "full_outer"}[join.kind]
    places = [
        F.col(f"{side}._{name}").alias(f"_{side}_{name}") for side in SIDES for name in ("file_id", "line")
    ]
    taken = [F.col(path).alias(name) for name, path in join.take.items()]
    return left.join(right, on=is_same & is_in_time, how=how).select(*taken, *places)
