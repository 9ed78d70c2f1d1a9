"""Which version of a key is the newest. Versions are ordered by their sequence, then as the table says of
ties: by their arrival, or deletes after others and then by a hash of their content. It is a total order, so
that neither the order of processing nor the grouping into batches can change the winner. A tie is a key whose
newest sequence has several versions that say something else: it is counted.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.window import WindowSpec

from spark_jobs.lake.json_text import MICROSECONDS, WHOLE_JSON

BROADCAST_UP_TO = 200_000
"""Keys of a batch that are sent to every task, so that a small batch reads a large table
without sorting it.
"""
ARRIVAL = ("_chunk", "_file", "_line", "_element")
"""The place of a row in the recorded order of arrivals."""
CHANGE = "_change"
"""Of a row of a change feed: its commit, and within it old images before new ones."""
COMMIT = "@([0-9]+)(/(old|new)/[^/]*)?$"
"""How the `_file` of such a row ends; bronze rows of earlier versions do not tell their image."""


def content_hash(frame: DataFrame, columns: Sequence[str]) -> Column:
    """A hash of what the row says. NULL flags are part of it, because a hash alone passes over NULLs: (1,
    NULL) and (NULL, 1) differ.
    """
    kinds = {field.name: field.dataType.typeName() for field in frame.schema.fields}
    nested = [name for name in columns if kinds[name] in ("map", "struct", "array")]
    values = [F.to_json(F.struct(name), MICROSECONDS) if name in nested else F.col(name) for name in columns]
    return F.xxhash64(*values, *(F.col(name).isNull() for name in columns))


def comparable(frame: DataFrame, name: str) -> Column:
    """The column as Spark can compare it: a map, or what has one inside, as text, with its entries in their
    order.
    """
    has_map = "map<" in frame.schema[name].dataType.simpleString()
    return F.to_json(F.struct(name), WHOLE_JSON).alias(name) if has_map else F.col(name)


def change_order(file: str = "_file", is_delete: str = "_is_delete") -> str:
    """The number of `CHANGE` as SQL, from where a row came: no table needs a column for it."""
    commit, image = (f"regexp_extract({file}, '{COMMIT}', {group})" for group in (1, 3))
    return (
        f"CAST({commit} AS BIGINT) * 2 + CASE {image} WHEN 'old' THEN 0 WHEN 'new' THEN 1 ELSE"
        f" IF({is_delete}, 0, 1) END"
    )


def rank_versions(
    rows: DataFrame, key: Sequence[str], sequence: Sequence[str], ties: Sequence[str] = ()
) -> DataFrame:
    """Adds `_class`: the best version per key of this batch is its `winner`, the others are `duplicate` or
    `superseded`; and `_is_tied`: a winner whose sequence has other versions in this batch. `ties` are columns
    that decide between versions of one sequence. Without a sequence they are the order itself: nothing ties.
    """
    is_candidate = F.col("_class").isNull()
    # Rows that do not compete often have a NULL key: each is a partition of its own, not all one huge one.
    alone = F.when(~is_candidate, F.struct("_file_id", "_line"))
    newest_first = [F.col(name).desc() for name in (*sequence, *ties, "_is_delete", "_content")]
    versions = Window.partitionBy(*key, alone).orderBy(
        *newest_first, *map(F.col, ("_chunk", "_file", "_line"))
    )
    is_winner = F.row_number().over(versions) == 1
    version = F.struct(*sequence, "_is_delete", "_content")
    is_repeat = version == F.lag(version).over(versions)
    rank = F.when(is_winner, "winner").when(is_repeat, "duplicate").otherwise("superseded")
    is_tied = is_winner & is_candidate & has_rivals(versions, sequence, ties) if sequence else F.lit(False)
    return rows.withColumns(
        {"_class": F.when(is_candidate, rank).otherwise(F.col("_class")), "_is_tied": is_tied}
    )


def has_rivals(versions: WindowSpec, sequence: Sequence[str], ties: Sequence[str]) -> Column:
    """Of a winner, whether the versions of its sequence say different things: the greatest and the least of
    them are not one.

    The least is the greatest of the opposites, so that it is found in the pass that ranks. The greatest is
    the winner itself, unless `ties` have decided.
    """
    whole = versions.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)
    opposite = F.struct(
        *sequence, (~F.col("_is_delete")).alias("_is_delete"), F.bitwise_not("_content").alias("_content")
    )
    own = F.struct(*sequence, "_is_delete", "_content")
    greatest, least = F.max(own).over(whole) if ties else own, F.max(opposite).over(whole)
    return (greatest["_is_delete"] == least["_is_delete"]) | (
        greatest["_content"] != F.bitwise_not(least["_content"])
    )


def judge_winners(
    winners: DataFrame,
    standing: DataFrame,
    key: Sequence[str],
    sequence: Sequence[str],
    ties: Sequence[str],
    winner_count: int,
) -> DataFrame:
    """Turns `winner` into `inserted`, `updated`, `deleted`, `duplicate` or `superseded` against the versions
    that stand (or were deleted).

    Adds `_is_standing`: the key has a row in the table, which an update replaces and a delete removes;
    `_was_deleted`: it has none, because its newest version so far deleted it; and `_is_newer_copy`: a
    duplicate that came later, where the arrival decides ties.
    """
    keys = winners.select(*key)
    keys = F.broadcast(keys) if winner_count <= BROADCAST_UP_TO else keys
    columns = (*sequence, *ties, "_is_delete", "_content")
    newest = (
        standing.join(keys, on=list(key), how="left_semi")
        .groupBy(*key)
        .agg(F.max(_version(columns)).alias("_old"))
    )
    newest = F.broadcast(newest) if winner_count <= BROADCAST_UP_TO else newest
    new, old = _version(columns), F.col("_old")
    was_deleted, content = old[f"_{len(columns) - 2}"], old[f"_{len(columns) - 1}"]
    is_same_sequence = F.lit(True)
    for number, name in enumerate(sequence):
        is_same_sequence &= F.col(name) == old[f"_{number}"]
    is_same = (F.col("_is_delete") == was_deleted) & (F.col("_content") == content)
    is_standing = F.coalesce(~was_deleted, F.lit(False))
    published = F.when(F.col("_is_delete"), "deleted").when(is_standing, "updated").otherwise("inserted")
    verdict = (
        F.when(old.isNull(), published)
        .when(is_same_sequence & is_same, "duplicate")
        .when(new > old, published)
    )
    ties_with_old = is_same_sequence & ~is_same if sequence else F.lit(False)
    # ties among versions that are older than the one that stands are over
    is_newest = old.isNull() | is_same_sequence | (new > old)
    is_tied = F.coalesce((F.col("_is_tied") & is_newest) | ties_with_old, F.lit(False))
    changed = {"_class": verdict.otherwise("superseded"), "_is_tied": is_tied}
    return winners.join(newest, on=list(key), how="left").select(
        *(changed[name].alias(name) if name in changed else F.col(name) for name in winners.columns),
        is_standing.alias("_is_standing"),
        F.coalesce(was_deleted, F.lit(False)).alias("_was_deleted"),
        F.coalesce(is_same_sequence & is_same & (new > old), F.lit(False)).alias("_is_newer_copy"),
    )


def is_newer(sequence: Sequence[str], ties: Sequence[str]) -> str:
    """The same order once more, as the condition of a MERGE of `new` rows into `old` ones, which are no
    deletes.
    """
    condition = "(new._is_delete OR new._content > old._content)"
    for name in reversed([*sequence, *ties]):
        new, old = (
            (change_order(f"{side}._file", deletes) if name == CHANGE else f"{side}.`{name}`")
            for side, deletes in (("new", "new._is_delete"), ("old", "false"))
        )
        condition = f"({new} > {old} OR ({new} = {old} AND {condition}))"
    return condition


def _version(columns: Sequence[str]) -> Column:
    """Comparable with another one, whatever the columns are called."""
    return F.struct(*(F.col(name).alias(f"_{number}") for number, name in enumerate(columns)))
