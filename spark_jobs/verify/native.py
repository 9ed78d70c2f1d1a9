"""What can be recomputed of native stateful tables: the pairs of a join, and that dedup has published one row of every key, none twice.

Rows that were late for the query are taken as recorded. What is held in its state is not in the table yet: rows of an outer join that
found no partner are compared only where they stand.
"""

from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.gold import Dedup, Join

PLACE = ("_file_id", "_line", "_event_at")
SIDES = ("left", "right")
PLACES = tuple(f"_{side}_{name}" for side in SIDES for name in ("file_id", "line"))


def on_time(silver: DataFrame, late: DataFrame | None, table: str) -> DataFrame:
    """The rows of a silver table without those that the native table has set aside as late."""
    if late is None:
        return silver
    places = late.where(F.col("input") == table).select(*(F.col(name.removeprefix("_")).alias(name) for name in PLACE))
    return silver.join(places, on=list(PLACE), how="left_anti")


def join_rows(join: Join, left: DataFrame, right: DataFrame, standing: DataFrame | None) -> DataFrame:
    """Every pair; and of rows without a partner those that stand in the table."""
    ours, theirs = left.alias("left"), right.alias("right")
    at, theirs_at = F.col("left._event_at"), F.col("right._event_at")
    earliest = at - F.expr(f"INTERVAL {join.within.before}") if join.within.before else at
    latest = at + F.expr(f"INTERVAL {join.within.after}") if join.within.after else at
    is_same = reduce(Column.__and__, (F.col(f"left.{mine}") == F.col(f"right.{other}") for mine, other in join.on.items()))
    how = {"inner": "inner", "left": "left_outer", "full": "full_outer"}[join.kind]
    places = [F.col(f"{side}._{name}").alias(f"_{side}_{name}") for side in SIDES for name in ("file_id", "line")]
    taken = [F.col(path).alias(name) for name, path in join.take.items()]
    found = ours.join(theirs, on=is_same & theirs_at.between(earliest, latest), how=how).select(*taken, *places)
    is_pair = F.col("_left_file_id").isNotNull() & F.col("_right_file_id").isNotNull()
    alone = found.where(~is_pair)
    if standing is None:
        return found.where(is_pair)
    stands = reduce(Column.__and__, (F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in PLACES))
    return found.where(is_pair).unionByName(
        alone.alias("a").join(standing.select(*PLACES).distinct().alias("b"), on=stands, how="left_semi")
    )


def dedup_rows(dedup: Dedup, rows: DataFrame, standing: DataFrame | None) -> DataFrame:
    """The rows that stand, as silver has them, and those of keys that the table does not know at all."""
    if standing is None:
        return rows
    known = standing.select(*dedup.on).distinct()
    same = reduce(Column.__and__, (F.col(f"a.{name}").eqNullSafe(F.col(f"b.{name}")) for name in dedup.on))
    missing = rows.alias("a").join(known.alias("b"), on=same, how="left_anti").select(*rows.columns)
    return rows.join(standing.select(*PLACE).distinct(), on=list(PLACE), how="left_semi").select(*rows.columns).unionByName(missing)
