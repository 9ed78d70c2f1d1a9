"""Rows that were set aside are judged once more: replayed or discarded by a person, or found in a dimension
by now.
"""

from collections import Counter
from datetime import datetime
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import row_rules
from spark_jobs.lake.kept import kept
from spark_jobs.lake.selection import DISCARDED, OPEN, Selection
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.decisions import PLACE
from spark_jobs.silver.decode import decode
from spark_jobs.silver.dimensions import settle_history
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.lookup import MEMBER_RULE
from spark_jobs.silver.publish import candidate, publish
from spark_jobs.silver.set_aside import SAME_ROW, as_records, move_set_aside
from spark_jobs.silver.tally import count_classes, tally_rows
from spark_jobs.silver.upsert import classify, judge, rank

# Rows that were set aside are looked at again. What enters: rows of quarantine and parked tables, with the
# class `_was` that they are in now. What leaves: those that are good compete for the table like any row that
# comes; the others stay, with their reasons of now.

LATER_COLUMNS = {
    "first_seen_at": "timestamp",
    "attempts": "int",
    "state": "string",
    "file_modified_at": "timestamp",
}
"""Columns that tables of an earlier version may lack."""


def open_rows(set_aside: DataFrame) -> DataFrame:
    """The rows of a quarantine or parked table that nobody has replayed or discarded."""
    for name, kind in LATER_COLUMNS.items():
        if name not in set_aside.columns:
            set_aside = set_aside.withColumn(name, F.lit(None).cast(kind))
    return set_aside.where(F.coalesce("state", F.lit(OPEN)) == OPEN)


def judge_again(
    set_aside: DataFrame, batch: Batch, table: FactTable, clock: Column | None = None
) -> DataFrame:
    """The rows, decoded and classified as today's definition and rules have it, with what was known of them
    before.
    """
    rows = classify(
        decode(as_records(set_aside), table.decoding, row_rules(batch.gate.rules)), batch, table, clock
    )
    before = set_aside.select(
        *(F.col(name.removeprefix("_")).alias(name) for name in PLACE), F.col("record").alias("_text"),
        F.col("reasons").alias("_old_reasons"), F.col("_was"), F.col("seen_until").alias("_seen_until"),
        F.col("closed_until").alias("_closed_until"),
        F.coalesce("first_seen_at", "set_aside_at").alias("_first_seen_at"),
        F.coalesce("attempts", F.lit(0)).alias("_attempts"),
    )  # fmt: skip
    return rows.join(before, on=list(PLACE), how="inner").withColumn("_record", F.col("_text"))


def settle_facts(moved: DataFrame, batch: Batch, table: FactTable) -> Counts:
    """Publish the rows that are good by now, and say what became of all. The table comes first: a row may be
    in both, never in neither.
    """
    ranked, rules = rank(moved, table), row_rules(batch.gate.rules)
    with kept(ranked) as ranked:
        left = count_classes(ranked.select(F.col("_was").alias("_class")))
        if not left:
            return Counts()
        tally = tally_rows(ranked, table, rules)
        with judge(ranked, tally, batch, table) as judgement:
            by_class = judgement.by_class
            entered = {name: by_class.get(name, 0) - left.get(name, 0) for name in ("parked", "quarantined")}
            counts = Counts(**{**by_class, **entered})
            batch.check(counts)
            batch.gate.judge(candidate(judgement, tally, batch, table))
            publish(judgement, batch, table, counts)
            move_set_aside(ranked, {*left, *by_class}, batch, table, counts)
    return counts


# Rows that wait for a member are looked at again when a dimension has moved, or when they have waited long
# enough. What enters: the parked rows, and those in quarantine that miss a member. What leaves: those that
# found it compete for the table like any row that comes; the others wait on, with what they wait for now.

CLOCK = "clock"
"""Among a batch's inputs: the newest recorded arrival, against which waiting is measured."""


def unpark(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Publish what has found its member or is given up, and say what became of the rows that moved."""
    waiting = _waiting(spark, table, batch)
    if waiting is None:
        return Counts()
    rows = judge_again(waiting, batch, table, _clock(batch))
    is_moved = ~F.col("_class").eqNullSafe(F.col("_was")) | ~F.col("_reasons").eqNullSafe(
        F.col("_old_reasons")
    )
    return settle_facts(rows.where(is_moved), batch, table)


def _waiting(spark: SparkSession, table: FactTable, batch: Batch) -> DataFrame | None:
    """The rows that wait for a member, with the class they are in now."""
    is_for_a_member = F.exists("reasons", lambda reason: reason["rule"].startswith(MEMBER_RULE))
    frames = [
        open_rows(batch.read(spark, name)).where(is_for_a_member).withColumn("_was", F.lit(kind))
        for name, kind in ((table.parked, "parked"), (table.quarantine, "quarantined"))
        if batch.has(name)
    ]
    return frames[0].unionByName(frames[1]) if len(frames) == 2 else frames[0] if frames else None


def _clock(batch: Batch) -> Column:
    newest = batch.inputs.get(CLOCK)
    return F.lit(datetime.fromisoformat(newest) if newest else None).cast("timestamp")


# What a person decides about rows in quarantine: taken through the definition and rules of today, or given
# up. Which rows is written down with the intent of the batch, so that one that was cut is ended with the
# same.

SELECTION = "selection"
"""Among a batch's inputs: which rows of quarantine it is about."""


def replay(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Publish the selected rows that pass by now; the others stay, with the reasons of now."""
    rows = judge_again(_again(spark, table, batch), batch, table)
    return settle_history(rows, batch, table) if table.is_rebuilt else settle_facts(rows, batch, table)


def try_replay(spark: SparkSession, table: FactTable, batch: Batch) -> tuple[dict[str, int], Counter[str]]:
    """How many of the selected rows would pass or be set aside again, and by which rules these would stay.
    Nothing is written.
    """
    rows = judge_again(_again(spark, table, batch), batch, table)
    rules = F.array_distinct(F.transform("_reasons", lambda reason: reason["rule"]))
    classes, by_rule = Counter[str](), Counter[str]()
    for row in rows.groupBy("_class", rules.alias("rules")).count().collect():
        classes[f"would be {row['_class']}" if row["_class"] else "would pass"] += row["count"]
        by_rule.update(dict.fromkeys(row["rules"] if row["_class"] == "quarantined" else (), row["count"]))
    return dict(sorted(classes.items(), key=lambda found: (found[0] != "would pass", found[0]))), by_rule


def discard(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Give the selected rows up. They stay where they are and count as quarantined."""
    places = selected_rows(spark, table, batch).select(*(name.removeprefix("_") for name in PLACE))
    with tables.merging(places, table.quarantine, SAME_ROW, batch, Counts()) as merge:
        merge.whenMatchedUpdate(set={"state": F.lit(DISCARDED)}).execute()
    return Counts()


def selected_rows(spark: SparkSession, table: FactTable, batch: Batch) -> DataFrame:
    """The open rows of the table's quarantine that the batch is about."""
    return open_rows(batch.read(spark, table.quarantine)).where(
        _matches(Selection.of_dict(batch.inputs[SELECTION]))
    )


def _again(spark: SparkSession, table: FactTable, batch: Batch) -> DataFrame:
    attempts = F.coalesce("attempts", F.lit(0)) + 1
    return (
        selected_rows(spark, table, batch)
        .withColumn("_was", F.lit("quarantined"))
        .withColumn("attempts", attempts)
    )


def _matches(selection: Selection) -> Column:
    """The same as Selection says of one row."""
    matches = F.lit(True)
    if selection.rules:
        matches &= F.exists(
            "reasons", lambda reason: _any_of([_names(reason["rule"], rule) for rule in selection.rules])
        )
    if selection.files:
        matches &= F.col("file").isin(*selection.files) | F.col("file").rlike(rf"\A{selection.file_regex}\z")
    first_seen_at = F.coalesce("first_seen_at", "set_aside_at")
    if selection.seen_from:
        matches &= first_seen_at >= F.lit(selection.seen_from)
    if selection.seen_before:
        matches &= first_seen_at < F.lit(selection.seen_before)
    return matches


def _names(rule: Column, wanted: str) -> Column:
    return (rule == wanted) | rule.startswith(f"{wanted} ")


def _any_of(conditions: list[Column]) -> Column:
    return reduce(or_, conditions)
