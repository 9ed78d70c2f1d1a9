"""What a person decides about rows in quarantine: taken through the definition and rules of today, or given up.

Which rows is written down with the intent of the batch, so that one that was cut is ended with the same.
"""

from collections import Counter
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.selection import DISCARDED, Selection
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.decisions import PLACE
from spark_jobs.silver.dimensions import settle_history
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.reconsider import judge_again, open_rows, settle_facts
from spark_jobs.silver.set_aside import SAME_ROW

SELECTION = "selection"
"""Among a batch's inputs: which rows of quarantine it is about."""


def replay(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Publish the selected rows that pass by now; the others stay, with the reasons of now."""
    rows = judge_again(_again(spark, table, batch), batch, table)
    return settle_history(rows, batch, table) if table.is_history else settle_facts(rows, batch, table)


def try_replay(spark: SparkSession, table: FactTable, batch: Batch) -> tuple[dict[str, int], Counter[str]]:
    """How many of the selected rows would pass or be set aside again, and by which rules these would stay. Nothing is written."""
    rows = judge_again(_again(spark, table, batch), batch, table)
    rules = F.array_distinct(F.transform("_reasons", lambda reason: reason["rule"]))
    classes, by_rule = Counter[str](), Counter[str]()
    for row in rows.groupBy("_class", rules.alias("rules")).count().collect():
        classes[f"would be {row['_class']}" if row["_class"] else "would pass"] += row["count"]
        by_rule.update(dict.fromkeys(row["rules"] if row["_class"] == "quarantined" else (), row["count"]))
    return dict(sorted(classes.items(), key=lambda found: (found[0] != "would pass", found[0]))), by_rule


def discard(spark: SparkSession, table: FactTable, batch: Batch) -> Counts:
    """Give the selected rows up. They stay where they are and count as quarantined."""
    places = selected_rows(spark, table, batch).select(*(name.removeprefix("_") for name in PLACE))
    with tables.merging(places, table.quarantine, SAME_ROW, batch, Counts()) as merge:
        merge.whenMatchedUpdate(set={"state": F.lit(DISCARDED)}).execute()
    return Counts()


def selected_rows(spark: SparkSession, table: FactTable, batch: Batch) -> DataFrame:
    """The open rows of the table's quarantine that the batch is about."""
    return open_rows(batch.read(spark, table.quarantine)).where(_matches(Selection.of_dict(batch.inputs[SELECTION])))


def _again(spark: SparkSession, table: FactTable, batch: Batch) -> DataFrame:
    attempts = F.coalesce("attempts", F.lit(0)) + 1
    return selected_rows(spark, table, batch).withColumn("_was", F.lit("quarantined")).withColumn("attempts", attempts)


def _matches(selection: Selection) -> Column:
    """The same as Selection says of one row."""
    matches = F.lit(True)
    if selection.rules:
        matches &= F.exists("reasons", lambda reason: _any_of([_names(reason["rule"], rule) for rule in selection.rules]))
    if selection.files:
        matches &= F.col("file").isin(*selection.files) | F.col("file").rlike(rf"\A{selection.file_regex}\z")
    first_seen_at = F.coalesce("first_seen_at", "set_aside_at")
    if selection.seen_from:
        matches &= first_seen_at >= F.lit(selection.seen_from)
    if selection.seen_before:
        matches &= first_seen_at < F.lit(selection.seen_before)
    return matches


def _names(rule: Column, wanted: str) -> Column:
    return (rule == wanted) | rule.startswith(f"{wanted} ")


def _any_of(conditions: list[Column]) -> Column:
    return reduce(or_, conditions)
