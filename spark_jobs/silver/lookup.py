"""Stream-static joins. What enters: facts and a dimension. What leaves: the same facts, one row each, with
the taken columns.

A fact without its member gets NULLs, the unknown member. What then becomes of it is for its table to say
(`if_missing`).
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.lookups import Lookup
from spark_jobs.config.silver import Dimension
from spark_jobs.silver.reasons import REASON, VALUE_LENGTH

MEMBER_RULE = "member of "
"""How the reason begins that a row waits for a member; the dimension's name follows."""


def look_up(
    facts: DataFrame,
    members: DataFrame,
    lookup: Lookup,
    dimension: Dimension,
    event_time: str | None,
    found_as: str | None = None,
) -> DataFrame:
    """Adds the dimension's columns as they were at the fact's time (scd2), or as they are now (scd1); and
    whether there was a member.
    """
    keys = [f"_member_{column}" for column in dimension.key]
    taken = [F.col(column).alias(f"_taken_{name}") for name, column in lookup.taken.items()]
    validity = ["_valid_from", "_valid_to"] if dimension.history == "scd2" else []
    columns = [F.col(column).alias(key) for column, key in zip(dimension.key, keys, strict=True)]
    found = members.select(*columns, *taken, *validity, F.lit(True).alias("_is_found"))
    is_member = F.lit(True)
    for column, key in zip(lookup.on, keys, strict=True):
        is_member = is_member & (facts[column] == found[key])
    if dimension.history == "scd2":
        at = facts[lookup.as_of or str(event_time)]
        is_member = (
            is_member
            & (found["_valid_from"] <= at)
            & (found["_valid_to"].isNull() | (at < found["_valid_to"]))
        )
    joined = facts.join(found, on=is_member, how="left")
    flag = [F.coalesce("_is_found", F.lit(False)).alias(found_as)] if found_as else []
    return joined.select(
        *facts.columns, *(F.col(f"_taken_{name}").alias(name) for name in lookup.taken), *flag
    )


def mark_ended(
    facts: DataFrame,
    members: DataFrame,
    ended: DataFrame,
    lookup: Lookup,
    dimension: Dimension,
    event_time: str | None,
    ended_as: str,
) -> DataFrame:
    """Adds whether the fact's member is known and has ended, so that there is none to wait for: in a history
    it was known by the time of the fact.

    What a dimension has known once it knows for ever: a fact that was published never has to wait again.
    """
    keys = [f"_ended_{column}" for column in dimension.key]
    columns = [F.col(column).alias(key) for column, key in zip(dimension.key, keys, strict=True)]
    known, is_known = ended.select(*columns).distinct(), F.lit(True)
    if dimension.history == "scd2":
        begun = members.select(*columns, F.col("_valid_from").alias("_since"))
        gone = ended.select(*columns, F.col(dimension.sequence[0]).alias("_since"))
        known = begun.unionByName(gone).groupBy(*keys).agg(F.min("_since").alias("_since"))
        is_known = F.col("_since") <= F.col(lookup.as_of or str(event_time))
    is_member = F.lit(True)
    for column, key in zip(lookup.on, keys, strict=True):
        is_member = is_member & (facts[column] == known[key])
    flagged = known.withColumn("_is_ended", F.lit(True))
    flag = F.coalesce(F.col("_is_ended") & is_known, F.lit(False)).alias(ended_as)
    return facts.join(flagged, on=is_member, how="left").select(*facts.columns, flag)


def missing_reasons(lookups: Sequence[tuple[str, Lookup, Column]]) -> Column:
    """Why a row waits: a reason per dimension (name, lookup, whether found) that has no member for it.

    A reference that is NULL has no member to wait for, and neither has a version that deletes its key.
    """
    reasons = []
    for name, lookup, is_found in lookups:
        has_reference = F.lit(True)
        for column in lookup.on:
            has_reference = has_reference & F.col(column).isNotNull()
        value = F.substring(
            F.concat_ws(", ", *(F.col(column).cast("string") for column in lookup.on)), 1, VALUE_LENGTH
        )
        named = F.lit(", ".join(lookup.on)).alias("column")
        reason = F.struct(F.lit(f"{MEMBER_RULE}{name}").alias("rule"), named, value.alias("value"))
        reasons.append(
            F.when(~is_found & has_reference & ~F.col("_is_delete"), reason).otherwise(
                F.lit(None).cast(REASON)
            )
        )
    if not reasons:
        return F.array().cast(f"array<{REASON}>")
    return F.filter(F.array(*reasons), lambda reason: reason.isNotNull())


def touched_facts(facts: DataFrame, changes: DataFrame, on: Sequence[str], key: Sequence[str]) -> DataFrame:
    """The facts that refer to a member which changed."""
    members = changes.select(*(F.col(column).alias(f"_member_{column}") for column in key)).distinct()
    is_touched = F.lit(True)
    for column, member in zip(on, key, strict=True):
        is_touched = is_touched & (facts[column] == members[f"_member_{member}"])
    return facts.join(members, on=is_touched, how="left_semi")
