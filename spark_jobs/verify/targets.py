"""What is compared: each table and the tables of rows set aside for it, with the columns that must be equal
and those that name a row.

Never compared is what tells of processing or of arrival, and of keyed tables the file and line: identical
copies of a version may come in several files.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import FAILED_RULES
from spark_jobs.config.gold import Gold
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.table_name import TableName
from spark_jobs.verify.gold_rows import WINDOW, keeps_late, key_of
from spark_jobs.verify.recompute import PLACE, Recomputation

UNCOMPARED = ("_processed_at", "_revision", "_seen_until", "_closed_until", "_arrived_at")
ROW_PLACE = ("_file_id", "_line")


@dataclass(frozen=True)
class Target:
    """A table that stands (or is not there) and its recomputation. Without a key a row is known by all that
    it says.
    """

    name: str
    standing: DataFrame | None
    recomputed: DataFrame
    key: tuple[str, ...] | None
    values: tuple[str, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (*(self.key or ()), *self.values)


def targets_of(again: Recomputation, table: str) -> Iterator[tuple[str, Callable[[], Target]]]:
    """The table and its side tables by their names, each built when it is its turn; none where neither it nor
    its input is there yet.
    """
    layer, name = TableName(table).parts
    waits_for = [
        source
        for source in again.inputs[table]
        if not (TableName(table).has_keys and TableName(source).is_in("dimension"))
    ]
    if not again.standing.has(table) and not all(map(again.standing.has, waits_for)):
        return
    if layer == "dimension":
        dimension = again.pipeline.dimensions[name]
        yield table, lambda: _dimension(again, table, dimension)
        yield f"quarantine.{table}", lambda: _quarantine(again, table)
        if dimension.has_ends:
            yield f"deleted.{table}", lambda: _deleted(again, table, dimension)
    elif layer == "silver":
        yield from _targets_of_silver(again, table, again.pipeline.silver[name])
    else:
        gold = again.pipeline.gold[name]
        if gold.state:
            return
        yield table, lambda: _gold(again, table, gold)
        if keeps_late(gold) or (not gold.is_native and again.standing.has(f"late.{table}")):
            yield f"late.{table}", lambda: _late(again, table, gold)


def _targets_of_silver(
    again: Recomputation, table: str, silver: Silver
) -> Iterator[tuple[str, Callable[[], Target]]]:
    parks = any(lookup.if_missing == "park" for lookup in silver.lookup.values())
    yield table, lambda: _silver(again, table, silver)
    yield f"quarantine.{table}", lambda: _quarantine(again, table)
    if parks or again.standing.has(f"parked.{table}"):
        yield f"parked.{table}", lambda: _parked(again, table)
    if silver.delete_when:
        yield f"deleted.{table}", lambda: _deleted(again, table, silver)


def _dimension(again: Recomputation, table: str, dimension: Dimension) -> Target:
    key = (*dimension.key, *(["_valid_from"] if dimension.history == "scd2" else []))
    taken = [column for lookup in dimension.lookup.values() for column in lookup.taken]
    own = dict.fromkeys([*dimension.columns, *taken, *dimension.sequence])
    values = (*(name for name in own if name not in key), "_valid_to", "_content")
    return Target(table, again.standing.table(table), again.table(table), key, values)


def _silver(again: Recomputation, table: str, silver: Silver) -> Target:
    taken = [column for lookup in silver.lookup.values() for column in lookup.taken]
    placed = silver.sequence if silver.key else []
    own = tuple(dict.fromkeys([*silver.columns, *taken, "_event_at", "_content", *placed, FAILED_RULES]))
    standing, recomputed = again.standing.table(table), again.table(table)
    if silver.key:
        return Target(
            table,
            standing,
            recomputed,
            tuple(silver.key),
            tuple(name for name in own if name not in silver.key),
        )
    if silver.explode:  # the elements of a record share its place
        return Target(table, standing, recomputed, None, (*ROW_PLACE, *own))
    return Target(table, standing, recomputed, ROW_PLACE, own)


def _gold(again: Recomputation, table: str, gold: Gold) -> Target:
    standing, recomputed = again.standing.table(table), again.table(table)
    if gold.dedup:
        declared = [name for name in recomputed.columns if not name.startswith("_")]
        return Target(table, standing, recomputed, None, (*ROW_PLACE, *declared))
    if gold.from_:
        return Target(
            table, standing, recomputed, tuple(key_of(gold)), (*gold.measures, *gold.running, "_row_count")
        )
    names = dict.fromkeys([*recomputed.columns, *(standing.columns if standing is not None else ())])
    return Target(table, standing, recomputed, None, tuple(name for name in names if name not in UNCOMPARED))


def _quarantine(again: Recomputation, table: str) -> Target:
    name, recomputed = f"quarantine.{table}", again.quarantined(table)
    standing = again.standing.table(name)
    if standing is not None:
        if "state" in standing.columns:
            standing = standing.where(F.coalesce("state", F.lit("open")) != "replayed")
        rules = F.array_join(F.array_sort(F.transform("reasons", lambda reason: reason["rule"])), ", ")
        standing = standing.select(*PLACE, rules.alias("rules"))
    return Target(name, standing, recomputed, PLACE, ("rules",))


def _parked(again: Recomputation, table: str) -> Target:
    name = f"parked.{table}"
    return Target(name, again.standing.table(name), again.parked(table), None, PLACE)


def _deleted(again: Recomputation, table: str, definition: Silver | Dimension) -> Target:
    name, key = f"deleted.{table}", tuple(definition.key or ())
    if isinstance(definition, Dimension) and definition.snapshot:  # which version was the last is no matter
        return Target(name, again.standing.table(name), again.deleted(table), None, key)
    if isinstance(definition, Dimension) and definition.history == "scd2":
        key = (*key, definition.sequence[0])
    sequence = tuple(column for column in definition.sequence if column not in key)
    return Target(name, again.standing.table(name), again.deleted(table), key, sequence)


def _late(again: Recomputation, table: str, gold: Gold) -> Target:
    name = f"late.{table}"
    standing = again.standing.table(name)
    recomputed = again.late(table) if keeps_late(gold) or standing is None else standing.limit(0)
    return Target(name, standing, recomputed, None, (*WINDOW, "file_id", "line"))
