"""History of a dimension (scd2). What enters: the versions known of some keys, in any order. What leaves: one
row per interval.

Versions in a row that say the same are one interval. Each keeps its place in `_confirmed_by`: a version that
arrives later may fall between two of them and split the interval, and without those places the part behind
the split would be lost.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.silver.versions import comparable, content_hash, has_rivals

ORIGIN = ("_arrived_at", "_file", "_file_id", "_line")


def origin(ties: Sequence[str]) -> list[str]:
    """Where a version came from, with what decides between versions of one sequence."""
    return list(dict.fromkeys([*ORIGIN, *ties]))


def expand_intervals(
    intervals: DataFrame, sequence: Sequence[str], declared: Sequence[str], origin: Sequence[str] = ORIGIN
) -> DataFrame:
    """Back from intervals to the versions they were built from."""
    confirmed = F.explode("_confirmed_by").alias("_by")
    versions = intervals.select(*(c for c in declared if c not in sequence), confirmed).select(
        *(F.col(f"_by.{c}").alias(c) if c in sequence else F.col(c) for c in declared),
        *(F.col(f"_by.{name}").alias(name) for name in origin),
    )
    return versions.withColumn("_content", content_hash(versions, declared)).withColumn(
        "_is_known", F.lit(True)
    )


def rank_versions_at(
    versions: DataFrame, key: Sequence[str], sequence: Sequence[str], ties: Sequence[str] = ()
) -> DataFrame:
    """Adds `_class` among the versions of one key and time, the first of `sequence`: one `winner`, the others
    `duplicate` or `superseded`.

    Also `_is_tied`: the winner had a rival of the same sequence that said something else; and `_was`: the
    content that was known so far.
    """
    order = [F.col(name).desc() for name in (*sequence[1:], *ties, "_content", "_is_known")]
    rivals = Window.partitionBy(*key, sequence[0]).orderBy(
        *order, *map(F.col, ("_arrived_at", "_file_id", "_line"))
    )
    whole = rivals.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    is_winner, is_repeat = (
        F.row_number().over(rivals) == 1,
        F.col("_content") == F.lag("_content").over(rivals),
    )
    rank = F.when(is_winner, "winner").when(is_repeat, "duplicate").otherwise("superseded")
    known = F.max(F.when(F.col("_is_known"), F.col("_content"))).over(whole)
    return versions.withColumns(
        {"_class": rank, "_is_tied": is_winner & has_rivals(rivals, sequence, ties), "_was": known}
    )


def mark_changes(
    winners: DataFrame, key: Sequence[str], sequence: Sequence[str], declared: Sequence[str]
) -> DataFrame:
    """Adds `_is_change`: the version says something else than the one before it, NULLs included; and
    `_is_first_tie` of its key.
    """
    attributes = F.struct(
        *(comparable(winners, c) for c in declared if c not in (*key, *sequence)), F.lit(1).alias("_")
    )
    in_order = Window.partitionBy(*key).orderBy(sequence[0])
    before = F.lag(attributes).over(in_order)
    ties_before = F.sum(F.col("_is_tied").cast("int")).over(
        in_order.rowsBetween(Window.unboundedPreceding, Window.currentRow - 1)
    )
    is_first_tie = F.col("_is_tied") & (F.coalesce(ties_before, F.lit(0)) == 0)
    return winners.withColumns(
        {"_is_change": before.isNull() | ~attributes.eqNullSafe(before), "_is_first_tie": is_first_tie}
    )


def build_intervals(
    marked: DataFrame,
    key: Sequence[str],
    sequence: Sequence[str],
    declared: Sequence[str],
    origin: Sequence[str] = ORIGIN,
) -> DataFrame:
    """One row per interval: the version that opened it, how long it was valid, and the versions that
    confirmed it.
    """
    at = sequence[0]
    in_order = Window.partitionBy(*key).orderBy(at)
    numbered = marked.withColumn("_interval", F.sum(F.col("_is_change").cast("int")).over(in_order))
    confirmation = F.struct(*(name for name in sequence if name not in origin), *origin)
    row = F.struct(*(c for c in declared if c not in key), *origin, "_content")
    intervals = numbered.groupBy(*key, "_interval").agg(
        F.min_by(row, F.col(at)).alias("_first"),
        F.sort_array(F.collect_list(confirmation)).alias("_confirmed_by"),
    )
    opened = intervals.select(*key, "_first.*", "_confirmed_by").withColumn("_valid_from", F.col(at))
    until = F.lead("_valid_from").over(Window.partitionBy(*key).orderBy("_valid_from"))
    return opened.withColumn("_valid_to", until)


def differences(old: DataFrame, new: DataFrame, key: Sequence[str]) -> DataFrame:
    """What must be done to the table's intervals: the new rows with `_action` insert or update, and the keys
    of those to delete.
    """
    place = [*key, "_valid_from"]
    was = old.select(*place, F.struct("_content", "_valid_to", "_confirmed_by").alias("_was"))
    state = F.struct("_content", "_valid_to", "_confirmed_by")
    both = new.withColumn("_is", state).join(was, on=place, how="full")
    is_other = ~F.col("_is").eqNullSafe(F.col("_was"))
    action = (
        F.when(F.col("_is").isNull(), "delete")
        .when(F.col("_was").isNull(), "insert")
        .when(is_other, "update")
    )
    return both.withColumn("_action", action).where(F.col("_action").isNotNull()).drop("_is", "_was")


def class_of_winner() -> Column:
    """A version that takes the place of another one of its time updates history. One that changes nothing
    repeats what was known.
    """
    is_repeat = F.col("_was") == F.col("_content")
    new = F.when(F.col("_is_change"), "inserted").otherwise("duplicate")
    return F.when(F.col("_was").isNull(), new).when(is_repeat, "duplicate").otherwise("updated")
