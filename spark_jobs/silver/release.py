"""Rows that wait for a member are looked at again when a dimension has moved, or when they have waited long enough.

What enters: the parked rows, and those in quarantine for want of a member. What leaves: those that found it compete for the table like any
row that comes; the others wait on, with what they wait for now.
"""

from datetime import datetime

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.lookup import MEMBER_RULE
from spark_jobs.silver.reconsider import judge_again, open_rows, settle_facts

CLOCK = "clock"
"""Among a batch's inputs: the newest recorded arrival, against which waiting is measured."""


def release(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Publish what has found its member or is given up, and say what became of the rows that moved."""
    waiting = _waiting(spark, table, batch)
    if waiting is None:
        return Counts()
    rows = judge_again(waiting, batch, table, _clock(batch))
    is_moved = ~F.col("_class").eqNullSafe(F.col("_was")) | ~F.col("_reasons").eqNullSafe(F.col("_old_reasons"))
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
