"""Native stateful tables: a real Structured Streaming query over append-only silver tables, whose state lives
in its checkpoint.

A batch is done as any other: its rows are judged, late ones and the table are written under its transaction
id, then its marker. Only what it emits cannot be computed from tables again: a batch that has its marker, but
whose checkpoint a crash has cut, runs once more through the state and writes nothing.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.gold import Gold
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.text import count
from spark_jobs.gold.functions import load_hook
from spark_jobs.gold.native import (
    EMITTED,
    FILTERED,
    LATE,
    NATIVE_LATE_DDL,
    ON_TIME,
    POLICY,
    Course,
    NativeInput,
    NativeTable,
    build_query,
)
from spark_jobs.lake import delta_log, streams, tables
from spark_jobs.lake.checkpoints import Checkpoint, begun_versions, next_watermark
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.kept import kept
from spark_jobs.lake.ledger_batches import STREAM
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch, RowsMissing
from spark_jobs.run.context import RunContext

NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
TOO_SLOW = "Python worker failed to connect back"
"""What Spark says when the Python process of a state class has not started in ten seconds, which no setting
changes.
"""
STARTS = 4
"""How often a query is started whose Python process takes too long: a busy machine is no reason to fail."""


class RowsDropped(Exception):
    """Spark has dropped rows by its watermark that were not late by what their tables had seen: they are in
    no table.
    """

    def __init__(self, table: str, rows: int) -> None:
        self.table, self.rows = table, rows
        dropped = f"{count(rows, 'row')} by its watermark that {'was' if rows == 1 else 'were'} not set aside"
        super().__init__(f"{table}: Spark dropped {dropped}; rebuild it, and report this as a defect")


def native_table(run: RunContext, name: str, gold: Gold) -> NativeTable:
    inputs = tuple(NativeInput(table, delay, _declared(run.pipeline, table)) for table, delay in gold.delays)
    processor = load_hook(gold.state, run.order.project.conf) if gold.state else None
    return NativeTable(f"gold.{name}", gold, inputs, processor)


def run_native(run: RunContext, name: str, gold: Gold) -> None:
    """Take in what is new in the silver tables: all of it is one batch, and a second one where the watermark
    has moved.
    """
    table = native_table(run, name, gold)
    generation = run.plan.generation(table.name)
    checkpoint = run.checkpoint(table.name)
    spark = run.new_session(**_settings(gold))
    rows = {known.table: streams.read_all_rows(spark, run.lake.table(known.table)) for known in table.inputs}
    query = build_query(table, rows, next_watermark(checkpoint), _plot(run, table, checkpoint))
    _create(run, table, query)

    def handle(frame: DataFrame, number: int) -> None:
        run.tune(frame.sparkSession, {})
        if run.order.ledger.has_batch((table.name, STREAM, generation, number)):
            # the state must move on, or the next batch would find none
            frame.write.format("noop").mode("overwrite").save()
            return
        run.batch(table.name, STREAM, number, partial(_work, frame, table), table.reads)

    _check_dropped(table, wait_for_workers(lambda: run.follow(query, table.name, handle)))


def wait_for_workers(start: Callable[[], streams.Running]) -> list[dict[str, Any]]:
    """To the end of the query. Where its Python process was too slow, it goes on from its checkpoint, as it
    would in the next run.
    """
    for _ in range(STARTS - 1):
        try:
            return start().wait()
        except Exception as error:
            if TOO_SLOW not in str(error):
                raise
    return start().wait()


def _plot(run: RunContext, table: NativeTable, checkpoint: Checkpoint) -> Course | None:
    """How far the inputs of a join have come. A batch that a crash has cut comes as far as the versions that
    it reads: by more, rows that the next batch reads would be late.
    """
    if table.gold.join is None:  # with one input its watermark is that of the query, which Spark writes down
        return None
    begun = begun_versions(checkpoint)
    highs, now = dict[str, datetime | None](), dict[str, datetime | None]()
    for name in (known.table for known in table.inputs):
        until = begun.get(str(delta_log.table_id(run.lake.table(name))), -1) if begun else None
        highs[name] = run.order.ledger.seen(name, run.plan.generation(name), until).high
        now[name] = run.order.ledger.seen(name, run.plan.generation(name)).high
    return Course.plot(table.gold.join, highs, now)


def _settings(gold: Gold) -> dict[str, str]:
    """By the clock there is always a later batch to be had, without rows: such a query would never end."""
    if gold.join:
        return POLICY
    return {NO_DATA: "false"} if gold.timers == "processing" else {}


def _work(frame: DataFrame, table: NativeTable, batch: Batch) -> tuple[Counts, Seen]:
    return publish_emitted(frame, batch, table), Seen()


def publish_emitted(frame: DataFrame, batch: Batch, table: NativeTable) -> Counts:
    """Judge and publish what a batch emits. The frame is computed once: it moves the state."""
    with kept(frame) as frame:
        found = {row["what"]: row["count"] for row in frame.groupBy("what").count().collect()}
        counts = _count(found, batch, table)
        rows = frame.where(F.col("what") == EMITTED).select(
            "out.*", F.lit(batch.processed_at).alias("_processed_at")
        )
        whole, removes = partial(_whole, rows, batch, table), partial(_removes, batch, table)
        batch.gate.judge(Candidate(rows, counts.inserted, whole, counts.inserted, removes=removes))
        write = tables.overwrite if _begins_anew(batch) else tables.append
        if counts.late or _begins_anew(batch):
            aside = frame.where(F.col("what") == LATE).select(
                "late.*", F.lit(batch.processed_at).alias("set_aside_at"), F.lit(batch.run_id).alias("run_id")
            )
            write(aside, table.late, batch, counts)
        if counts.inserted or _begins_anew(batch):
            write(rows, table.name, batch, counts)
    return counts


def _count(found: dict[str, int], batch: Batch, table: NativeTable) -> Counts:
    """Of a dedup every row that was read is in one class; of the others what becomes of rows in the state is
    the query's to say.
    """
    emitted, on_time = found.get(EMITTED, 0), found.get(ON_TIME, 0)
    read = on_time + found.get(LATE, 0) + found.get(FILTERED, 0)
    duplicate = on_time - emitted if table.gold.dedup else 0
    counts = Counts(
        rows_in=read,
        inserted=emitted,
        duplicate=duplicate,
        filtered=found.get(FILTERED, 0),
        late=found.get(LATE, 0),
        grown=emitted,
    )
    if duplicate < 0:
        raise RowsMissing(
            batch, Counts(rows_in=on_time, inserted=emitted), "rows came out of dedup that did not go in"
        )
    return counts


def _begins_anew(batch: Batch) -> bool:
    """The first batch of a rebuilt table takes the place of all that stands."""
    return batch.generation > 1 and batch.number == 0


def _removes(batch: Batch, table: NativeTable) -> bool:
    return _begins_anew(batch) and tables.has_standing_rows(batch, table.name)


def _whole(rows: DataFrame, batch: Batch, table: NativeTable) -> DataFrame:
    if _begins_anew(batch) or not batch.has(table.name):
        return rows
    return batch.read(rows.sparkSession, table.name).select(*rows.columns).unionByName(rows)


def _create(run: RunContext, table: NativeTable, query: DataFrame) -> None:
    """Tables below wait for no first row: an empty table stands from the beginning."""
    path = run.lake.table(table.name)
    if delta_log.table_version(path) is None:
        fields = query.schema["out"].dataType.fields  # type: ignore[attr-defined]
        columns = [f"`{field.name}` {field.dataType.simpleString()}" for field in fields]
        run.create(table.name, ", ".join([*columns, "_processed_at timestamp"]), tables.CHANGEABLE)
    run.create(table.late, NATIVE_LATE_DDL, tables.CHANGEABLE)


def _check_dropped(table: NativeTable, batches: list[dict[str, Any]]) -> None:
    operators = [operator for batch in batches for operator in batch["stateOperators"]]
    if dropped := sum(operator["numRowsDroppedByWatermark"] for operator in operators):
        raise RowsDropped(table.name, dropped)


def _declared(pipeline: Pipeline, table: str) -> tuple[str, ...]:
    silver = pipeline.silver_named(table)
    return tuple(silver.columns) if silver else ()
