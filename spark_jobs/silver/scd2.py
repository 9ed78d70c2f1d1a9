"""History of a dimension (scd2). What enters: the versions known of some keys, in any order, with those that
end a member. What leaves: one row per interval, and those that end.

Versions in a row that say the same are one interval. Each keeps its place in `_confirmed_by`: a version that
arrives later may fall between two of them and split the interval, and without those places the part behind
the split would be lost.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.config.names import ARRIVED_AT
from spark_jobs.silver.versions import comparable, content_hash, has_rivals

ORIGIN = ("_arrived_at", "_file", "_file_id", "_line")
INTERVAL = ("_content", "_valid_to", "_confirmed_by")
"""What an interval is, beside its place."""


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
    return versions.withColumns(
        {
            "_content": content_hash(versions, declared),
            "_is_known": F.lit(True),
            "_is_delete": F.lit(False),
        }
    )


def rank_versions_at(
    versions: DataFrame, place: Sequence[str], sequence: Sequence[str], ties: Sequence[str] = ()
) -> DataFrame:
    """Adds `_class` among the versions of one place, a key and time: one `winner`, the others `duplicate` or
    `superseded`.

    Also `_is_tied`: the winner had a rival of the same sequence that said something else, which nothing has
    that arrives; and `_was`: whether the version known so far ended the member, and its content.
    """
    decides = (*sequence, *ties, "_is_delete", "_content", "_is_known")
    order = [F.col(name).desc() for name in decides]
    rivals = Window.partitionBy(*place).orderBy(*order, *map(F.col, ("_arrived_at", "_file_id", "_line")))
    whole = rivals.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    said = F.struct("_is_delete", "_content")  # of what a snapshot says the time is a part
    is_winner, is_repeat = F.row_number().over(rivals) == 1, said == F.lag(said).over(rivals)
    rank = F.when(is_winner, "winner").when(is_repeat, "duplicate").otherwise("superseded")
    known = F.max(F.when(F.col("_is_known"), said)).over(whole)
    is_tied = F.lit(False) if sequence[0] == ARRIVED_AT else is_winner & has_rivals(rivals, sequence, ties)
    return versions.withColumns({"_class": rank, "_is_tied": is_tied, "_was": known})


def mark_changes(
    winners: DataFrame, key: Sequence[str], sequence: Sequence[str], declared: Sequence[str]
) -> DataFrame:
    """Adds `_is_change`: the version says something else than the one before it, NULLs included; and
    `_is_first_tie` of its key.
    """
    attributes = F.struct(
        *(comparable(winners, c) for c in declared if c not in (*key, *sequence)), "_is_delete"
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
    confirmed it. It is valid until the next version, which may end the member.
    """
    at = sequence[0]
    in_order = Window.partitionBy(*key).orderBy(at)
    numbered = marked.withColumn("_interval", F.sum(F.col("_is_change").cast("int")).over(in_order))
    confirmation = F.struct(*(name for name in sequence if name not in origin), *origin)
    row = F.struct(*(c for c in declared if c not in key), *origin, "_content", "_is_delete")
    intervals = numbered.groupBy(*key, "_interval").agg(
        F.min_by(row, F.col(at)).alias("_first"),
        F.sort_array(F.collect_list(confirmation)).alias("_confirmed_by"),
    )
    opened = intervals.select(*key, "_first.*", "_confirmed_by").withColumn("_valid_from", F.col(at))
    until = F.lead("_valid_from").over(Window.partitionBy(*key).orderBy("_valid_from"))
    return opened.withColumn("_valid_to", until).where(~F.col("_is_delete")).drop("_is_delete")


def differences(
    old: DataFrame, new: DataFrame, place: Sequence[str], state_of: Sequence[str] = INTERVAL
) -> DataFrame:
    """What must be done to the table's rows: the new ones with `_action` insert or update, and the places of
    those to delete.
    """
    was = old.select(*place, _as_one(old, state_of).alias("_was"))
    both = new.withColumn("_is", _as_one(new, state_of)).join(was, on=list(place), how="full")
    is_other = ~F.col("_is").eqNullSafe(F.col("_was"))
    action = (
        F.when(F.col("_is").isNull(), "delete")
        .when(F.col("_was").isNull(), "insert")
        .when(is_other, "update")
    )
    return both.withColumn("_action", action).where(F.col("_action").isNotNull()).drop("_is", "_was")


def _as_one(rows: DataFrame, names: Sequence[str]) -> Column:
    return F.struct(*(comparable(rows, name).alias(name) for name in names))


def differing_ends(
    known: DataFrame, winners: DataFrame, key: Sequence[str], sequence: Sequence[str]
) -> DataFrame:
    """What must be done to the versions that end a member, of which `known` are kept: those of `winners` with
    `_action` insert or update, and those to delete, because another version of their time has won.
    """
    place = [*key, sequence[0]]
    ends = winners.where(F.col("_is_delete")).select(*known.columns)
    return differences(known, ends, place, [name for name in known.columns if name not in place])


def class_of_winner() -> Column:
    """A version that takes the place of another one of its time updates history. One that changes nothing
    repeats what was known.
    """
    is_repeat = F.col("_was") == F.struct("_is_delete", "_content")
    new = F.when(F.col("_is_change"), "inserted").otherwise("duplicate")
    return (
        F.when(is_repeat, "duplicate")
        .when(F.col("_is_delete"), "deleted")
        .when(F.col("_was").isNull(), new)
        .otherwise("updated")
    )
