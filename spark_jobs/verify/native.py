"""What can be recomputed of native stateful tables: the pairs of a join, and that dedup has published one row of every key, none twice.

Rows that were late for the query are taken as recorded. Rows of an outer join that found no partner must be in the table once no partner
can come any more; before, they are held in its state, and are compared only where they stand.
"""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.gold import Dedup, Join

MARGIN = "INTERVAL 1 second"
"""Spark's watermark has milliseconds: what lies so close to it may be in the table or not."""
PLACE = ("_file_id", "_line", "_event_at")
SIDES = ("left", "right")
PLACES = tuple(f"_{side}_{name}" for side in SIDES for name in ("file_id", "line"))


def on_time(silver: DataFrame, late: DataFrame | None, table: str) -> DataFrame:
    """The rows of a silver table without those that the native table has set aside as late."""
    if late is None:
        return silver
    places = late.where(F.col("input") == table).select(*(F.col(name.removeprefix("_")).alias(name) for name in PLACE))
    return silver.join(places, on=list(PLACE), how="left_anti")


def watermark_of(join: Join, progress: Sequence[DataFrame]) -> DataFrame:
    """How far the query has come (`_until`), by the greatest event times (`_high`) of both inputs."""
    left, right = (frame.select((F.col("_high") - F.expr(f"INTERVAL {side.watermark}")).alias(f"_{name}"))
                   for frame, side, name in zip(progress, join.sides.values(), SIDES, strict=True))  # fmt: skip
    both = [F.col(f"_{name}") for name in SIDES]
    until = F.least(*both) if join.watermark_policy == "min" else F.greatest(*both)
    is_known = both[0].isNotNull() & both[1].isNotNull()
    return left.crossJoin(right).select(F.when(is_known, until).alias("_until"))


def join_rows(join: Join, left: DataFrame, right: DataFrame, standing: DataFrame | None, watermark: DataFrame) -> DataFrame:
    """Every pair; and of rows without a partner those that stand in the table, or that can find none any more."""
    ours, theirs = left.alias("left"), right.alias("right")
    at, theirs_at = F.col("left._event_at"), F.col("right._event_at")
    earliest = at - F.expr(f"INTERVAL {join.within.before}") if join.within.before else at
    latest = at + F.expr(f"INTERVAL {join.within.after}") if join.within.after else at
    is_same = reduce(Column.__and__, (F.col(f"left.{mine}") == F.col(f"right.{other}") for mine, other in join.on.items()))
    how = {"inner": "inner", "left": "left_outer", "full": "full_outer"}[join.kind]
    places = [F.col(f"{side}._{name}").alias(f"_{side}_{name}") for side in SIDES for name in ("file_id", "line")]
    taken = [F.col(path).alias(name) for name, path in join.take.items()]
    before = F.expr(f"INTERVAL {join.within.before}") if join.within.before else F.expr("INTERVAL 0 seconds")
    last_at = F.coalesce(latest, theirs_at + before).alias("_last_at")
    found = ours.join(theirs, on=is_same & theirs_at.between(earliest, latest), how=how).select(*taken, *places, last_at)
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
    return rows.join(standing.select(*PLACE).distinct(), on=list(PLACE), how="left_semi").select(*rows.columns).unionByName(missing)
