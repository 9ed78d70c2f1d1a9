"""Which version of a key is the newest. Versions are ordered by their sequence, then by a hash of their content: a total order, so that
neither the order of arrival nor the grouping into batches can change the winner.
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


def class_of_decoded() -> Column:
    """Rows that cannot be published, or NULL for a candidate."""
    return F.when(F.size("_reasons") > 0, "quarantined").when(F.col("_is_filtered"), "filtered")


def rank_versions(rows: DataFrame, key: Sequence[str], sequence: str) -> DataFrame:
    """Adds `_class`: the best version per key of this batch is its `winner`, the others are `duplicate` or `superseded`."""
    is_candidate = F.col("_class").isNull()
    # Rows that do not compete often have a NULL key: each is a partition of its own, not all one huge one.
    alone = F.when(~is_candidate, F.struct("_file_id", "_line"))
    newest_first = [F.col(sequence).desc(), F.col("_content").desc(), *map(F.col, ("_arrived_at", "_file_id", "_line"))]
    versions = Window.partitionBy(*key, alone).orderBy(*newest_first)
    is_winner = F.row_number().over(versions) == 1
    version = F.struct(sequence, "_content")
    is_repeat = version == F.lag(version).over(versions)
    rank = F.when(is_winner, "winner").when(is_repeat, "duplicate").otherwise("superseded")
    return rows.withColumn("_class", F.when(is_candidate, rank).otherwise(F.col("_class")))


def judge_winners(winners: DataFrame, table: DataFrame, key: Sequence[str], sequence: str, winner_count: int) -> DataFrame:
    """Turns `winner` into `inserted`, `updated`, `duplicate` or `superseded` against the rows that the table has."""
    keys = winners.select(*key)
    keys = F.broadcast(keys) if winner_count <= BROADCAST_UP_TO else keys
    standing = table.join(keys, on=list(key), how="left_semi").select(
        *key, F.col(sequence).alias("_old_sequence"), F.col("_content").alias("_old_content")
    )
    standing = F.broadcast(standing) if winner_count <= BROADCAST_UP_TO else standing
    is_new = F.col("_old_content").isNull()
    is_same = (F.col(sequence) == F.col("_old_sequence")) & (F.col("_content") == F.col("_old_content"))
    is_newer = (F.col(sequence) > F.col("_old_sequence")) | (
        (F.col(sequence) == F.col("_old_sequence")) & (F.col("_content") > F.col("_old_content"))
    )
    verdict = F.when(is_new, "inserted").when(is_same, "duplicate").when(is_newer, "updated").otherwise("superseded")
    return winners.join(standing, on=list(key), how="left").withColumn("_class", verdict).select(*winners.columns)
