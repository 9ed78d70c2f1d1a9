"""Dimensions that are fed by whole snapshots. What enters: the versions known of all members, and those that
came, each with the snapshot that it was in. What leaves: the members that the newest snapshot has (scd1), or
the intervals of all (scd2), which end where the next snapshot lacks their member.

Nothing tells of a snapshot but the members that it had: the known ones stand in the rows of the table.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.silver import scd2


def place_in_order(winners: DataFrame, key: Sequence[str], snapshot: Sequence[str]) -> DataFrame:
    """Adds `_snapshot`, the number of the time of the snapshot that a version was in, `_next_at`, when the
    next one came, `_next`, the number of the next one that had its member, and `_is_new`: nothing was known
    of the snapshot.

    Files that arrive together are snapshots of one time, of which the last one holds (`_is_last`): what
    only those before it have was valid for no time.
    """
    own, at = F.struct(*snapshot), snapshot[0]
    known = winners.groupBy(*snapshot).agg((~F.max("_is_known")).alias("_is_new"))
    times = known.groupBy(at).agg(F.max_by("_is_new", own).alias("_is_new"), F.max(own).alias("_last"))
    in_order = Window.orderBy(at)
    numbered = times.withColumns(
        {"_snapshot": F.row_number().over(in_order), "_following": F.lead(at).over(in_order)}
    )
    placed = winners.join(F.broadcast(numbered), on=[at]).withColumn("_is_last", own == F.col("_last"))
    later = Window.partitionBy(*key).orderBy(at).rowsBetween(1, Window.unboundedFollowing)
    return placed.withColumns(
        {
            "_next_at": F.when(F.col("_is_last"), F.col("_following")).otherwise(F.col(at)),
            "_next": F.min(F.when(F.col("_is_last"), F.col("_snapshot"))).over(later),
        }
    ).drop("_last", "_following")


def mark_gaps(marked: DataFrame, key: Sequence[str], snapshot: Sequence[str]) -> DataFrame:
    """A version is a change also where the snapshot before it lacked its member."""
    in_order = Window.partitionBy(*key).orderBy(snapshot[0])
    before = F.lag(F.when(F.col("_is_last"), F.col("_snapshot"))).over(in_order)
    follows = F.coalesce(before == F.col("_snapshot") - 1, F.lit(False))
    return marked.withColumn("_is_change", F.col("_is_change") | ~follows)


def build_intervals(
    marked: DataFrame,
    key: Sequence[str],
    sequence: Sequence[str],
    declared: Sequence[str],
    origin: Sequence[str],
) -> DataFrame:
    """The intervals of histories, each until the snapshot that comes after its last one: either it says
    something else of the member, or it lacks it.
    """
    in_order = Window.partitionBy(*key).orderBy(sequence[0])
    numbered = marked.withColumn("_interval", F.sum(F.col("_is_change").cast("int")).over(in_order))
    ends = numbered.groupBy(*key, "_interval").agg(
        F.min(sequence[0]).alias("_valid_from"), F.max_by("_next_at", sequence[0]).alias("_until")
    )
    intervals = scd2.build_intervals(marked, key, sequence, declared, origin)
    return (
        intervals.join(ends.drop("_interval"), on=[*key, "_valid_from"])
        .withColumn("_valid_to", F.col("_until"))
        .drop("_until")
    )


def count_ended(placed: DataFrame) -> DataFrame:
    """Of the new snapshot that ends the greatest share of members: how many stood before it, and how many of
    them it lacks. No row where none has come after another.
    """
    is_ended = F.coalesce(F.col("_next") != F.col("_snapshot") + 1, F.lit(True))
    before = (
        placed.where("_is_last")
        .groupBy((F.col("_snapshot") + 1).alias("_snapshot"))
        .agg(F.count(F.lit(1)).alias("stood"), F.sum(is_ended.cast("bigint")).alias("ended"))
    )
    new = placed.where("_is_new").select("_snapshot").distinct()
    return (
        before.join(new, on="_snapshot")
        .select("stood", "ended")
        .orderBy((F.col("ended") / F.col("stood")).desc(), F.col("ended").desc())
        .limit(1)
    )


def mark_current(winners: DataFrame, snapshot: Sequence[str]) -> DataFrame:
    """Adds `_is_current`: the version is of the newest snapshot that any member was in."""
    own = F.struct(*snapshot)
    newest = winners.agg(F.max(own).alias("_newest"))
    return (
        winners.crossJoin(F.broadcast(newest))
        .withColumn("_is_current", own == F.col("_newest"))
        .drop("_newest")
    )


def class_of_current() -> Column:
    """Of the newest version of a member that came: one of an older snapshot is superseded by the newest."""
    is_repeat = F.col("_was") == F.struct("_is_delete", "_content")
    return (
        F.when(~F.col("_is_current"), "superseded")
        .when(F.col("_was").isNull(), "inserted")
        .when(is_repeat, "duplicate")
        .otherwise("updated")
    )


def differing_ends(ended: DataFrame, current: DataFrame, key: Sequence[str]) -> DataFrame:
    """What must be done to the members that are known to have ended: those that no longer stand with
    `_action` insert, and those to delete, because they are there again.
    """
    was = ended.select(*key, F.lit(True).alias("_was_ended"))
    both = current.drop("_was").join(was, on=list(key), how="left")
    was_ended = F.coalesce("_was_ended", F.lit(False))
    action = F.when(F.col("_is_current") & was_ended, "delete").when(
        ~F.col("_is_current") & ~was_ended, "insert"
    )
    return both.withColumn("_action", action).where(F.col("_action").isNotNull()).drop("_was_ended")


def count_gone(old: DataFrame, current: DataFrame, key: Sequence[str]) -> DataFrame:
    """How many members stood, and how many of them the newest snapshot lacks."""
    is_gone = (~F.col("_is_current")).cast("bigint")
    return (
        old.select(*key)
        .join(current.select(*key, "_is_current"), on=list(key))
        .agg(F.count(F.lit(1)).alias("stood"), F.coalesce(F.sum(is_gone), F.lit(0)).alias("ended"))
    )
