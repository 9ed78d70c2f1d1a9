"""A batch of silver changes into a gold table of windows: the touched windows are recomputed and put in
the place of the old ones.

`update` does so with every touched window. `append` shows closed windows only: a touched one that is closed
already is repaired, and windows that have closed since the last run are added by `close_windows`.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.gold import Gold
from spark_jobs.gold.late import is_late, is_late_row, late_rows
from spark_jobs.gold.windows import (
    Selection,
    aggregate,
    closed_windows,
    count_revisions,
    find_touched,
    first_revision,
    newly_closed,
    select_rows,
    window_count,
)
from spark_jobs.lake import small_writes, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.kept import kept
from spark_jobs.lake.seen import Watermark
from spark_jobs.lake.tables import Batch, RowsMissing

WATERMARK, WAS = "watermark", "watermark before"
"""Among a batch's inputs: what is closed now, and what was closed when the table was last
brought up to date.
"""


@dataclass(frozen=True)
class WindowTable:
    """What a batch needs to know of its table. `declared` are the columns of the silver table that a late row
    keeps.
    """

    name: str
    gold: Gold
    source: str
    event_time: str
    declared: list[str]

    @property
    def late(self) -> str:
        return f"late.{self.name}"

    @property
    def keeps_late(self) -> bool:
        return self.gold.late == "keep"

    @property
    def reads(self) -> list[str]:
        """The tables whose versions a batch depends on, beside the changes that come."""
        return [self.name, *([self.late] if self.keeps_late else [])]


@dataclass(frozen=True)
class Changes:
    """Of a batch of changes: the rows that came or changed, by how many (row, window) pairs and late rows
    silver grew, its last version.
    """

    rows: int
    pairs: int
    late: int
    version: int | None


def process_changes(changes: DataFrame, batch: Batch, table: WindowTable) -> Counts:
    """Bring the windows that the changes touch up to date."""
    gold = table.gold
    summary = sum_up(changes, table)
    seen = Counts(rows_in=summary.rows, late=summary.late)
    if summary.version is None:
        return seen
    images = changes.where(gold.where) if gold.where else changes
    if gold.mode == "append":
        was_closed = Watermark.from_list(batch.inputs.get(WAS))
        touched = find_touched(images, gold, table.event_time) if was_closed != Watermark() else None
        if touched is None:
            return seen
        return _write(
            changes.sparkSession, summary, touched.narrowed(closed_windows(was_closed)), None, batch, table
        )
    # rows that came too late may have been kept before there was a window
    is_first = not batch.has(table.name) and not batch.inputs.get(table.late)
    touched = None if is_first else find_touched(images, gold, table.event_time)
    if touched is None and not is_first:
        return seen
    return _write(changes.sparkSession, summary, touched, summary.pairs, batch, table)


def close_windows(spark: SparkSession, batch: Batch, table: WindowTable) -> Counts:
    """Add the windows that have closed since the table was last brought up to date."""
    was, now = (Watermark.from_list(batch.inputs.get(name)) for name in (WAS, WATERMARK))
    version = batch.inputs[table.source]
    return _write(spark, Changes(0, 0, 0, version), newly_closed(table.gold, was, now), None, batch, table)


def rebuild_windows(spark: SparkSession, batch: Batch, table: WindowTable) -> Counts:
    """The whole table from the whole silver table, and its late rows where they are kept."""
    silver = batch.read(spark, table.source)
    now = Watermark.from_list(batch.inputs.get(WATERMARK))
    selection = Selection(closed_windows(now)) if table.gold.mode == "append" else None
    entered = Observation()
    rows = select_rows(silver, table.gold, table.event_time, selection)
    on_time = _on_time(rows, table).observe(entered, F.count(F.lit(1)).alias("pairs"))
    windows = aggregate(on_time, table.gold, batch.processed_at)
    windows = first_revision(windows) if table.gold.watermark else windows
    late = (silver.where(table.gold.where) if table.gold.where else silver).where(
        is_late_row(table.gold, table.event_time)
    )
    with kept(windows) as windows:
        found = windows.agg(F.count(F.lit(1)), F.sum("_row_count")).collect()[0]
        check_rows(found[1] or 0, entered.get["pairs"], "rows of its windows", batch)
        counts = Counts(inserted=found[0], late=late.count() if table.gold.watermark else 0)
        removes = partial(tables.has_standing_rows, batch, table.name)
        batch.gate.judge(Candidate(windows, found[0], lambda: windows, found[0], removes=removes))
        if table.keeps_late:
            tables.overwrite(_late(rows, batch, table), table.late, batch, counts)
        tables.overwrite(windows, table.name, batch, counts)
    return counts


def _write(
    spark: SparkSession,
    summary: Changes,
    selection: Selection | None,
    pairs: int | None,
    batch: Batch,
    table: WindowTable,
) -> Counts:
    """Recompute the selected windows (or all) and put them in their place. Pairs of row and window must add
    up before they are shown.
    """
    silver = tables.read(spark, batch.lake.table(table.source), summary.version)
    entered = Observation()
    rows = select_rows(silver, table.gold, table.event_time, selection).observe(
        entered, F.count(F.lit(1)).alias("pairs")
    )
    with kept(rows) if table.keeps_late else nullcontext(rows) as rows:
        windows = aggregate(_on_time(rows, table), table.gold, batch.processed_at)
        if table.gold.watermark and selection and batch.has(table.name):
            old = batch.read(spark, table.name).where(selection.condition)
            windows = count_revisions(windows, old, Watermark.from_list(batch.inputs.get(WAS)))
        elif table.gold.watermark:
            windows = first_revision(windows)
        with kept(windows) as windows:
            found = windows.agg(F.count(F.lit(1)), F.sum("_row_count")).collect()[0]
            late = _late(rows, batch, table) if table.keeps_late else None
            late_count = late.count() if late is not None else 0
            counts = Counts(rows_in=summary.rows, inserted=found[0], late=summary.late)
            represented = (found[1] or 0) + late_count
            check_rows(represented, entered.get.get("pairs", 0), "rows of its windows", batch)
            if pairs is not None:
                check_rows(
                    represented - _represented(spark, selection, batch, table),
                    pairs,
                    "changes of its windows",
                    batch,
                )
            whole, removes = (
                partial(_whole, windows, selection, batch, table),
                partial(_removes, spark, selection, batch, table),
            )
            about = selection.condition if selection and summary.rows else ""
            batch.gate.judge(Candidate(windows, found[0], whole, found[0], removes=removes, about=about))
            if late is not None:
                _put(late, late_count, table.late, selection, batch, counts)
            _put(windows, found[0], table.name, selection, batch, counts)
    return counts


def _whole(windows: DataFrame, selection: Selection | None, batch: Batch, table: WindowTable) -> DataFrame:
    """The table as it will be with these windows in the place of the selected ones."""
    if selection is None or not batch.has(table.name):
        return windows
    return (
        batch.read(windows.sparkSession, table.name)
        .where(f"NOT ({selection.condition})")
        .unionByName(windows, allowMissingColumns=True)
    )


def _removes(spark: SparkSession, selection: Selection | None, batch: Batch, table: WindowTable) -> bool:
    """Whether a window goes that is shown."""
    if selection is None or not batch.has(table.name):
        return False
    return not batch.read(spark, table.name).where(selection.condition).isEmpty()


def _put(
    rows: DataFrame, count: int, name: str, selection: Selection | None, batch: Batch, counts: Counts
) -> None:
    if batch.has(name) and selection:
        small_writes.replace(rows, count, name, selection.condition, batch, counts)
    elif count:
        tables.append(rows, name, batch, counts)


def sum_up(changes: DataFrame, table: WindowTable) -> Changes:
    gold, at = table.gold, F.col(table.event_time)
    assert gold.window is not None
    in_windows = at.isNotNull().cast("int") if gold.window.gap else window_count(gold.window, at)
    is_new = F.col("_change_type").isin("insert", "update_postimage")
    sign = F.when(is_new, F.lit(1)).otherwise(F.lit(-1))
    counts = F.coalesce(F.expr(gold.where), F.lit(False)) if gold.where else F.lit(True)
    pairs = F.when(counts, in_windows * sign).otherwise(F.lit(0))
    late = F.when(counts & is_late_row(gold, table.event_time), sign).otherwise(F.lit(0))
    rows = F.when(F.col("_change_type") != "update_preimage", F.lit(1)).otherwise(F.lit(0))
    found = changes.agg(F.sum(rows), F.sum(pairs), F.sum(late), F.max("_commit_version")).collect()[0]
    return Changes(found[0] or 0, found[1] or 0, found[2] or 0, found[3])


def _represented(spark: SparkSession, selection: Selection | None, batch: Batch, table: WindowTable) -> int:
    """The pairs of row and window that the selected windows stand for before the batch,
    late ones included.
    """
    total = 0
    for name, count in ((table.name, F.sum("_row_count")), (table.late, F.count(F.lit(1)))):
        if selection is not None and name in batch.inputs and batch.has(name):
            total += batch.read(spark, name).where(selection.condition).agg(count).collect()[0][0] or 0
    return total


def check_rows(found: int, expected: int, what: str, batch: Batch) -> None:
    if found != expected:
        raise RowsMissing(batch, Counts(rows_in=expected, inserted=found), f"{what} are not accounted for")


def _on_time(rows: DataFrame, table: WindowTable) -> DataFrame:
    return (
        rows.where(~is_late(table.gold, F.col("window_start"), F.col("window_end")))
        if table.keeps_late
        else rows
    )


def _late(rows: DataFrame, batch: Batch, table: WindowTable) -> DataFrame:
    return late_rows(
        rows, table.gold, table.event_time, table.declared, (batch.run_id, F.lit(batch.processed_at))
    )
