"""The step of a bronze table: its query, and what each of its batches does. The same for a scheduled run and for one that is always on."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.bronze.barren import barren_in, find_barren
from spark_jobs.bronze.ingest import BRONZE_DDL, read_by_driver, read_by_tasks
from spark_jobs.config.sensitive import sensitive_paths
from spark_jobs.config.sources import FileSource
from spark_jobs.lake import delta_log, streams, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch
from spark_jobs.landing.arrivals import TAKEN
from spark_jobs.quality.masking import mask_problem
from spark_jobs.run.context import Done, RunContext
from spark_jobs.run.messages import append_held_records, append_records, check_appended, start_messages, tell_drift
from spark_jobs.session.jvm_end import note_work


def start_bronze(run: RunContext, name: str, trigger: Mapping[str, Any] = streams.AVAILABLE_NOW) -> streams.Running:
    """Start the query of a source by a trigger of Spark's, as in {"processingTime": "10 seconds"}; `wait` on what it gives."""
    tables.create(run.lake.table(f"bronze.{name}"), BRONZE_DDL, tables.RECORDS)
    source = run.pipeline.sources[name]
    return _start_files(run, name, source, trigger) if isinstance(source, FileSource) else start_messages(run, name, source, trigger)


def _start_files(run: RunContext, name: str, source: FileSource, trigger: Mapping[str, Any]) -> streams.Running:
    """Files are read by what the arrivals say of them: a chunk of these is a batch."""
    table = f"bronze.{name}"

    def ingest(chunk: DataFrame, batch: Batch) -> Done:
        taken = chunk.where(F.col("verdict") == TAKEN)
        files = taken.toArrow().to_pylist()
        chunks = {file["chunk"] for file in files}
        note_work(table, f"batch {batch.number}: {_named(files)}")
        rows = None
        if files and delta_log.has_transaction(run.lake.table(table), batch.app_id, batch.number):
            check_appended(run, batch, chunks)
        elif files:
            rows = read_by_driver(files, source, run.order.project.landing)
            if rows is None:
                append_records(read_by_tasks(taken, files, source, run.order.project.landing), batch, chunks)
            else:
                append_held_records(rows, chunk.sparkSession, batch, chunks)
        tell_drift(run, name, files, batch)
        counts = delta_log.count_chunks(run.lake.table(table), chunks)
        _note_barren(run, name, files, rows, counts)
        return counts, Seen()

    arrivals = streams.read_rows(run.new_session(), run.lake.arrivals(name), files_per_batch=1, checkpoint=run.checkpoint(table))
    return run.start(arrivals, table, {}, ingest, trigger=trigger)


def _note_barren(run: RunContext, name: str, files: Sequence[Mapping[str, Any]], rows: pa.Table | None, counts: Counts) -> None:
    """Files of the batch that brought no record; `rows` are its rows where the driver has them."""
    if not files:
        return
    table, chunks = f"bronze.{name}", {file["chunk"] for file in files}
    if rows is not None:
        unreadable, empty = barren_in(files, [rows])
    else:
        unreadable, empty = find_barren(run.lake.table(table), files, chunks, has_unreadable=counts.quarantined > 0)
    hidden = {()} if sensitive_paths(run.pipeline, name) else ()
    run.notices.add_files(table, [(path, mask_problem(problem, hidden)) for path, problem in unreadable], empty)


def _named(files: Sequence[Mapping[str, Any]]) -> str:
    """The files of a chunk in a few words: the largest is the one to look at first."""
    largest = max(files, key=lambda file: file["size"] or 0, default=None)
    return f"{largest['path']!r}{f' and {len(files) - 1} more' if len(files) > 1 else ''}" if largest else "no file"
