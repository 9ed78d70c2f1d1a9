"""A batch of silver changes into a gold table of sessions: rows of one group with no gap between them that is
longer than declared.

A row may lengthen a session, join two of them or, when it goes, part one. So the groups that the changes
touch are looked up, all sessions of these groups are rebuilt from their whole history in silver, and what
differs from the table is changed by one MERGE. A session has no state between runs: the table is a function
of silver, as windows are.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from functools import partial, reduce

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.gold import Gold
from spark_jobs.config.sql import columns_in
from spark_jobs.gold.process import WAS, WATERMARK, Changes, WindowTable, check_rows, sum_up
from spark_jobs.gold.windows import BOUNDS, closed_windows, literal_time
from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.json_text import WHOLE_JSON
from spark_jobs.lake.kept import kept
from spark_jobs.lake.seen import Watermark
from spark_jobs.lake.tables import Batch

INSERTED, UPDATED, DELETED = "inserted", "updated", "deleted"


def process_changes(changes: DataFrame, batch: Batch, table: WindowTable) -> Counts:
    """Make the sessions anew of every group that a change touches."""
    summary = sum_up(changes, table)
    if summary.version is None:
        return Counts(rows_in=summary.rows, late=summary.late)
    images = changes.where(table.gold.where) if table.gold.where else changes
    return _write(changes.sparkSession, summary, _groups(images, table.gold), batch, table)


def close_windows(spark: SparkSession, batch: Batch, table: WindowTable) -> Counts:
    """Add the sessions that have closed since: their last row lies a gap before what has been closed."""
    was, now = (Watermark.from_list(batch.inputs.get(name)) for name in (WAS, WATERMARK))
    silver = batch.read(spark, table.source)
    at, gap = F.col(table.event_time), F.expr(f"INTERVAL {_gap(table.gold)}")
    is_due = F.lit(False)
    if now.until:
        is_after = at + gap > F.expr(literal_time(was.until)) if was.until else F.lit(True)
        is_due |= is_after & (at + gap <= F.expr(literal_time(now.until)))
    if now.closed_until and now.closed_until != was.closed_until:
        is_after = at + gap > F.expr(literal_time(was.until)) if was.until else F.lit(True)
        is_due |= is_after & (at <= F.expr(literal_time(now.closed_until)))
    return _write(
        spark,
        Changes(0, 0, 0, batch.inputs[table.source]),
        _groups(silver.where(is_due), table.gold),
        batch,
        table,
        is_close=True,
    )


def rebuild_windows(spark: SparkSession, batch: Batch, table: WindowTable) -> Counts:
    """The whole table from the whole silver table."""
    silver, entered = batch.read(spark, table.source), Observation()
    rows = _counted(silver, table).observe(entered, F.count(F.lit(1)).alias("rows"))
    with kept(make_sessions(rows, table.gold, table.event_time, batch.processed_at)) as sessions:
        shown = _shown(sessions, batch, table)
        count = shown.count()
        check_rows(
            sessions.agg(F.sum("_row_count")).collect()[0][0] or 0,
            entered.get["rows"],
            "rows of its sessions",
            batch,
        )
        removes = partial(tables.has_standing_rows, batch, table.name)
        batch.gate.judge(Candidate(shown, count, lambda: shown, count, removes=removes))
        tables.overwrite(shown, table.name, batch, Counts(inserted=count))
    return Counts(inserted=count)


def make_sessions(rows: DataFrame, gold: Gold, event_time: str, processed_at: datetime) -> DataFrame:
    """One row per session and group: its end is a gap after its last row, as Spark counts it."""
    measures = [F.expr(expression).alias(name) for name, expression in gold.measures.items()]
    measures.append(F.count(F.lit(1)).alias("_row_count"))
    if names_bounds(gold):
        made = _with_bounds(rows, gold, event_time).groupBy(*BOUNDS, *gold.group_by).agg(*measures)
    else:
        made = _by_session(rows, gold, event_time, *measures)
    return made.select(
        *BOUNDS, *gold.group_by, *gold.measures, "_row_count", F.lit(processed_at).alias("_processed_at")
    )


def names_bounds(gold: Gold) -> bool:
    """Whether a measure does, in whatever case."""
    named = {name.lower() for measure in gold.measures.values() for name in columns_in(measure)}
    return not named.isdisjoint(BOUNDS)


def _by_session(rows: DataFrame, gold: Gold, event_time: str, *measures: Column) -> DataFrame:
    session = F.session_window(F.col(event_time), _gap(gold)).alias("_session")
    made = rows.groupBy(session, *gold.group_by).agg(*measures)
    bounds = [F.col(f"_session.{name.removeprefix('window_')}").alias(name) for name in BOUNDS]
    return made.select(*bounds, *(name for name in made.columns if name != "_session"))


def _with_bounds(rows: DataFrame, gold: Gold, event_time: str) -> DataFrame:
    """Each row with the bounds of its session. Spark gives these to a session alone, not to what is computed
    of its rows.
    """
    times = rows.withColumn("_at", F.col(event_time))
    own = times.select(*(name for name in times.columns if name not in BOUNDS))
    sessions = _by_session(own, gold, "_at", F.count(F.lit(1)).alias("_rows_of_session"))
    found, at = sessions.drop("_rows_of_session").alias("old"), F.col("new._at")
    is_within = (at >= F.col("old.window_start")) & (at < F.col("old.window_end"))
    joined = own.alias("new").join(found, on=_same(gold.group_by) & is_within, how="inner")
    return joined.select("new.*", *(f"old.{name}" for name in BOUNDS)).drop("_at")


def _write(
    spark: SparkSession,
    summary: Changes,
    groups: DataFrame,
    batch: Batch,
    table: WindowTable,
    is_close: bool = False,
) -> Counts:
    """Put the sessions of these groups in the place of those that stand. The rows of the groups must all be
    in a session.
    """
    is_first, gold, entered = not batch.has(table.name), table.gold, Observation()
    silver = _counted(tables.read(spark, batch.lake.table(table.source), summary.version), table)
    with kept(groups) as groups:
        rows = (silver if is_first else _of(silver, groups, gold)).observe(
            entered, F.count(F.lit(1)).alias("rows")
        )
        with kept(make_sessions(rows, gold, table.event_time, batch.processed_at)) as sessions:
            made = sessions.agg(F.sum("_row_count")).collect()[0][0] or 0
            check_rows(made, entered.get.get("rows", 0), "rows of its sessions", batch)
            shown = _shown(sessions, batch, table)
            standing = None if is_first else batch.read(spark, table.name)
            old = None if standing is None else _of(standing, groups, gold)
            if gold.mode == "update" and not is_close:
                before = (old.agg(F.sum("_row_count")).collect()[0][0] or 0) if old is not None else 0
                check_rows(made - before, summary.pairs, "changes of its sessions", batch)
            with _differences(shown, old, gold) as (changed, counts):
                whole = shown if standing is None else _without(standing, groups, gold).unionByName(shown)
                counts += Counts(rows_in=summary.rows, late=summary.late)
                is_less, asked = counts.deleted > 0, counts.inserted + counts.updated
                batch.gate.judge(
                    Candidate(
                        shown, shown.count(), lambda: whole, asked, removes=lambda: is_less, changes=changed
                    )
                )
                _put(changed, counts, batch, table, is_first=is_first)
    return counts


@contextmanager
def _differences(shown: DataFrame, old: DataFrame | None, gold: Gold) -> Iterator[tuple[DataFrame, Counts]]:
    """The sessions that come, change and go, by `_change`, and how many they are."""
    if old is None:
        yield shown.withColumn("_change", F.lit(INSERTED)), Counts(inserted=shown.count())
        return
    names, keys = shown.columns, [*BOUNDS, *gold.group_by]
    said = F.to_json(F.struct(*gold.measures, "_row_count"), WHOLE_JSON)
    new, was = shown.withColumn("_said", said).alias("new"), old.withColumn("_said", said).alias("old")
    joined = new.join(was, on=_same(keys), how="full_outer")
    change = (
        F.when(F.col("old.window_start").isNull(), INSERTED)
        .when(F.col("new.window_start").isNull(), DELETED)
        .when(~F.col("new._said").eqNullSafe(F.col("old._said")), UPDATED)
    )
    is_gone = F.col("new.window_start").isNull()
    values = [
        F.when(is_gone, F.col(f"old.{name}")).otherwise(F.col(f"new.{name}")).alias(name) for name in names
    ]
    with kept(joined.select(*values, change.alias("_change")).where("_change IS NOT NULL")) as changed:
        yield (
            changed,
            Counts(**{row["_change"]: row["count"] for row in changed.groupBy("_change").count().collect()}),
        )


def _put(changed: DataFrame, counts: Counts, batch: Batch, table: WindowTable, *, is_first: bool) -> None:
    if not (counts.inserted or counts.updated or counts.deleted):
        return
    if is_first:
        tables.append(changed.drop("_change"), table.name, batch, counts)
        return
    values: dict[str, str | Column] = {
        f"`{name}`": f"new.`{name}`" for name in changed.columns if name != "_change"
    }
    same = " AND ".join(f"old.`{name}` <=> new.`{name}`" for name in (*BOUNDS, *table.gold.group_by))
    with tables.merging(changed, table.name, same, batch, counts) as merge:
        merge = merge.whenMatchedDelete(condition=f"new._change = '{DELETED}'").whenMatchedUpdate(set=values)
        merge.whenNotMatchedInsert(values=values).execute()


def _counted(silver: DataFrame, table: WindowTable) -> DataFrame:
    """The rows that are in a session: those of the table's condition that have a time."""
    rows = silver.where(table.gold.where) if table.gold.where else silver
    return rows.where(F.col(table.event_time).isNotNull())


def _shown(sessions: DataFrame, batch: Batch, table: WindowTable) -> DataFrame:
    if table.gold.mode != "append":
        return sessions
    return sessions.where(closed_windows(Watermark.from_list(batch.inputs.get(WATERMARK))))


def _groups(rows: DataFrame, gold: Gold) -> DataFrame:
    """The groups that rows belong to; without group_by one for all, where there are rows."""
    return rows.select(*gold.group_by, F.lit(1).alias("_any")).distinct()


def _of(rows: DataFrame, groups: DataFrame, gold: Gold) -> DataFrame:
    return rows.alias("new").join(groups.alias("old"), on=_same(gold.group_by), how="left_semi")


def _without(rows: DataFrame, groups: DataFrame, gold: Gold) -> DataFrame:
    return rows.alias("new").join(groups.alias("old"), on=_same(gold.group_by), how="left_anti")


def _same(names: list[str]) -> Column:
    return reduce(
        Column.__and__, (F.col(f"new.{name}").eqNullSafe(F.col(f"old.{name}")) for name in names), F.lit(True)
    )


def _gap(gold: Gold) -> str:
    assert gold.window is not None
    assert gold.window.gap is not None
    return gold.window.gap
