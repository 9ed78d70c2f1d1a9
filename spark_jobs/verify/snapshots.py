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
    """One row per run of snapshots, without one between them, in which a member says the same."""
    own = winners.withColumns({"_snapshot": snapshot_of(dimension), "_said": said})
    known = own.groupBy("_snapshot").agg(F.min(at).alias("_time"))
    numbers = known.withColumn("_number", F.row_number().over(Window.orderBy("_snapshot")))
    of_member = Window.partitionBy(*key).orderBy("_number")
    placed = own.join(numbers.drop("_time"), on="_snapshot").withColumn(
        "_island", F.col("_number") - F.row_number().over(of_member)
    )
    before = F.lag("_said").over(Window.partitionBy(*key, "_island").orderBy("_number"))
    opened = placed.withColumn("_opens", (before.isNull() | ~before.eqNullSafe(F.col("_said"))).cast("int"))
    grouped = opened.withColumn("_run", F.sum("_opens").over(of_member))
    row = F.struct(*(name for name in winners.columns if name not in key))
    runs = grouped.groupBy(*key, "_run").agg(
        F.min_by(row, "_number").alias("_row"), (F.max("_number") + 1).alias("_number")
    )
    ends = numbers.select("_number", F.col("_time").alias("_valid_to"))
    found = runs.join(ends, on="_number", how="left").select(*key, "_row.*", "_valid_to")
    return found.withColumn("_valid_from", F.col(at))
