"""A batch of bronze records into a dimension that is rebuilt from its versions: one with history (scd2), or
one of snapshots. The rows of the keys that it names, or of all, are made again, and only what differs is
written.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate, row_rules
from spark_jobs.lake.kept import kept
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.small_writes import Upsert, append, upsert
from spark_jobs.lake.tables import Batch
from spark_jobs.silver import scd2, snapshots
from spark_jobs.silver.decisions import needs_texts
from spark_jobs.silver.decode import decode
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.publish import without
from spark_jobs.silver.set_aside import move_set_aside, with_records, write_set_aside
from spark_jobs.silver.tally import Tally, observe_records, tally_rows
from spark_jobs.silver.upsert import add_taken, check_records, classify
from spark_jobs.silver.versions import CHANGE, change_order


def process_history(records: DataFrame, batch: Batch, table: FactTable) -> tuple[Counts, Seen]:
    """Publish one batch of versions, and say what became of them and which chunk was the last."""
    observed, entered = observe_records(records)
    rules = row_rules(batch.gate.rules)
    decoded = classify(decode(observed, table.decoding, rules), batch, table)
    with kept(decoded) as decoded:
        tally = tally_rows(decoded, table, rules)
        check_records(tally, entered.get["records"], batch)
        with _rebuilt(decoded, tally, batch, table) as rebuilt:
            counts = Counts(rows_in=tally.rows, **rebuilt.by_class, grown=rebuilt.grown)
            batch.check(counts)
            batch.gate.judge(_candidate(rebuilt, tally, batch, table))
            texts = with_records(decoded, records) if needs_texts(batch, table) else decoded
            write_set_aside(texts, entered.get["longest"], batch, table, counts)
            _publish(rebuilt, batch, table, counts)
    return counts, tally.seen(Seen())


def settle_history(moved: DataFrame, batch: Batch, table: FactTable) -> Counts:
    """Publish the versions that are good by now of rows that were in quarantine."""
    with kept(moved) as moved:
        tally = tally_rows(moved, table, row_rules(batch.gate.rules))
        with _rebuilt(moved, tally, batch, table) as rebuilt:
            still = rebuilt.by_class.get("quarantined", 0)
            counts = Counts(**{**rebuilt.by_class, "quarantined": still - tally.rows}, grown=rebuilt.grown)
            batch.check(counts)
            batch.gate.judge(_candidate(rebuilt, tally, batch, table))
            _publish(rebuilt, batch, table, counts)
            settled = moved.withColumn("_class", F.coalesce("_class", F.lit("inserted")))
            move_set_aside(settled, {"quarantined"}, batch, table, counts)
    return counts


@dataclass(frozen=True)
class _Rebuilt:
    """What must be done to the rows of a dimension, by action, and to the versions that end a member; what
    became of the versions that came; and of a snapshot how many members stood before it and how many it ends.
    """

    changes: DataFrame
    actions: dict[str, int]
    ends: DataFrame | None
    end_count: int
    by_class: dict[str, int]
    ended: tuple[int, int] | None = None

    @property
    def grown(self) -> int:
        return self.actions.get("insert", 0) - self.actions.get("delete", 0)


@dataclass(frozen=True)
class _Built:
    """The newest of the versions of each place with their `_verdict`, the rows that the table should have in
    the place of the `old` ones, told apart by `state`, and what must be done to what ends.
    """

    marked: DataFrame
    rows: DataFrame
    state: tuple[str, ...] = scd2.INTERVAL
    ends: DataFrame | None = None
    ended: DataFrame | None = None


@contextmanager
def _rebuilt(decoded: DataFrame, tally: Tally, batch: Batch, table: FactTable) -> Iterator[_Rebuilt]:
    """The histories of the keys that the versions name, or of all where snapshots come, rebuilt and compared
    with those that stand.
    """
    candidates = decoded.where(F.col("_class").isNull())
    old = _of_touched(batch.read(decoded.sparkSession, table.name), candidates, table)
    ended = _known_ends(candidates, batch, table)
    versions = _versions(candidates, old, ended, table)
    place = table.key if table.is_current else (*table.key, table.sequence[0])
    ranked = scd2.rank_versions_at(versions, place, table.sequences, table.ties)
    with kept(ranked) as ranked:
        built = _build(ranked.where(F.col("_class") == "winner"), old, ended, table)
        by_class = _add_up(
            {name: count for name, count in tally.by_class.items() if name}, _classes(ranked, built.marked)
        )
        rows = add_taken(built.rows, table, batch)
        changes = scd2.differences(old, rows, table.place, (*built.state, *table.taken))
        with kept(changes.withColumn("_processed_at", F.lit(batch.processed_at))) as changes:
            actions = {row["_action"]: row["count"] for row in changes.groupBy("_action").count().collect()}
            row = built.ended.first() if built.ended is not None else None
            gone = (row["ended"], row["stood"]) if row is not None else None
            if built.ends is None:
                yield _Rebuilt(changes, actions, None, 0, by_class, gone)
                return
            with kept(built.ends.withColumn("_processed_at", F.lit(batch.processed_at))) as ends:
                yield _Rebuilt(changes, actions, ends, ends.count(), by_class, gone)


def _of_touched(rows: DataFrame, candidates: DataFrame, table: FactTable) -> DataFrame:
    """Those of the members that came. A snapshot tells of all members: also of those that it lacks."""
    if table.snapshot:
        return rows
    return rows.join(candidates.select(*table.key).distinct(), on=list(table.key), how="left_semi")


def _versions(candidates: DataFrame, old: DataFrame, ended: DataFrame | None, table: FactTable) -> DataFrame:
    """The versions that are known, those that end a member included, and those that came."""
    declared, origin = table.declared, scd2.origin(table.ties)
    columns = [*declared, *origin, "_content", "_is_known", "_is_delete"]
    incoming = candidates.withColumn("_is_known", F.lit(False)).select(*columns)
    if table.is_current:
        known = old.withColumns({"_is_known": F.lit(True), "_is_delete": F.lit(False)})
    else:
        known = scd2.expand_intervals(old, table.sequence, declared, origin)
    versions = known.select(*columns).unionByName(incoming)
    if ended is not None and not table.snapshot:
        gone = ended.withColumns({"_is_known": F.lit(True), "_is_delete": F.lit(True)})
        versions = versions.unionByName(gone, allowMissingColumns=True)
    return versions.withColumn(CHANGE, F.expr(change_order())) if table.is_change_feed else versions


def _build(winners: DataFrame, old: DataFrame, ended: DataFrame | None, table: FactTable) -> _Built:
    key, sequence, declared, origin = table.key, table.sequence, table.declared, scd2.origin(table.ties)
    if table.is_current:
        current = snapshots.mark_current(winners, table.snapshot)
        assert ended is not None
        return _Built(
            current.withColumns(
                {"_verdict": snapshots.class_of_current(), "_is_first_tie": F.col("_is_tied")}
            ),
            current.where("_is_current").select(*declared, *origin, "_content"),
            ("_content", *table.snapshot),
            snapshots.differing_ends(ended, current, key).select(*ended.columns, "_action"),
            snapshots.count_gone(old, current, key),
        )
    if table.snapshot:
        placed = snapshots.place_in_order(winners, key, table.snapshot)
        marked = snapshots.mark_gaps(
            scd2.mark_changes(placed, key, sequence, declared), key, table.snapshot
        ).withColumn("_verdict", scd2.class_of_winner())
        intervals = snapshots.build_intervals(marked, key, sequence, declared, origin)
        return _Built(marked, intervals, ended=snapshots.count_ended(placed))
    marked = scd2.mark_changes(winners, key, sequence, declared).withColumn(
        "_verdict", scd2.class_of_winner()
    )
    ends = None if ended is None else scd2.differing_ends(ended, winners, key, sequence)
    return _Built(marked, scd2.build_intervals(marked, key, sequence, declared, origin), ends=ends)


def _known_ends(candidates: DataFrame, batch: Batch, table: FactTable) -> DataFrame | None:
    """The versions that are known to have ended these members; None where none can end."""
    if table.deleted not in table.reads:
        return None
    known = batch.read(candidates.sparkSession, table.deleted).drop("_processed_at")
    return _of_touched(known, candidates, table)


def _candidate(rebuilt: _Rebuilt, tally: Tally, batch: Batch, table: FactTable) -> Candidate:
    """The intervals that are about to be published, and the dimension as it will be with them."""
    changes = rebuilt.changes
    rows = changes.where(F.col("_action") != "delete").drop("_action")

    def whole() -> DataFrame:
        standing = batch.read(rows.sparkSession, table.name).select(*rows.columns)
        return without(standing, changes, table.place).unionByName(rows)

    count = sum(number for action, number in rebuilt.actions.items() if action != "delete")
    removes = "delete" in rebuilt.actions
    return Candidate(
        rows,
        count,
        whole,
        tally.asked,
        tally.by_rule,
        has_older=True,
        removes=lambda: removes,
        changes=changes,
        ended=rebuilt.ended,
    )


def _classes(ranked: DataFrame, marked: DataFrame) -> dict[str, int]:
    """What became of the incoming versions, and how many keys had ties. A tie may be won by a version that
    was known.
    """
    losers = ranked.where(~F.col("_is_known") & (F.col("_class") != "winner")).select(
        "_class", F.lit(0).alias("tie")
    )
    of_winner = F.when(~F.col("_is_known"), F.col("_verdict"))
    winners = marked.select(of_winner.alias("_class"), F.col("_is_first_tie").cast("int").alias("tie"))
    found = (
        losers.unionAll(winners)
        .groupBy("_class")
        .agg(F.count(F.lit(1)).alias("count"), F.sum("tie").alias("ties"))
        .collect()
    )
    return {row["_class"]: row["count"] for row in found if row["_class"]} | {
        "ties": sum(row["ties"] or 0 for row in found)
    }


def _add_up(first: dict[str, int], second: dict[str, int]) -> dict[str, int]:
    return {name: first.get(name, 0) + second.get(name, 0) for name in first.keys() | second.keys()}


def _publish(rebuilt: _Rebuilt, batch: Batch, table: FactTable, counts: Counts) -> None:
    """What ends a member is remembered first. New intervals alone are appended; a MERGE would read the table
    for nothing.
    """
    changes, actions = rebuilt.changes, rebuilt.actions
    if rebuilt.ends is not None and rebuilt.end_count:
        place = table.key if table.is_current else (*table.key, table.sequence[0])
        values = tuple(name for name in rebuilt.ends.columns if name != "_action")
        gone = Upsert(place, values, delete_when="new._action = 'delete'")
        upsert(rebuilt.ends, rebuilt.end_count, table.deleted, gone, batch, counts)
    if actions.keys() <= {"insert"}:
        if actions:
            append(changes.drop("_action"), sum(actions.values()), table.name, batch, counts)
        return
    values = tuple(column for column in changes.columns if column != "_action")
    how = Upsert(table.place, values, delete_when="new._action = 'delete'")
    upsert(changes, sum(actions.values()), table.name, how, batch, counts)
