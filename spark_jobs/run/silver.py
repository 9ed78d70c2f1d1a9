"""The steps of dimensions and silver tables: records of bronze become typed rows, each once, and follow what
the dimensions say now.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame

from spark_jobs.config.graph import ended_members
from spark_jobs.config.table_name import TableName
from spark_jobs.lake import delta_log, streams, tables
from spark_jobs.lake.blocked import DISCARD
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.ledger_batches import OLDER_UNPARK, STREAM, UNPARK
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch
from spark_jobs.lake.verdicts import Decision
from spark_jobs.run.context import Done, RunContext
from spark_jobs.run.tagging import as_it_stands, finish_tagging, is_behind, tag
from spark_jobs.silver.dimensions import process_history
from spark_jobs.silver.fact_table import (
    SET_ASIDE_DDL,
    FactTable,
    deleted_ddl,
    dimension_ddl,
    dimension_table,
    silver_ddl,
    silver_table,
)
from spark_jobs.silver.feed import Feed
from spark_jobs.silver.reenrich import reenrich
from spark_jobs.silver.reprocess import CLOCK, SELECTION, discard, replay, unpark
from spark_jobs.silver.set_aside import REPLAY
from spark_jobs.silver.upsert import process_facts

# What a person wants done with rows in the quarantine of one table, beside bringing it and the tables below
# it up to date.

WORK = {REPLAY: replay, DISCARD: discard}


def apply_requests(run: RunContext, table: FactTable, settings: dict[str, str]) -> None:
    """End what a crash has cut, then do what is asked for now."""
    generation, quarantine_request = run.plan.generation(table.name), run.order.quarantine_request
    for step in WORK:
        number = run.order.ledger.open_batch(table.name, step, generation)
        begun = (
            run.order.ledger.intent((table.name, step, generation, number)) if number is not None else None
        )
        if begun is not None:
            _run(run, table, step, {SELECTION: begun.inputs[SELECTION]}, settings)
    if quarantine_request is not None and quarantine_request.table == table.name:
        number = run.next_number(table.name, quarantine_request.action)
        if quarantine_request.action == DISCARD:
            batch_id = (table.name, DISCARD, generation, number)
            decision = Decision(
                batch_id,
                DISCARD,
                quarantine_request.selection.rules,
                quarantine_request.decided_by,
                quarantine_request.reason,
            )
            run.verdicts.decide(run.order.run_id, decision, datetime.now(UTC))
        _run(
            run,
            table,
            quarantine_request.action,
            {SELECTION: quarantine_request.selection.as_dict()},
            settings,
        )


def _run(
    run: RunContext, table: FactTable, step: str, extra: dict[str, Any], settings: dict[str, str]
) -> None:
    """The batch of this step that is open, or the next one. One that was blocked starts over, with the same
    selection.
    """
    run.create(table.quarantine, SET_ASIDE_DDL, tables.CHANGEABLE)
    spark = run.new_session(**settings)

    def work(batch: Batch) -> Done:
        return WORK[step](spark, table, batch), Seen()

    run.batch(
        table.name,
        step,
        run.next_number(table.name, step),
        work,
        dict.fromkeys([*table.reads, table.quarantine]),
        extra,
    )


LENIENT = {
    "spark.sql.ansi.enabled": "false",
    "spark.sql.subexpressionElimination.skipForShortcutExpr": "true",
}
"""No row may stop a batch. SQL is strict anyway, and a row on which it fails is quarantined:
silver/strict_sql.py.

What stands behind AND and OR is evaluated where it is asked for: Spark would otherwise do it once for every
row where it occurs twice, and decoding asks its dear questions, such as a pattern over the whole record, of
few rows.
"""
EMPTIED = "emptied"


def run_dimension(run: RunContext, name: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """New versions come in, and members follow what other dimensions say that they look up."""
    dimension, table = run.pipeline.dimensions[name], f"dimension.{name}"
    _create_dimension(run, name)
    target = dimension_table(run.pipeline, name)
    apply_requests(run, target, LENIENT)

    def work(records: DataFrame, batch: Batch) -> Done:
        if target.is_rebuilt:
            counts, seen = process_history(records, batch, target)
        else:
            counts, seen = process_facts(records, batch, target)
        return counts, Seen(chunk=seen.chunk, records=seen.records)

    run.start(_read_bronze(run, target, dimension.from_), table, LENIENT, work, target.reads).wait()
    for other, after in _moved_dimensions(run, target, inputs, consumed).items():
        _reenrich(run, target, other, after, inputs)


def _read_bronze(run: RunContext, table: FactTable, source: str) -> DataFrame:
    """The stream of records. What is there already is one batch in three cases.

    What a row's table had seen when its file came is known only if chunks come in their order. Delta gives
    the first snapshot of a table, which a new or rebuilt table reads, by the times of its data files: cut
    into several batches it would be out of order.

    A rule about the whole table would block a rebuild whose first batch is a part of it, and readers see none
    of these. A part of a snapshot would look like a cut one.
    """
    is_of_table = any(rule.scope == "table" and rule.on_fail == "block" for rule in run.rules(table.name))
    is_whole = table.is_watermarked or bool(table.snapshot) or (bool(run.lake.staged) and is_of_table)
    read = streams.read_all_rows if is_whole else streams.read_rows
    path = run.lake.table(f"bronze.{source}")
    return read(run.new_session(**LENIENT), path, checkpoint=run.checkpoint(table.name))


def run_silver(run: RunContext, name: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """What a person wants done, and waiting rows that a crash left half done, come first. Then new facts come
    in, those that are there are brought to what the dimensions say now, and those that wait are looked at
    again.
    """
    silver, table = run.pipeline.silver[name], f"silver.{name}"
    run.create(table, silver_ddl(run.pipeline, name), tables.CHANGE_FEED)
    target = as_it_stands(run, silver_table(run.pipeline, name))
    if silver.delete_when:
        run.create(target.deleted, deleted_ddl(silver), tables.CHANGEABLE)
    generation, ledger = run.plan.generation(table), run.order.ledger
    finish_tagging(run, target, LENIENT)
    is_tagged_otherwise = is_behind(run, target, consumed)
    apply_requests(run, target, LENIENT)
    for step in (OLDER_UNPARK, UNPARK):
        if ledger.open_batch(table, step, generation) is not None:
            _unpark(run, target, step)

    def work(records: DataFrame, batch: Batch) -> Done:
        seen = ledger.seen(table, generation)
        feed = Feed(seen, seen.marks_after(run.plan.close_marks(name))) if target.is_watermarked else Feed()
        counts, now = process_facts(records, batch, target, feed)
        return counts, now if target.is_watermarked else Seen(chunk=now.chunk, records=now.records)

    run.start(_read_bronze(run, target, silver.from_), table, LENIENT, work, target.reads).wait()
    moved = _moved_dimensions(run, target, inputs, consumed)
    for dimension, after in moved.items():
        _reenrich(run, target, dimension, after, inputs)
    has_news = moved or any(inputs.get(name) != consumed.get(name) for name in target.ended)
    if target.may_wait and (has_news or run.plan.has_waited_enough(table)) and _waits(run, target):
        _unpark(run, target, UNPARK)
    if is_tagged_otherwise:
        tag(run, target, LENIENT)


def _moved_dimensions(
    run: RunContext, table: FactTable, inputs: dict[str, Any], consumed: dict[str, Any]
) -> dict[str, int]:
    """The dimensions that have moved since facts were looked up in them, with the oldest version that facts
    may still show.
    """
    moved = {}
    for name, _, _ in table.lookups:
        known = f"dimension.{name}"
        after = consumed.get(known)
        if after is None:
            begun = run.order.ledger.intents(table.name, STREAM, run.plan.generation(table.name))
            after = min(
                (intent.inputs[known] for intent in begun if intent.inputs.get(known) is not None),
                default=inputs[known],
            )
        if after < inputs[known]:
            moved[name] = after
    return moved


def _reenrich(run: RunContext, table: FactTable, dimension: str, after: int, inputs: dict[str, Any]) -> None:
    spark = run.new_session(**LENIENT, **run.settings_to_read(table.name))
    until = inputs[f"dimension.{dimension}"]
    versions = {table.name: delta_log.table_version(run.lake.table(table.name))}
    versions |= {f"dimension.{known}": inputs[f"dimension.{known}"] for known in table.following(dimension)}

    def work(batch: Batch) -> Done:
        path = run.lake.table(table.name)
        # corrected before a crash: done again it would find nothing to correct
        if delta_log.has_transaction(path, batch.app_id, until):
            return delta_log.noted_counts(path, batch.step, until), Seen()
        return reenrich(spark, table, dimension, after, batch), Seen()

    run.batch(table.name, f"reenrich.{dimension}", until, work, extra=versions)


def _unpark(run: RunContext, table: FactTable, step: str) -> None:
    spark, clock, number = run.new_session(**LENIENT), run.plan.clock(), run.next_number(table.name, step)
    extra = {CLOCK: clock.isoformat() if clock else None}
    run.batch(
        table.name, step, number, lambda batch: (unpark(spark, table, batch), Seen()), table.reads, extra
    )


def _waits(run: RunContext, table: FactTable) -> bool:
    return any(delta_log.count_rows(run.lake.table(name)) for name in (table.parked, table.quarantine))


def judge_emptied(run: RunContext, table: str) -> None:
    """A rebuilt table without rows takes the place of one that has some: no batch of it has asked the rules
    about that.
    """
    if not run.lake.staged or not run.rules(table) or delta_log.count_rows(run.lake.table(table)):
        return
    rows = tables.read(run.new_session(), run.lake.table(table))

    def work(batch: Batch) -> Done:
        batch.gate.judge(
            Candidate(rows, 0, lambda: rows, removes=partial(tables.has_standing_rows, batch, table))
        )
        return Counts(), Seen()

    run.batch(table, EMPTIED, 0, work)


def create_dimensions(run: RunContext, planned: Iterable[str]) -> None:
    """A dimension of which nothing has landed yet is an empty table: its members are unknown to the facts
    until they come.
    """
    names = [TableName(table) for table in planned]
    lookups = [run.pipeline.dimensions[name.name].lookup for name in names if name.is_in("dimension")]
    lookups += [run.pipeline.silver[name.name].lookup for name in names if name.is_in("silver")]
    for dimension in dict.fromkeys(other for lookup in lookups for other in lookup):
        _create_dimension(run, dimension)


def _create_dimension(run: RunContext, name: str) -> None:
    dimension = run.pipeline.dimensions[name]
    run.create(f"dimension.{name}", dimension_ddl(run.pipeline, name), tables.CHANGE_FEED)
    if dimension.has_ends:
        run.create(ended_members(name), deleted_ddl(dimension), tables.CHANGEABLE)
