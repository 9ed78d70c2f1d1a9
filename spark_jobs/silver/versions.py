"""Which version of a key is the newest. Versions are ordered by their sequence, then deletes after others, then by a hash of their content:
a total order, so that neither the order of arrival nor the grouping into batches can change the winner.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

BROADCAST_UP_TO = 200_000
"""Keys of a batch that are sent to every task, so that a small batch reads a large table without sorting it."""


def content_hash(frame: DataFrame, columns: Sequence[str]) -> Column:
    """A hash of what the row says. NULL flags are part of it, because a hash alone passes over NULLs: (1, NULL) and (NULL, 1) differ."""
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    values = [F.to_json(F.struct(name)) if kinds[name] in ("map", "struct", "array") else F.col(name) for name in columns]
    return F.xxhash64(*values, *(F.col(name).isNull() for name in columns))


def rank_versions(rows: DataFrame, key: Sequence[str], sequence: str) -> DataFrame:
    """Adds `_class`: the best version per key of this batch is its `winner`, the others are `duplicate` or `superseded`."""
    is_candidate = F.col("_class").isNull()
    # Rows that do not compete often have a NULL key: each is a partition of its own, not all one huge one.
    alone = F.when(~is_candidate, F.struct("_file_id", "_line"))
    newest_first = [F.col(name).desc() for name in (sequence, "_is_delete", "_content")]
    versions = Window.partitionBy(*key, alone).orderBy(*newest_first, *map(F.col, ("_arrived_at", "_file_id", "_line")))
    is_winner = F.row_number().over(versions) == 1
    version = F.struct(sequence, "_is_delete", "_content")
    is_repeat = version == F.lag(version).over(versions)
    rank = F.when(is_winner, "winner").when(is_repeat, "duplicate").otherwise("superseded")
    return rows.withColumn("_class", F.when(is_candidate, rank).otherwise(F.col("_class")))


def judge_winners(winners: DataFrame, standing: DataFrame, key: Sequence[str], sequence: str, winner_count: int) -> DataFrame:
    """Turns `winner` into `inserted`, `updated`, `deleted`, `duplicate` or `superseded` against the versions that stand (or were deleted).

    Adds `_is_standing`: the key has a row in the table, which an update replaces and a delete removes; and `_was_deleted`: it has none,
    because its newest version so far deleted it.
    """
    keys = winners.select(*key)
    keys = F.broadcast(keys) if winner_count <= BROADCAST_UP_TO else keys
    old = F.struct(F.col(sequence).alias("sequence"), F.col("_is_delete").alias("is_delete"), F.col("_content").alias("content"))
    newest = standing.join(keys, on=list(key), how="left_semi").groupBy(*key).agg(F.max(old).alias("_old"))
    newest = F.broadcast(newest) if winner_count <= BROADCAST_UP_TO else newest
    new = F.struct(F.col(sequence).alias("sequence"), F.col("_is_delete").alias("is_delete"), F.col("_content").alias("content"))
    is_standing = F.coalesce(~F.col("_old.is_delete"), F.lit(False))
    published = F.when(F.col("_is_delete"), "deleted").when(is_standing, "updated").otherwise("inserted")
    verdict = (
        F.when(F.col("_old").isNull(), published).when(new == F.col("_old"), "duplicate").when(new > F.col("_old"), published)
    ).otherwise("superseded")
    joined = winners.join(newest, on=list(key), how="left").withColumn("_class", verdict)
    was_deleted = F.coalesce(F.col("_old.is_delete"), F.lit(False))
    return joined.select(*winners.columns, is_standing.alias("_is_standing"), was_deleted.alias("_was_deleted"))
