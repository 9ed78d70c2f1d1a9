"""What every bronze step writes: its records, counted again once they are there, and the drift of their
fields.
"""

from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_jobs.bronze.drift import note_drift
from spark_jobs.lake import delta_log, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.ledger_batches import batch_id_of
from spark_jobs.lake.tables import Batch, RowsMissing
from spark_jobs.run.context import RunContext


class RecordsMissing(Exception):
    """A batch of bronze was written, and not all that was read is in it: found by an earlier run, and nothing
    has changed since.
    """

    def __init__(self, table: str, number: int, found: str) -> None:
        self.table, self.number, self.found = table, number, found
        super().__init__(
            f"{table}: batch {number} is in the table, but an earlier run found that it lacks records"
            f" ({found}). Keep the log and the lake as they are and report both; a source of another name"
            " reads the files again"
        )


def append_records(records: DataFrame, batch: Batch, chunks: set[int]) -> None:
    """RowsMissing unless all that was read is in the table."""
    entered = Observation()
    tables.append(records.observe(entered, F.count(F.lit(1)).alias("records")), batch.table, batch, Counts())
    _check_written(entered.get["records"], batch, chunks)


def append_held_records(records: pa.Table, spark: SparkSession, batch: Batch, chunks: set[int]) -> None:
    """The same for records that the driver has read."""
    tables.append_held(records, spark, batch.table, batch, Counts())
    _check_written(len(records), batch, chunks)


def check_appended(run: RunContext, batch: Batch, chunks: set[int]) -> None:
    """The same of a batch that an earlier process has written and not ended: it died before it had looked, or
    it has found rows missing. By then it is only known how many rows the commit wrote.
    """
    for row in run.order.ledger.ordered("evidence"):
        if batch_id_of(row) == batch.batch_id:
            raise RecordsMissing(batch.table, batch.number, str(row["message"]))
    written = delta_log.written_rows(batch.lake.table(batch.table), batch.step, batch.number)
    if written is not None:
        _check_written(written, batch, chunks)


def _check_written(entered: int, batch: Batch, chunks: set[int]) -> None:
    written = delta_log.count_chunks(batch.lake.table(batch.table), chunks)
    if written.rows_in != entered:
        raise RowsMissing(batch, Counts(rows_in=entered, inserted=written.rows_in))


def tell_drift(run: RunContext, name: str, arrivals: list[dict[str, Any]], batch: Batch) -> None:
    found = note_drift(run.order.ledger, run.pipeline, name, arrivals, batch.run_id, batch.processed_at)
    run.notices.add_drift(f"bronze.{name}", found)
