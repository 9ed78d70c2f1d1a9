"""One step per layer: which stream a table reads, and what each of its batches does."""

from collections.abc import Iterable
from datetime import datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.bronze.ingest import BRONZE_DDL, read_chunk
from spark_jobs.config.pipeline import Gold
from spark_jobs.gold.functions import compute_python, compute_sql
from spark_jobs.gold.windows import compute_groups, compute_windows, find_touched
from spark_jobs.lake import delta_log, streams, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch
from spark_jobs.landing.registrar import TAKEN
from spark_jobs.run.context import RunContext
from spark_jobs.run.plan import DEFINITION
from spark_jobs.silver.dimensions import process_history
from spark_jobs.silver.facts import dimension_table, kept, process_facts, silver_table
from spark_jobs.silver.reenrich import reenrich
from spark_jobs.silver.schema import dimension_ddl, silver_ddl

LENIENT = {"spark.sql.ansi.enabled": "false"}
"""An expression that fails on one row gives NULL there; it must not stop the batch. Casts of declared types are strict all the same."""


def run_table(run: RunContext, table: str, inputs: dict[str, Any], consumed: dict[str, Any] | None) -> None:
    """Bring one table up to date with its inputs."""
    layer, _, name = table.partition(".")
    match layer:
        case "bronze":
            _run_bronze(run, name)
        case "dimension":
            _run_dimension(run, name)
        case "silver":
            _run_silver(run, name, inputs, consumed or {})
        case _:
            gold = run.pipeline.gold[name]
            is_redefined = consumed is not None and consumed.get(DEFINITION) != inputs[DEFINITION]
            if gold.mode == "complete" or is_redefined:
                _run_complete(run, name, gold, list(inputs))
            if gold.mode == "update":
                _run_windows(run, name, gold)


def create_dimensions(run: RunContext, planned: Iterable[str]) -> None:
    """A dimension of which nothing has landed yet is an empty table: its members are unknown to the facts until they come."""
    silver = [run.pipeline.silver[table.partition(".")[2]] for table in planned if table.startswith("silver.")]
    for name in dict.fromkeys(dimension for table in silver for dimension in table.lookup):
        tables.create(run.lake.table(f"dimension.{name}"), dimension_ddl(run.pipeline.dimensions[name]), tables.CHANGE_FEED)


def _run_bronze(run: RunContext, name: str) -> None:
    source, table = run.pipeline.sources[name], f"bronze.{name}"
    path = run.lake.table(table)
    tables.create(path, BRONZE_DDL, tables.RECORDS)
    spark = run.new_session()

    def ingest(chunk: DataFrame, batch: Batch) -> Counts:
        taken = chunk.where(F.col("verdict") == TAKEN)
        files = taken.toArrow().to_pylist()
        if files:
            tables.append(read_chunk(taken, files, source, run.order.project.landing), path, batch, Counts())
        return delta_log.count_chunks(path, {file["chunk"] for file in files})

    def count_again(chunk: DataFrame) -> Counts:
        return delta_log.count_chunks(path, {row["chunk"] for row in chunk.select("chunk").collect()})

    run.stream(streams.read_rows(spark, run.lake.arrivals(name), files_per_batch=1), table, {}, ingest, count_again)


def _run_dimension(run: RunContext, name: str) -> None:
    dimension, table = run.pipeline.dimensions[name], f"dimension.{name}"
    tables.create(run.lake.table(table), dimension_ddl(dimension), tables.CHANGE_FEED)
    target = dimension_table(run.pipeline, name, run.lake)
    process = process_history if dimension.history == "scd2" else process_facts
    rows = streams.read_rows(run.new_session(**LENIENT), run.lake.table(f"bronze.{dimension.from_}"))
    run.stream(rows, table, LENIENT, lambda records, batch: process(records, batch, target))


def _run_silver(run: RunContext, name: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """First the facts that are there are brought to the dimensions' versions, then new facts come in at these."""
    silver, table = run.pipeline.silver[name], f"silver.{name}"
    path = run.lake.table(table)
    tables.create(path, silver_ddl(run.pipeline, name), tables.CHANGE_FEED)
    target = silver_table(run.pipeline, name, run.lake)
    for number, dimension in enumerate(silver.lookup):
        after, until = consumed.get(f"dimension.{dimension}", -1), inputs[f"dimension.{dimension}"]
        if until > after and delta_log.table_bytes(path):
            work = partial(reenrich, run.new_session(**LENIENT), target, number, after, until)
            run.batch(table, f"reenrich.{dimension}", until, work)
    rows = streams.read_rows(run.new_session(**LENIENT), run.lake.table(f"bronze.{silver.from_}"))
    run.stream(rows, table, LENIENT, lambda records, batch: process_facts(records, batch, target))


def _run_windows(run: RunContext, name: str, gold: Gold) -> None:
    table, source = f"gold.{name}", run.lake.table(str(gold.from_))
    path = run.lake.table(table)
    event_time = _event_time(run, gold)

    def recompute(changes: DataFrame, batch: Batch) -> Counts:
        spark = changes.sparkSession
        is_first = delta_log.table_version(path) is None
        changed = changes.where(F.col("_change_type") != "update_preimage").count()
        touched = None if is_first else find_touched(changes, gold, event_time)
        if not changed or (touched is None and not is_first):
            return Counts(rows_in=changed)
        windows = compute_windows(tables.read(spark, source), gold, event_time, touched, batch.processed_at)
        with kept(windows):
            counts = Counts(rows_in=changed, inserted=windows.count())
            if touched is None:
                tables.append(windows, path, batch, counts)
            else:
                tables.replace(windows, path, touched.condition, batch, counts)
        return counts

    run.stream(streams.read_changes(run.new_session(), source), table, {}, recompute)


def _event_time(run: RunContext, gold: Gold) -> str:
    """The window's column, else the silver table's event time."""
    column = gold.window.column if gold.window else None
    event = run.pipeline.silver[str(gold.from_).partition(".")[2]].event_time
    return column or (event.column if event else "_event_at")


def _run_complete(run: RunContext, name: str, gold: Gold, inputs: list[str]) -> None:
    table = f"gold.{name}"
    path = run.lake.table(table)

    def recompute(batch: Batch) -> Counts:
        rows = _compute_whole(run, run.new_session(), gold, inputs, batch.processed_at)
        with kept(rows):
            counts = Counts(inserted=rows.count())
            tables.overwrite(rows, path)
        return counts

    version = delta_log.table_version(path)
    run.batch(table, "complete", 0 if version is None else version + 1, recompute)


def _compute_whole(run: RunContext, spark: SparkSession, gold: Gold, inputs: list[str], processed_at: datetime) -> DataFrame:
    frames = {name: tables.read(spark, run.lake.table(name)) for name in inputs if "." in name}
    if gold.sql:
        return compute_sql(spark, (run.order.project.conf / gold.sql).read_text(encoding="utf-8"), frames, processed_at)
    if gold.python:
        return compute_python(gold.python, run.order.project.conf, [frames[name] for name in gold.inputs], processed_at)
    silver = frames[str(gold.from_)]
    if gold.window:
        return compute_windows(silver, gold, _event_time(run, gold), None, processed_at)
    return compute_groups(silver, gold, processed_at)
