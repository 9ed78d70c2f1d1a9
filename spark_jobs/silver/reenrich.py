"""When a dimension moves, the facts of its changed members are looked up again, and those that come out
differently are corrected.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.expectations import FAILED_RULES, tagging
from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.json_text import WHOLE_JSON
from spark_jobs.lake.kept import kept
from spark_jobs.lake.small_writes import Upsert, upsert
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.failed_rules import with_failed_rules
from spark_jobs.silver.lookup import look_up, touched_facts
from spark_jobs.silver.publish import without


def reenrich(spark: SparkSession, table: FactTable, name: str, after: int, batch: Batch) -> Counts:
    """Correct the facts for what changed in dimension `name` after this version, and in what they look up by
    what they took of it. One write of what differs: it may be done again.
    """
    lookups = {known: (lookup, dimension) for known, lookup, dimension in table.lookups}
    following = table.following(name)
    member_table, (first, members) = f"dimension.{name}", lookups[name]
    changes = tables.read_changes(spark, batch.lake.table(member_table), after, batch.inputs[member_table])
    facts = touched_facts(batch.read(spark, table.name), changes, first.on, members.key)
    taken = [column for known in following for column in lookups[known][0].taken]
    again = facts.select(*(F.col(c).alias(f"_was_{c}") if c in taken else F.col(c) for c in facts.columns))
    for known in following:
        lookup, dimension = lookups[known]
        rows = batch.read(spark, f"dimension.{known}")
        again = look_up(again, rows, lookup, dimension, table.decoding.event_time)
    is_same = F.lit(True)
    for column in taken:
        is_same = is_same & _value(again, column).eqNullSafe(_value(again, f"_was_{column}"))
    identity = _identity(table, following, taken)
    differing = again.where(~is_same).withColumn("_processed_at", F.lit(batch.processed_at))
    values = (*taken, "_processed_at", *([FAILED_RULES] if table.is_tagged else []))
    if table.is_tagged:
        differing = with_failed_rules(differing, tagging(batch.gate.rules))
    with kept(differing) as differing:
        count = differing.count()
        counts = Counts(rows_in=count, updated=count)
        corrected = differing.select(*identity, *values)
        if count:
            batch.gate.judge(_candidate(differing.select(*facts.columns), count, identity, batch, table))
            how = Upsert(identity, values, insert_when=None, is_null_safe=len(following) > 1)
            upsert(corrected.dropDuplicates([*identity]), count, table.name, how, batch, counts)
    return counts


def _value(rows: DataFrame, name: str) -> Column:
    """A taken column to compare with itself under another name."""
    kind = rows.schema[name].dataType
    return F.to_json(F.array(name), WHOLE_JSON) if "map<" in kind.simpleString() else F.col(name)


def _candidate(
    rows: DataFrame, count: int, identity: Sequence[str], batch: Batch, table: FactTable
) -> Candidate:
    """The corrected facts, and the table as it will be with them."""
    standing = batch.read(rows.sparkSession, table.name)
    return Candidate(rows, count, lambda: without(standing, rows, identity).unionByName(rows), has_older=True)


def _identity(table: FactTable, following: Sequence[str], taken: Sequence[str]) -> tuple[str, ...]:
    """What rows are corrected by. Those of an exploded record share its place; the ones that look up the same
    are corrected alike.
    """
    if table.place:
        return table.place
    place = ["_file_id", "_line"]
    for known, lookup, dimension in table.lookups:
        if known in following:
            at = [lookup.as_of or str(table.decoding.event_time)] if dimension.history == "scd2" else []
            place += [column for column in (*lookup.on, *at) if column not in taken]
    said = ["_content"] if table.is_tagged else []  # what rules look at may be any column of the row
    return tuple(dict.fromkeys([*place, *said]))
