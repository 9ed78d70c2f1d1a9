"""The step of a bronze table: its query, and what each of its batches does. The same for a scheduled run and for one that is always on."""

from collections.abc import Mapping
from typing import Any

from pyspark.sql import DataFrame, Observation
from pyspark.sql import functions as F

from spark_jobs.bronze.drift import note_drift
from spark_jobs.bronze.ingest import BRONZE_DDL, read_chunk
from spark_jobs.lake import delta_log, streams, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch, RowsMissing
from spark_jobs.landing.arrivals import TAKEN
from spark_jobs.run.context import Done, RunContext


def start_bronze(run: RunContext, name: str, trigger: Mapping[str, Any] = streams.AVAILABLE_NOW) -> streams.Running:
    """Start the query of a source by a trigger of Spark's, as in {"processingTime": "10 seconds"}; `wait` on what it gives."""
    tables.create(run.lake.table(f"bronze.{name}"), BRONZE_DDL, tables.RECORDS)
    return _start_files(run, name, trigger)


def _start_files(run: RunContext, name: str, trigger: Mapping[str, Any]) -> streams.Running:
    """Files are read by what the arrivals say of them: a chunk of these is a batch."""
    source, table = run.pipeline.sources[name], f"bronze.{name}"

    def ingest(chunk: DataFrame, batch: Batch) -> Done:
        taken = chunk.where(F.col("verdict") == TAKEN)
        files = taken.toArrow().to_pylist()
        chunks = {file["chunk"] for file in files}
        if files and not delta_log.has_transaction(run.lake.table(table), batch.app_id, batch.number):
            _append(read_chunk(taken, files, source, run.order.project.landing), batch, chunks)
        _tell_drift(run, name, files, batch)
        return delta_log.count_chunks(run.lake.table(table), chunks), Seen()

    arrivals = streams.read_rows(run.new_session(), run.lake.arrivals(name), files_per_batch=1)
    return run.start(arrivals, table, {}, ingest, trigger=trigger)


def _append(records: DataFrame, batch: Batch, chunks: set[int]) -> None:
    """RowsMissing unless all that was read is in the table."""
    entered = Observation()
    tables.append(records.observe(entered, F.count(F.lit(1)).alias("records")), batch.table, batch, Counts())
    written = delta_log.count_chunks(batch.lake.table(batch.table), chunks)
    if written.rows_in != entered.get["records"]:
        raise RowsMissing(batch, Counts(rows_in=entered.get["records"], inserted=written.rows_in))


def _tell_drift(run: RunContext, name: str, arrivals: list[dict[str, Any]], batch: Batch) -> None:
    for drift in note_drift(run.lake, run.pipeline, name, arrivals, batch.run_id, batch.processed_at):
        run.warn(str(drift))
