"""What is compared: each table and the tables of rows set aside for it, with the columns that must be equal and those that name a row.

Never compared is what tells of processing or of arrival, and of keyed tables the file and line: identical copies of a version may come
in several files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.pipeline import Dimension, Gold, Silver
from spark_jobs.verify.recompute import Recomputation
from spark_jobs.verify.windows import WINDOW, key_of

UNCOMPARED = ("_processed_at", "_revision", "_seen_until", "_closed_until", "_arrived_at")
PLACE = ("_file_id", "_line")


@dataclass(frozen=True)
class Target:
    """A table that stands (or is not there) and its recomputation. Without a key a row is known by all that it says."""

    name: str
    standing: DataFrame | None
    recomputed: DataFrame
    key: tuple[str, ...] | None
    values: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(self.key or ()), *self.values)


def targets_of(again: Recomputation, table: str) -> Iterator[tuple[str, Callable[[], Target]]]:
    """The table and its side tables by their names, each built when it is its turn; none where neither it nor its input is there yet."""
    layer, _, name = table.partition(".")
    waits_for = [source for source in again.inputs[table] if not (layer == "silver" and source.startswith("dimension."))]
    if not again.standing.has(table) and not all(map(again.standing.has, waits_for)):
        return
    if layer == "dimension":
        dimension = again.pipeline.dimensions[name]
        yield table, lambda: _dimension(again, table, dimension)
        yield f"quarantine/{table}", lambda: _quarantine(again, table, is_exploded=False)
    elif layer == "silver":
        yield from _targets_of_silver(again, table, again.pipeline.silver[name])
    else:
        gold = again.pipeline.gold[name]
        yield table, lambda: _gold(again, table, gold)
        if (gold.watermark and gold.late == "keep") or again.standing.has_side("late", table):
            yield f"late/{table}", lambda: _late(again, table, gold)


def _targets_of_silver(again: Recomputation, table: str, silver: Silver) -> Iterator[tuple[str, Callable[[], Target]]]:
    is_exploded = silver.explode is not None
    parks = any(lookup.if_missing == "park" for lookup in silver.lookup.values())
    yield table, lambda: _silver(again, table, silver)
    yield f"quarantine/{table}", lambda: _quarantine(again, table, is_exploded)
    if parks or again.standing.has_side("parked", table):
        yield f"parked/{table}", lambda: _parked(again, table)
    if silver.delete_when or (silver.key and again.standing.has_side("deleted", table)):
        yield f"deleted/{table}", lambda: _deleted(again, table, silver)


def _dimension(again: Recomputation, table: str, dimension: Dimension) -> Target:
    key = (*dimension.key, *(["_valid_from"] if dimension.history == "scd2" else []))
    values = (*(name for name in dimension.columns if name not in key), "_valid_to", "_content")
    return Target(table, again.standing.table(table), again.table(table), key, values)


def _silver(again: Recomputation, table: str, silver: Silver) -> Target:
    taken = [column for lookup in silver.lookup.values() for column in lookup.take]
    own = (*silver.columns, *taken, "_event_at", "_content")
    standing, recomputed = again.standing.table(table), again.table(table)
    if silver.key:
        return Target(table, standing, recomputed, tuple(silver.key), tuple(name for name in own if name not in silver.key))
    if silver.explode:  # the elements of a record share its place
        return Target(table, standing, recomputed, None, (*PLACE, *own))
    return Target(table, standing, recomputed, PLACE, own)


def _gold(again: Recomputation, table: str, gold: Gold) -> Target:
    standing, recomputed = again.standing.table(table), again.table(table)
    if gold.from_:
        return Target(table, standing, recomputed, tuple(key_of(gold)), (*gold.measures, "_row_count"))
    names = dict.fromkeys([*recomputed.columns, *(standing.columns if standing is not None else ())])
    return Target(table, standing, recomputed, None, tuple(name for name in names if name not in UNCOMPARED))


def _quarantine(again: Recomputation, table: str, is_exploded: bool) -> Target:
    standing, recomputed = again.standing.side("quarantine", table), again.quarantined(table)
    if standing is not None:
        rules = F.array_join(F.array_sort(F.transform("reasons", lambda reason: reason["rule"])), ", ")
        standing = standing.withColumn("rules", rules)
    place = _place(standing, recomputed)
    if is_exploded and "element" not in place:
        return Target(f"quarantine/{table}", standing, recomputed, None, (*place, "rules"))
    return Target(f"quarantine/{table}", standing, recomputed, place, ("rules",))


def _parked(again: Recomputation, table: str) -> Target:
    standing, recomputed = again.standing.side("parked", table), again.parked(table)
    return Target(f"parked/{table}", standing, recomputed, None, _place(standing, recomputed))


def _deleted(again: Recomputation, table: str, silver: Silver) -> Target:
    key = tuple(silver.key or ())
    sequence = tuple(name for name in [silver.sequence_column] if name and name not in key)
    return Target(f"deleted/{table}", again.standing.side("deleted", table), again.deleted(table), key, sequence)


def _late(again: Recomputation, table: str, gold: Gold) -> Target:
    standing = again.standing.side("late", table)
    keeps = gold.watermark and gold.late == "keep"
    recomputed = again.late(table) if keeps or standing is None else standing.limit(0)
    return Target(f"late/{table}", standing, recomputed, None, (*WINDOW, "file_id", "line"))


def _place(standing: DataFrame | None, recomputed: DataFrame) -> tuple[str, ...]:
    """Where a row that was set aside came from; of an exploded record also which of its elements it is, where both say it."""
    has_element = "element" in recomputed.columns and (standing is None or "element" in standing.columns)
    return ("file_id", "line", *(["element"] if has_element else []))
