"""Plain joins of facts with recomputed dimensions, and what becomes of a fact whose member is missing."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.lookups import Lookup
from spark_jobs.config.silver import Dimension
from spark_jobs.verify.rows import CANDIDATE, PARKED, QUARANTINED


@dataclass(frozen=True)
class Membership:
    """A lookup with the members that it can find."""

    name: str
    lookup: Lookup
    dimension: Dimension
    members: DataFrame
    ended: DataFrame | None = None
    """The versions that have ended members."""

    @property
    def rule(self) -> str:
        return f"member of {self.name}"


def with_members(
    rows: DataFrame, memberships: list[Membership], event_time: str | None, newest_arrival: str | None
) -> DataFrame:
    """Adds the taken columns, and puts candidates whose member is missing into the class and under the rules
    that the lookups ask for.
    """
    missing: dict[str, list[Column]] = {"park": [], "quarantine": [], "unknown": []}
    for membership in memberships:
        rows = _joined(rows, membership, event_time)
        is_waiting = F.col(f"_is_missing_{membership.name}") & ~_is_given_up(
            membership.lookup, newest_arrival
        )
        missing[membership.lookup.if_missing].append(F.when(is_waiting, F.lit(membership.rule)))
    refused, parked = (
        F.array_compact(F.array(*rules).cast("array<string>"))
        for rules in (missing["quarantine"], missing["park"])
    )
    is_candidate = F.col("_class") == CANDIDATE
    judged = (
        F.when(F.size(refused) > 0, QUARANTINED).when(F.size(parked) > 0, PARKED).otherwise(F.col("_class"))
    )
    names = [name for name in rows.columns if not name.startswith("_is_missing_")]
    changed = {
        "_class": F.when(is_candidate, judged).otherwise(F.col("_class")),
        "_rules": (
            F.when(is_candidate, F.when(F.size(refused) > 0, refused).otherwise(parked)).otherwise(
                F.col("_rules")
            )
        ),
    }
    return rows.select(*(changed[name].alias(name) if name in changed else F.col(name) for name in names))


def with_taken(rows: DataFrame, membership: Membership) -> DataFrame:
    """Adds the taken columns to members of another dimension, which wait for nothing."""
    return _joined(rows, membership, None).drop(f"_is_missing_{membership.name}")


def _joined(rows: DataFrame, membership: Membership, event_time: str | None) -> DataFrame:
    """Left join; where an `on` column or the time is NULL there is no member that could be missing."""
    lookup, dimension = membership.lookup, membership.dimension
    has_history = dimension.history == "scd2"
    at = (lookup.as_of or str(event_time)) if has_history else None
    found = membership.members.select(
        *(F.col(name).alias(f"_key_{name}") for name in dimension.key),
        *(F.col(column).alias(f"_taken_{name}") for name, column in lookup.pairs),
        *(["_valid_from", "_valid_to"] if has_history else []),
        F.lit(True).alias("_is_found"),
    )
    is_member = F.lit(True)
    for column, name in zip(lookup.on, dimension.key, strict=True):
        is_member = is_member & (rows[column] == found[f"_key_{name}"])
    if at:
        is_valid = (rows[at] >= found["_valid_from"]) & (
            (rows[at] < found["_valid_to"]) | found["_valid_to"].isNull()
        )
        is_member = is_member & is_valid
    asks = F.lit(True)
    for column in [*lookup.on, *([at] if at else [])]:
        asks = asks & rows[column].isNotNull()
    is_missing = (found["_is_found"].isNull() & asks).alias(f"_is_missing_{membership.name}")
    taken = [found[f"_taken_{name}"].alias(name) for name, _ in lookup.pairs]
    joined = rows.join(found, on=is_member, how="left").select(
        *(rows[name] for name in rows.columns), *taken, is_missing
    )
    return joined if membership.ended is None else _without_ended(joined, membership, at)


def _without_ended(rows: DataFrame, membership: Membership, at: str | None) -> DataFrame:
    """A member that has ended is not missing: of a history (`at`) one that was known by then."""
    lookup, key, missing = membership.lookup, membership.dimension.key, f"_is_missing_{membership.name}"
    assert membership.ended is not None
    names = [F.col(name).alias(f"_gone_{name}") for name in key]
    if at:
        first = membership.ended.select(*names, F.col(membership.dimension.sequence[0]).alias("_from"))
        versions = first.union(membership.members.select(*names, "_valid_from"))
    else:
        versions = membership.ended.select(*names, F.lit(None).alias("_from"))
    known = versions.groupBy(*(f"_gone_{name}" for name in key)).agg(F.min("_from").alias("_from"))
    gone = known.withColumn("_is_gone", F.lit(True))
    is_gone = F.lit(True)
    for column, name in zip(lookup.on, key, strict=True):
        is_gone = is_gone & (rows[column] == gone[f"_gone_{name}"])
    if at:
        is_gone = is_gone & (rows[at] >= gone["_from"])
    waits = (F.col(missing) & F.col("_is_gone").isNull()).alias(missing)
    kept = [waits if name == missing else rows[name] for name in rows.columns]
    return rows.join(gone, on=is_gone, how="left").select(*kept)


def _is_given_up(lookup: Lookup, newest_arrival: str | None) -> Column:
    """Files went on arriving for so long after the row came."""
    if lookup.give_up_after is None or newest_arrival is None:
        return F.lit(False)
    until = F.col("_arrived_at") + F.expr(f"INTERVAL {lookup.give_up_after}")
    return F.coalesce(until <= F.lit(newest_arrival).cast("timestamp"), F.lit(False))
