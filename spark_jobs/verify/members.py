"""Plain joins of facts with recomputed dimensions, and what becomes of a fact whose member is missing."""

from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.pipeline import Dimension, Lookup
from spark_jobs.verify.rows import CANDIDATE, PARKED, QUARANTINED


@dataclass(frozen=True)
class Membership:
    """A lookup with the members that it can find."""

    name: str
    lookup: Lookup
    dimension: Dimension
    members: DataFrame

    @property
    def rule(self) -> str:
        return f"member of {self.name}"


def with_members(rows: DataFrame, memberships: list[Membership], event_time: str | None, newest_arrival: str | None) -> DataFrame:
    """Adds the taken columns, and puts candidates whose member is missing into the class and under the rules that the lookups ask for."""
    missing: dict[str, list[Column]] = {"park": [], "quarantine": [], "unknown": []}
    for membership in memberships:
        rows = _joined(rows, membership, event_time)
        is_waiting = F.col(f"_is_missing_{membership.name}") & ~_is_given_up(membership.lookup, newest_arrival)
        missing[membership.lookup.if_missing].append(F.when(is_waiting, F.lit(membership.rule)))
    refused, parked = (F.array_compact(F.array(*rules).cast("array<string>")) for rules in (missing["quarantine"], missing["park"]))
    is_candidate = F.col("_class") == CANDIDATE
    judged = F.when(F.size(refused) > 0, QUARANTINED).when(F.size(parked) > 0, PARKED).otherwise(F.col("_class"))
    names = [name for name in rows.columns if not name.startswith("_is_missing_")]
    changed = {
        "_class": F.when(is_candidate, judged).otherwise(F.col("_class")),
        "_rules": F.when(is_candidate, F.concat(refused, parked)).otherwise(F.col("_rules")),
    }
    return rows.select(*(changed[name].alias(name) if name in changed else F.col(name) for name in names))


def _joined(rows: DataFrame, membership: Membership, event_time: str | None) -> DataFrame:
    """Left join; where an `on` column is NULL there is no member that could be missing."""
    lookup, dimension = membership.lookup, membership.dimension
    has_history = dimension.history == "scd2"
    at = (lookup.as_of or str(event_time)) if has_history else None
    found = membership.members.select(
        *(F.col(name).alias(f"_key_{name}") for name in dimension.key),
        *(F.col(name).alias(f"_taken_{name}") for name in lookup.take),
        *(["_valid_from", "_valid_to"] if has_history else []),
        F.lit(True).alias("_is_found"),
    )
    is_member = F.lit(True)
    for column, name in zip(lookup.on, dimension.key, strict=True):
        is_member = is_member & (rows[column] == found[f"_key_{name}"])
    if at:
        is_valid = (rows[at] >= found["_valid_from"]) & ((rows[at] < found["_valid_to"]) | found["_valid_to"].isNull())
        is_member = is_member & is_valid
    asks = F.lit(True)
    for column in lookup.on:
        asks = asks & rows[column].isNotNull()
    is_missing = (found["_is_found"].isNull() & asks).alias(f"_is_missing_{membership.name}")
    taken = [found[f"_taken_{name}"].alias(name) for name in lookup.take]
    return rows.join(found, on=is_member, how="left").select(*(rows[name] for name in rows.columns), *taken, is_missing)


def _is_given_up(lookup: Lookup, newest_arrival: str | None) -> Column:
    """Files went on arriving for so long after the row came."""
    if lookup.give_up_after is None or newest_arrival is None:
        return F.lit(False)
    until = F.col("_arrived_at") + F.expr(f"INTERVAL {lookup.give_up_after}")
    return F.coalesce(until <= F.lit(newest_arrival).cast("timestamp"), F.lit(False))
