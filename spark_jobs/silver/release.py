"""Rows that wait for a member are looked at again when a dimension has moved, or when they have waited long enough.

What enters: the parked rows, and those in quarantine for want of a member. What leaves: those that found it compete for the table like any
row that comes; the others wait on, with what they wait for now.
"""

from datetime import datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch, kept
from spark_jobs.silver.decode import decode
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.facts import classify, judge, publish, rank
from spark_jobs.silver.lookup import MEMBER_RULE
from spark_jobs.silver.set_aside import as_records, move_set_aside
from spark_jobs.silver.tally import count_classes, tally_rows

CLOCK = "clock"
"""Among a batch's inputs: the newest recorded arrival, against which waiting is measured."""
PLACE = ("_file_id", "_line", "_element")


def release(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Publish what has found its member or is given up, and say what became of the rows that moved."""
    waiting = _waiting(spark, table, batch)
    if waiting is None:
        return Counts()
    rows = classify(decode(as_records(waiting), table.decoding), batch, table, _clock(batch))
    before = waiting.select(
        *(F.col(name.removeprefix("_")).alias(name) for name in PLACE),
        F.col("record").alias("_text"), F.col("reasons").alias("_old_reasons"), F.col("_was"),
        F.col("seen_until").alias("_seen_until"), F.col("closed_until").alias("_closed_until"),
    )  # fmt: skip
    rows = rows.join(before, on=list(PLACE), how="inner").withColumn("_record", F.col("_text"))
    is_moved = ~F.col("_class").eqNullSafe(F.col("_was")) | ~F.col("_reasons").eqNullSafe(F.col("_old_reasons"))
    moved = rank(rows.where(is_moved), table)
    with kept(moved):
        left = count_classes(moved.select(F.col("_was").alias("_class")))
        if not left:
            return Counts()
        tally = tally_rows(moved, table)
        with judge(moved, tally, batch, table) as judgement:
            by_class = judgement.by_class
            entered = {name: by_class.get(name, 0) - left.get(name, 0) for name in ("parked", "quarantined")}
            counts = Counts(**{**by_class, **entered})
            batch.check(counts)
            publish(judgement, batch, table, counts)
            move_set_aside(moved, {*left, *by_class}, batch, table, counts)
    return counts


def _waiting(spark: SparkSession, table: FactTable, batch: Batch) -> DataFrame | None:
    """The rows that wait for a member, with the class they are in now."""
    is_for_a_member = F.exists("reasons", lambda reason: reason["rule"].startswith(MEMBER_RULE))
    frames = [
        batch.read(spark, name).where(is_for_a_member).withColumn("_was", F.lit(kind))
        for name, kind in ((table.parked, "parked"), (table.quarantine, "quarantined"))
        if batch.has(name)
    ]
    return frames[0].unionByName(frames[1]) if len(frames) == 2 else frames[0] if frames else None


def _clock(batch: Batch) -> Column:
    newest = batch.inputs.get(CLOCK)
    return F.lit(datetime.fromisoformat(newest) if newest else None).cast("timestamp")
