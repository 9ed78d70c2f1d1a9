"""A batch of bronze records into a silver table (or an scd1 dimension): decode, look up, pick the newest
versions, then publish (publish.py).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.expectations import SET_ASIDE, tagging
from spark_jobs.config.graph import ended_members
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import row_rules
from spark_jobs.lake.kept import kept
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch, RowsMissing
from spark_jobs.silver.decisions import needs_texts, with_decisions
from spark_jobs.silver.decode import decode
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.failed_rules import with_failed_rules
from spark_jobs.silver.feed import Feed, add_seen
from spark_jobs.silver.lookup import look_up, mark_ended, missing_reasons
from spark_jobs.silver.publish import Judgement, candidate, publish
from spark_jobs.silver.set_aside import with_records, write_set_aside
from spark_jobs.silver.tally import EARLIEST, Tally, observe_records, tally_rows
from spark_jobs.silver.versions import (
    CHANGE,
    change_order,
    content_hash,
    judge_winners,
    rank_versions,
)


def process_facts(
    records: DataFrame, batch: Batch, table: FactTable, feed: Feed | None = None
) -> tuple[Counts, Seen]:
    """Publish one batch, and say what became of its rows and how far the feed has come."""
    feed, rules = feed or Feed(), row_rules(batch.gate.rules)
    observed, entered = observe_records(records)
    ranked = rank(classify(decode(observed, table.decoding, rules), batch, table), table)
    with kept(ranked) as ranked:
        tally = tally_rows(ranked, table, rules, feed.marks)
        check_records(tally, entered.get["records"], batch)
        with judge(ranked, tally, batch, table) as judgement:
            counts = Counts(rows_in=tally.rows, **judgement.by_class)
            batch.check(counts)
            batch.gate.judge(candidate(judgement, tally, batch, table))
            aside = ranked.where(F.col("_class").isin("quarantined", "parked"))
            if table.is_watermarked:
                aside = _with_seen(aside, ranked, tally, table, feed)
                judgement = replace(judgement, rows=_with_seen(judgement.rows, ranked, tally, table, feed))
            texts = with_records(aside, records) if needs_texts(batch, table) else aside
            write_set_aside(texts, entered.get["longest"], batch, table, counts)
            publish(judgement, batch, table, counts)
    return counts, tally.seen(feed.seen)


def classify(decoded: DataFrame, batch: Batch, table: FactTable, clock: Column | None = None) -> DataFrame:
    """Adds the taken columns, `_content`, `_is_accepted`, and `_class` of the rows that do not compete: those
    set aside and filtered.

    Accepted rows show how far the feed has come. That is a matter of the record alone: were it one of rules,
    members or decisions, which change, a row that is replayed, discarded or judged again would close other
    windows than it did when it came.

    With a clock, rows that have waited as long as their lookup is ready to wait are given up: they wait no
    longer.
    """
    is_blocked, blocked = F.lit(bool(batch.gate.blocked_for)), _blocked_reasons(batch.gate.blocked_for)
    decoded = with_decisions(decoded, batch, table)
    is_accepted = F.col("_is_sound") & ~F.col("_is_filtered") & ~F.col("_is_delete")
    rows = _enrich(decoded.withColumn("_is_accepted", is_accepted), table, batch)
    is_bad, no_member, is_parked = (
        F.size("_reasons") > 0,
        _missing(rows, table, "quarantine", clock),
        _missing(rows, table, "park", clock),
    )
    kind = (
        F.when(is_bad, "quarantined")
        .when(F.col("_is_filtered"), "filtered")
        .when(is_blocked | (F.size(no_member) > 0), "quarantined")
        .when(F.size(is_parked) > 0, "parked")
    )
    reasons = (
        F.when(is_bad, F.col("_reasons"))
        .when(is_blocked, blocked)
        .when(F.size(no_member) > 0, no_member)
        .otherwise(is_parked)
    )
    rows = rows.withColumn("_class", kind).withColumn("_reasons", reasons)
    rows = rows.withColumn("_content", content_hash(rows, table.declared))
    if table.is_change_feed:
        rows = rows.withColumn(CHANGE, F.expr(change_order()))
    return rows.drop(*(f"_{what}_{name}" for name, _, _ in table.lookups for what in ("found", "ended")))


def rank(rows: DataFrame, table: FactTable) -> DataFrame:
    """The rows with the winners of the batch marked; without a key every row wins."""
    if table.has_versions:
        return rank_versions(rows, table.key, table.sequences, table.ties)
    return rows.withColumns({"_class": F.coalesce("_class", F.lit("winner")), "_is_tied": F.lit(False)})


def check_records(tally: Tally, entered: int, batch: Batch) -> None:
    """Every record that entered came out of decoding and lookups, once."""
    if tally.records != entered:
        lost = Counts(rows_in=entered, inserted=tally.records)
        raise RowsMissing(batch, lost, "records did not come out of decoding and lookups as they went in")


@contextmanager
def judge(ranked: DataFrame, tally: Tally, batch: Batch, table: FactTable) -> Iterator[Judgement]:
    """Judge the winners against the versions that stand."""
    winners = ranked.where(F.col("_class") == "winner")
    winners = with_failed_rules(winners, tagging(batch.gate.rules)) if table.is_tagged else winners
    by_class = {name: count for name, count in tally.by_class.items() if name != "winner"}
    count = tally.by_class.get("winner", 0)
    standing = _standing(winners.sparkSession, tally, batch, table) if count else None
    if standing is not None:
        judged = judge_winners(winners, standing, table.key, table.sequences, table.ties, count)
    else:
        kind = F.when(F.col("_is_delete"), "deleted").otherwise("inserted")
        unknown = dict.fromkeys(("_is_standing", "_was_deleted", "_is_newer_copy"), F.lit(False))
        judged = winners.withColumn("_class", kind).withColumns(unknown)
        if not table.decoding.delete_when:
            yield Judgement(judged, {**by_class, "inserted": count, "grown": count, "ties": tally.ties})
            return
    with kept(judged) as judged:
        found = (
            judged.groupBy("_class", "_is_standing", "_was_deleted", "_is_newer_copy", "_is_tied")
            .count()
            .collect()
        )
        for row in found:
            by_class[row["_class"]] = by_class.get(row["_class"], 0) + row["count"]
        removed = sum(row["count"] for row in found if row["_class"] == "deleted" and row["_is_standing"])
        revived = sum(row["count"] for row in found if row["_class"] == "inserted" and row["_was_deleted"])
        copies = [
            sum(row["count"] for row in found if row["_is_newer_copy"] and row["_was_deleted"] is gone)
            for gone in (False, True)
        ]
        ties = sum(row["count"] for row in found if row["_is_tied"])
        yield Judgement(
            judged,
            {**by_class, "grown": by_class.get("inserted", 0) - removed, "ties": ties},
            revived,
            *copies,
        )


def _blocked_reasons(blocked_for: Sequence[str]) -> Column:
    """Why a row is in quarantine whose whole batch a person has set aside."""
    named = F.lit(", ".join(blocked_for)).alias("value")
    return F.array(
        F.struct(F.lit(SET_ASIDE).alias("rule"), F.lit(None).cast("string").alias("column"), named)
    )


def add_taken(rows: DataFrame, table: FactTable, batch: Batch) -> DataFrame:
    """Adds what lookups take to rows that wait for nothing."""
    for name, lookup, dimension in table.lookups:
        members = batch.read(rows.sparkSession, f"dimension.{name}")
        rows = look_up(rows, members, lookup, dimension, table.decoding.event_time)
    return rows


def _enrich(rows: DataFrame, table: FactTable, batch: Batch) -> DataFrame:
    for name, lookup, dimension in table.lookups:
        members = batch.read(rows.sparkSession, f"dimension.{name}")
        rows = look_up(rows, members, lookup, dimension, table.decoding.event_time, f"_found_{name}")
        if batch.inputs.get(ended_members(name)) is not None:
            ended, event_time = batch.read(rows.sparkSession, ended_members(name)), table.decoding.event_time
            rows = mark_ended(rows, members, ended, lookup, dimension, event_time, f"_ended_{name}")
    return rows


def _missing(rows: DataFrame, table: FactTable, policy: str, clock: Column | None) -> Column:
    """The members that a row waits for, among the lookups with this policy."""
    columns = rows.columns
    waiting = []
    for name, lookup, dimension in table.lookups:
        is_settled = F.col(f"_found_{name}")
        if f"_ended_{name}" in columns:
            is_settled |= F.col(f"_ended_{name}")
        # a version is valid at a time: without one there is none to wait for
        if dimension.history == "scd2" and lookup.as_of:
            is_settled |= F.col(lookup.as_of).isNull()
        if clock is not None and lookup.give_up_after:
            is_settled |= F.coalesce(
                F.col("_arrived_at") + F.expr(f"INTERVAL {lookup.give_up_after}") <= clock, F.lit(False)
            )
        if lookup.if_missing == policy:
            waiting.append((name, lookup, is_settled))
    return missing_reasons(waiting)


def _with_seen(rows: DataFrame, ranked: DataFrame, tally: Tally, table: FactTable, feed: Feed) -> DataFrame:
    event_time = str(table.decoding.event_time)
    accepted = ranked.where(F.col("_is_accepted") & (F.col(event_time) >= F.expr(EARLIEST)))
    return add_seen(rows, accepted, event_time, feed, tally.highs, is_stream=table.is_stream)


def _standing(spark: SparkSession, tally: Tally, batch: Batch, table: FactTable) -> DataFrame | None:
    """The versions that stand and those that deleted their key, as far as the batch's keys go; None where
    there are none at all.
    """
    if not table.has_versions:
        return None
    origin = ["_file"] if table.is_change_feed else []
    columns = [*dict.fromkeys([*table.key, *table.sequence, *table.ties, *origin]), "_content"]
    found = [(table.name, False)] + ([(table.deleted, True)] if table.decoding.delete_when else [])
    # Version 0 of a table is its creation: there is nothing in it yet.
    frames = [
        batch.read(spark, name).select(*columns, F.lit(is_delete).alias("_is_delete"))
        for name, is_delete in found
        if batch.inputs.get(name)
    ]
    if not frames:
        return None
    versions = frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])
    if table.is_change_feed:
        versions = versions.withColumn(CHANGE, F.expr(change_order()))
    for name, (least, greatest) in tally.key_range.items():
        versions = versions.where(F.col(name).between(F.lit(least), F.lit(greatest)))
    return versions
