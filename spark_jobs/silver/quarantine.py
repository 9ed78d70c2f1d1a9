"""Rows that cannot be published, kept with their text, their place and every reason."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.lake import tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch
from spark_jobs.silver.schema import QUARANTINE_DDL


def write_quarantine(rows: DataFrame, path: str, batch: Batch, counts: Counts) -> None:
    """Append the batch's quarantined rows; nothing is written where there are none."""
    if not counts.quarantined:
        return
    tables.create(path, QUARANTINE_DDL, tables.APPEND_ONLY)
    bad = rows.where(F.col("_class") == "quarantined").select(
        F.col("_record").alias("record"),
        F.col("_reasons").alias("reasons"),
        F.col("_file").alias("file"),
        F.col("_file_id").alias("file_id"),
        F.col("_line").alias("line"),
        F.col("_arrived_at").alias("arrived_at"),
        F.lit(batch.processed_at).alias("quarantined_at"),
        F.lit(batch.run_id).alias("run_id"),
        F.lit(batch.number).cast("bigint").alias("batch"),
    )
    tables.append(bad, path, batch, counts)
