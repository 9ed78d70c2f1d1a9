"""One step per layer: which stream a table reads, and what each of its batches does."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.files import read_text
from spark_jobs.config.gold import Gold
from spark_jobs.gold.functions import compute_python, compute_sql
from spark_jobs.gold.late import LATE_DDL
from spark_jobs.gold.process import WAS, WATERMARK
from spark_jobs.gold.sessions import make_sessions
from spark_jobs.gold.windows import aggregate, select_rows
from spark_jobs.lake import delta_log, small_writes, streams, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.ledger import STREAM
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch, RowsMissing, kept
from spark_jobs.run.bronze import start_bronze
from spark_jobs.run.context import Done, RunContext
from spark_jobs.run.errand import run_errands
from spark_jobs.run.sinks import run_sink
from spark_jobs.run.stateful import run_native
from spark_jobs.run.windows import CLOSE, close, run_windows_of_other, steps_of, window_table
from spark_jobs.silver.dimensions import process_history
from spark_jobs.silver.fact_table import FactTable, dimension_table, silver_table
from spark_jobs.silver.facts import process_facts
from spark_jobs.silver.feed import Feed
from spark_jobs.silver.reenrich import reenrich
from spark_jobs.silver.release import CLOCK, release
from spark_jobs.silver.schema import deleted_ddl, dimension_ddl, silver_ddl

LENIENT = {"spark.sql.ansi.enabled": "false", "spark.sql.subexpressionElimination.skipForShortcutExpr": "true"}
"""No row may stop a batch. SQL is strict all the same, and a row on which it fails is quarantined: silver/strict_sql.py.

What stands behind AND and OR is evaluated where it is asked for: Spark would otherwise do it once for every row where it occurs twice, and
decoding asks its dear questions, such as a pattern over the whole record, of few rows.
"""
RELEASE, EMPTIED = "release", "emptied"


def run_table(run: RunContext, table: str, inputs: dict[str, Any], consumed: dict[str, Any] | None) -> None:
    """Bring one table up to date with its inputs."""
    layer, _, name = table.partition(".")
    match layer:
        case "bronze":
            start_bronze(run, name).wait()
        case "dimension":
            _run_dimension(run, name)
            _judge_emptied(run, table)
        case "silver":
            _run_silver(run, name, inputs, consumed or {})
            _judge_emptied(run, table)
        case "sink":
            run_sink(run, name, inputs, consumed or {})
        case _:
            gold = run.pipeline.gold[name]
            if gold.is_native:
                run_native(run, name, gold)
            elif gold.mode == "complete":
                _run_complete(run, name, gold, inputs)
            elif run.lake.staged:
                _rebuild_windows(run, name, gold, inputs)
            elif gold.from_ in run.plan.others:
                run_windows_of_other(run, window_table(run.pipeline, name, gold), inputs, consumed or {})
            else:
                _run_windows(run, name, gold, inputs, consumed or {})


def _judge_emptied(run: RunContext, table: str) -> None:
    """A rebuilt table without rows takes the place of one that has some: no batch of it has asked the rules about that."""
    if not run.lake.staged or not run.rules(table) or delta_log.count_rows(run.lake.table(table)):
        return
    rows = tables.read(run.new_session(), run.lake.table(table))

    def work(batch: Batch) -> Done:
        batch.gate.judge(Candidate(rows, 0, lambda: rows, removes=partial(tables.has_standing_rows, batch, table)))
        return Counts(), Seen()

    run.batch(table, EMPTIED, 0, work)


def create_dimensions(run: RunContext, planned: Iterable[str]) -> None:
    """A dimension of which nothing has landed yet is an empty table: its members are unknown to the facts until they come."""
    silver = [run.pipeline.silver[table.partition(".")[2]] for table in planned if table.startswith("silver.")]
    for name in dict.fromkeys(dimension for table in silver for dimension in table.lookup):
        tables.create(run.lake.table(f"dimension.{name}"), dimension_ddl(run.pipeline.dimensions[name]), tables.CHANGE_FEED)


def _run_dimension(run: RunContext, name: str) -> None:
    dimension, table = run.pipeline.dimensions[name], f"dimension.{name}"
    tables.create(run.lake.table(table), dimension_ddl(dimension), tables.CHANGE_FEED)
    target = dimension_table(run.pipeline, name)
    run_errands(run, target, LENIENT)

    def work(records: DataFrame, batch: Batch) -> Done:
        if dimension.history == "scd2":
            counts, seen = process_history(records, batch, target)
        else:
            counts, seen = process_facts(records, batch, target)
        return counts, Seen(chunk=seen.chunk, records=seen.records)

    rows = streams.read_rows(run.new_session(**LENIENT), run.lake.table(f"bronze.{dimension.from_}"), checkpoint=run.checkpoint(table))
    run.stream(rows, table, LENIENT, work, target.reads)


def _run_silver(run: RunContext, name: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """What a person wants done, and a release that a crash left open, come first. Then new facts come in, those that are there are brought
    to what the dimensions say now, and those that wait are looked at again.
    """
    silver, table = run.pipeline.silver[name], f"silver.{name}"
    tables.create(run.lake.table(table), silver_ddl(run.pipeline, name), tables.CHANGE_FEED)
    target = silver_table(run.pipeline, name)
    if silver.delete_when:
        tables.create(run.lake.table(target.deleted), deleted_ddl(run.pipeline, name), tables.CHANGEABLE)
    generation, ledger = run.plan.generation(table), run.order.ledger
    run_errands(run, target, LENIENT)
    if ledger.open_batch(table, RELEASE, generation) is not None:
        _release(run, target)

    def work(records: DataFrame, batch: Batch) -> Done:
        seen = ledger.seen(table, generation)
        feed = Feed(seen, seen.marks_after(run.plan.close_marks(name))) if target.is_watermarked else Feed()
        counts, now = process_facts(records, batch, target, feed)
        return counts, now if target.is_watermarked else Seen(chunk=now.chunk, records=now.records)

    # What a row's table had seen when its file came is known only if chunks come in their order. Delta gives the first snapshot of a table,
    # which a new or rebuilt table reads, by the times of its data files: cut into several batches it would be out of order.
    read = streams.read_all_rows if target.is_watermarked else streams.read_rows
    rows = read(run.new_session(**LENIENT), run.lake.table(f"bronze.{silver.from_}"), checkpoint=run.checkpoint(table))
    run.stream(rows, table, LENIENT, work, target.reads)
    moved = _moved_dimensions(run, target, inputs, consumed)
    for dimension, after in moved.items():
        _reenrich(run, target, dimension, after, inputs[f"dimension.{dimension}"])
    if target.may_wait and (moved or run.plan.has_waited_enough(table)) and _waits(run, target):
        _release(run, target)


def _moved_dimensions(run: RunContext, table: FactTable, inputs: dict[str, Any], consumed: dict[str, Any]) -> dict[str, int]:
    """The dimensions that have moved since facts were looked up in them, with the oldest version that facts may still show."""
    moved = {}
    for name, _, _ in table.lookups:
        known = f"dimension.{name}"
        after = consumed.get(known)
        if after is None:
            begun = run.order.ledger.intents(table.name, STREAM, run.plan.generation(table.name))
            after = min((intent.inputs[known] for intent in begun if intent.inputs.get(known) is not None), default=inputs[known])
        if after < inputs[known]:
            moved[name] = after
    return moved


def _reenrich(run: RunContext, table: FactTable, dimension: str, after: int, until: int) -> None:
    spark = run.new_session(**LENIENT)
    versions = {table.name: delta_log.table_version(run.lake.table(table.name)), f"dimension.{dimension}": until}

    def work(batch: Batch) -> Done:
        path = run.lake.table(table.name)
        if delta_log.has_transaction(path, batch.app_id, until):  # corrected before a crash: done again it would find nothing to correct
            return delta_log.noted_counts(path, batch.step, until), Seen()
        return reenrich(spark, table, dimension, after, batch), Seen()

    run.batch(table.name, f"reenrich.{dimension}", until, work, extra=versions)


def _release(run: RunContext, table: FactTable) -> None:
    spark, clock, number = run.new_session(**LENIENT), run.plan.clock(), run.next_number(table.name, RELEASE)
    extra = {CLOCK: clock.isoformat() if clock else None}
    run.batch(table.name, RELEASE, number, lambda batch: (release(spark, table, batch), Seen()), table.reads, extra)


def _waits(run: RunContext, table: FactTable) -> bool:
    return any(delta_log.count_rows(run.lake.table(name)) for name in (table.parked, table.quarantine))


def _run_windows(run: RunContext, name: str, gold: Gold, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """The windows that changed; then, where closed windows alone are shown, those that have closed since."""
    target = window_table(run.pipeline, name, gold)
    source = run.lake.table(target.source)
    if target.keeps_late:
        tables.create(run.lake.table(target.late), LATE_DDL, tables.CHANGEABLE)
    extra = {WATERMARK: inputs.get(WATERMARK), WAS: consumed.get(WATERMARK)} if gold.watermark else {}
    if run.order.ledger.open_batch(target.name, CLOSE, run.plan.generation(target.name)) is not None:
        close(run, target, extra)
    changes = streams.read_changes(run.new_session(), source, run.plan.starts_after(target.name, target.source) + 1)
    work = steps_of(target).process_changes
    run.stream(changes, target.name, {}, lambda rows, batch: (work(rows, batch, target), Seen()), target.reads, extra)
    if gold.mode == "append" and inputs[WATERMARK] != consumed.get(WATERMARK):
        close(run, target, extra)


def _rebuild_windows(run: RunContext, name: str, gold: Gold, inputs: dict[str, Any]) -> None:
    """All windows at once, from the silver table that was built; the stream of the new generation goes on from there."""
    target = window_table(run.pipeline, name, gold)
    extra = {WATERMARK: inputs.get(WATERMARK), target.source: inputs[target.source]}
    spark = run.new_session()
    run.batch(target.name, "rebuild", 0, lambda batch: (steps_of(target).rebuild_windows(spark, batch, target), Seen()), extra=extra)


def _run_complete(run: RunContext, name: str, gold: Gold, inputs: dict[str, Any]) -> None:
    table = f"gold.{name}"

    def recompute(batch: Batch) -> Done:
        entered = Observation()
        rows = _compute_whole(run, run.new_session(), gold, inputs, batch.processed_at, entered)
        with kept(rows) as rows:
            counts = Counts(inserted=rows.count())
            if gold.from_:
                represented = rows.agg(F.sum("_row_count")).collect()[0][0] or 0
                if represented != entered.get["rows"]:
                    raise RowsMissing(batch, Counts(rows_in=entered.get["rows"], inserted=represented))
            removes = partial(tables.has_standing_rows, batch, table)
            batch.gate.judge(Candidate(rows, counts.inserted, lambda: rows, counts.inserted, removes=removes))
            small_writes.overwrite(rows, counts.inserted, table, batch, counts)
        return counts, Seen()

    version = delta_log.table_version(run.lake.table(table))
    run.batch(table, "complete", 0 if version is None else version + 1, recompute, extra=inputs)


def _compute_whole(
    run: RunContext, spark: SparkSession, gold: Gold, inputs: dict[str, Any], processed_at: datetime, entered: Observation
) -> DataFrame:
    frames = {name: tables.read(spark, run.lake.table(name), version) for name, version in inputs.items() if "." in name}
    if gold.sql:
        return compute_sql(spark, read_text(run.order.project.conf / gold.sql), frames, processed_at)
    if gold.python:
        return compute_python(gold.python, run.order.project.conf, [frames[name] for name in gold.inputs], processed_at)
    silver = frames[str(gold.from_)]
    event_time = window_table(run.pipeline, "", gold).event_time
    if gold.kind == "sessions":
        counted = silver.where(gold.where or "true").where(F.col(event_time).isNotNull())
        return make_sessions(counted.observe(entered, F.count(F.lit(1)).alias("rows")), gold, event_time, processed_at)
    rows = select_rows(silver, gold, event_time, None) if gold.window else silver.where(gold.where) if gold.where else silver
    return aggregate(rows.observe(entered, F.count(F.lit(1)).alias("rows")), gold, processed_at)
