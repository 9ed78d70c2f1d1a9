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
    """Adds the taken columns, and puts candidates whose member is missing into the class and under the rule that the lookup asks for."""
    parked, refused = F.lit(False), F.array().cast("array<string>")
    for number, membership in enumerate(memberships):
        rows = _joined(rows, membership, event_time, f"_is_missing_{number}")
        is_missing, lookup = F.col(f"_is_missing_{number}"), membership.lookup
        if lookup.if_missing == "park":
            parked = parked | (is_missing & ~_is_given_up(lookup, newest_arrival))
        elif lookup.if_missing == "quarantine":
            refused = F.concat(refused, F.when(is_missing, F.array(F.lit(membership.rule))).otherwise(F.array().cast("array<string>")))
    is_candidate = F.col("_class") == CANDIDATE
    judged = F.when(F.size("_refused") > 0, QUARANTINED).when(F.col("_is_parked"), PARKED).otherwise(F.col("_class"))
    return (
        rows.withColumns({"_is_parked": parked, "_refused": refused})
        .withColumn("_rules", F.when(is_candidate, F.col("_refused")).otherwise(F.col("_rules")))
        .withColumn("_class", F.when(is_candidate, judged).otherwise(F.col("_class")))
        .drop("_is_parked", "_refused", *(f"_is_missing_{number}" for number in range(len(memberships))))
    )


def _joined(rows: DataFrame, membership: Membership, event_time: str | None, missing: str) -> DataFrame:
    """Left join; where an `on` column or the time of the lookup is NULL there is no member that could be missing."""
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
    for column in [*lookup.on, *([at] if at else [])]:
        asks = asks & rows[column].isNotNull()
    is_missing = found["_is_found"].isNull() & asks
    taken = [found[f"_taken_{name}"].alias(name) for name in lookup.take]
    return rows.join(found, on=is_member, how="left").select(*(rows[name] for name in rows.columns), *taken, is_missing.alias(missing))


def _is_given_up(lookup: Lookup, newest_arrival: str | None) -> Column:
    """Files went on arriving for so long after the row came."""
    if lookup.give_up_after is None or newest_arrival is None:
        return F.lit(False)
    until = F.col("_arrived_at") + F.expr(f"INTERVAL {lookup.give_up_after}")
    return F.coalesce(until <= F.lit(newest_arrival).cast("timestamp"), F.lit(False))
