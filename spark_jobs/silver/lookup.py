"""Stream-static joins. What enters: facts and a dimension. What leaves: the same facts, one row each, with the taken columns.

A fact without its member gets NULLs, the unknown member; re-enriching corrects it when the member arrives.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.pipeline import Dimension, Lookup


def look_up(facts: DataFrame, members: DataFrame, lookup: Lookup, dimension: Dimension, event_time: str | None) -> DataFrame:
    """Adds the dimension's columns as they were at the fact's time (scd2), or as they are now (scd1)."""
    keys = [f"_member_{column}" for column in dimension.key]
    taken = [F.col(column).alias(f"_taken_{column}") for column in lookup.take]
    validity = ["_valid_from", "_valid_to"] if dimension.history == "scd2" else []
    found = members.select(*(F.col(column).alias(key) for column, key in zip(dimension.key, keys, strict=True)), *taken, *validity)
    is_member = F.lit(True)
    for column, key in zip(lookup.on, keys, strict=True):
        is_member = is_member & (facts[column] == found[key])
    if dimension.history == "scd2":
        at = facts[lookup.as_of or str(event_time)]
        is_member = is_member & (found["_valid_from"] <= at) & (found["_valid_to"].isNull() | (at < found["_valid_to"]))
    joined = facts.join(found, on=is_member, how="left")
    return joined.select(*facts.columns, *(F.col(f"_taken_{column}").alias(column) for column in lookup.take))


def touched_facts(facts: DataFrame, changes: DataFrame, on: Sequence[str], key: Sequence[str]) -> DataFrame:
    """The facts that refer to a member which changed."""
    members = changes.select(*(F.col(column).alias(f"_member_{column}") for column in key)).distinct()
    is_touched = F.lit(True)
    for column, member in zip(on, key, strict=True):
        is_touched = is_touched & (facts[column] == members[f"_member_{member}"])
    return facts.join(members, on=is_touched, how="left_semi")
