"""Dimensions that are fed by whole snapshots, decided a second time, from the versions of all members."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.config.names import NEWEST_ARRIVAL
from spark_jobs.config.silver import Dimension


def snapshot_of(dimension: Dimension) -> Column:
    """Which snapshot a version was in: that of a time, or a file that arrived."""
    by_arrival = ["_arrived_at", "_chunk", "_file"]
    names = by_arrival if dimension.sequence_by == [NEWEST_ARRIVAL] else dimension.sequence
    return F.struct(*(F.col(name).alias(f"_{number}") for number, name in enumerate(names)))


def is_current(newest: DataFrame, dimension: Dimension) -> DataFrame:
    """The newest version of each member, with `_is_current`: it is of the newest snapshot of all."""
    own = newest.withColumn("_snapshot", snapshot_of(dimension))
    last = own.agg(F.max("_snapshot").alias("_last"))
    return own.crossJoin(last).withColumn("_is_current", F.col("_snapshot") == F.col("_last"))


def intervals(
    winners: DataFrame, said: Column, key: Sequence[str], at: str, dimension: Dimension
) -> DataFrame:
    """One row per run of snapshots, without one between them, in which a member says the same. Of the
    snapshots of one time the last one holds: what an older one of them says ends at once.
    """
    own = winners.withColumns({"_snapshot": snapshot_of(dimension), "_said": said})
    times = own.groupBy(at).agg(F.max("_snapshot").alias("_last"))
    numbers = times.withColumn("_number", F.row_number().over(Window.orderBy(at)))
    of_member = Window.partitionBy(*key).orderBy("_number")
    is_older = (F.col("_snapshot") < F.col("_last")).cast("int")
    placed = own.join(numbers, on=[at]).withColumn("_is_older", is_older)
    older_before = F.sum("_is_older").over(of_member) - F.col("_is_older")
    placed = placed.withColumn("_island", F.col("_number") - F.row_number().over(of_member) + older_before)
    before = F.lag("_said").over(Window.partitionBy(*key, "_island").orderBy("_number"))
    opened = placed.withColumn("_opens", (before.isNull() | ~before.eqNullSafe(F.col("_said"))).cast("int"))
    grouped = opened.withColumn("_run", F.sum("_opens").over(of_member))
    row = F.struct(*(name for name in winners.columns if name not in key))
    runs = grouped.groupBy(*key, "_run").agg(
        F.min_by(row, "_number").alias("_row"), F.max(F.expr("_number + 1 - _is_older")).alias("_number")
    )
    ends = numbers.select("_number", F.col(at).alias("_valid_to"))
    found = runs.join(ends, on="_number", how="left").select(*key, "_row.*", "_valid_to")
    return found.withColumn("_valid_from", F.col(at))
