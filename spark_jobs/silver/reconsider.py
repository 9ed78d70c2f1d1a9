"""Rows that were set aside are looked at again. What enters: rows of quarantine and parked tables, with the class `_was` that they are in
now. What leaves: those that are good compete for the table like any row that comes; the others stay, with their reasons of now.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import row_rules
from spark_jobs.lake.selection import OPEN
from spark_jobs.lake.tables import Batch, kept
from spark_jobs.silver.decisions import PLACE
from spark_jobs.silver.decode import decode
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.facts import candidate, classify, judge, publish, rank
from spark_jobs.silver.set_aside import as_records, move_set_aside
from spark_jobs.silver.tally import count_classes, tally_rows

LATER_COLUMNS = {"first_seen_at": "timestamp", "attempts": "int", "state": "string"}
"""Columns that tables of an earlier version may lack."""


def open_rows(set_aside: DataFrame) -> DataFrame:
    """The rows of a quarantine or parked table that nobody has replayed or discarded."""
    for name, kind in LATER_COLUMNS.items():
        if name not in set_aside.columns:
            set_aside = set_aside.withColumn(name, F.lit(None).cast(kind))
    return set_aside.where(F.coalesce("state", F.lit(OPEN)) == OPEN)


def judge_again(set_aside: DataFrame, batch: Batch, table: FactTable, clock: Column | None = None) -> DataFrame:
    """The rows, decoded and classified as today's definition and rules have it, with what was known of them before."""
    rows = classify(decode(as_records(set_aside), table.decoding, row_rules(batch.gate.rules)), batch, table, clock)
    before = set_aside.select(
        *(F.col(name.removeprefix("_")).alias(name) for name in PLACE),
        F.col("record").alias("_text"), F.col("reasons").alias("_old_reasons"), F.col("_was"),
        F.col("seen_until").alias("_seen_until"), F.col("closed_until").alias("_closed_until"),
        F.coalesce("first_seen_at", "set_aside_at").alias("_first_seen_at"), F.coalesce("attempts", F.lit(0)).alias("_attempts"),
    )  # fmt: skip
    return rows.join(before, on=list(PLACE), how="inner").withColumn("_record", F.col("_text"))


def settle_facts(moved: DataFrame, batch: Batch, table: FactTable) -> Counts:
    """Publish the rows that are good by now, and say what became of all. The table comes first: a row may be in both, never in neither."""
    ranked, rules = rank(moved, table), row_rules(batch.gate.rules)
    with kept(ranked) as ranked:
        left = count_classes(ranked.select(F.col("_was").alias("_class")))
        if not left:
            return Counts()
        tally = tally_rows(ranked, table, rules)
        with judge(ranked, tally, batch, table) as judgement:
            by_class = judgement.by_class
            entered = {name: by_class.get(name, 0) - left.get(name, 0) for name in ("parked", "quarantined")}
            counts = Counts(**{**by_class, **entered})
            batch.check(counts)
            batch.gate.judge(candidate(judgement, tally, batch, table))
            publish(judgement, batch, table, counts)
            move_set_aside(ranked, {*left, *by_class}, batch, table, counts)
    return counts
