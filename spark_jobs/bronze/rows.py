"""Rows of other streams as bronze records: a Delta table of somebody else, the rate and the socket of development."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from spark_jobs.config.sources import DeltaSource

CHANGE = ("_change_type", "_commit_version", "_commit_timestamp")
OF_JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}


def added_rows(rows: DataFrame, source: DeltaSource) -> DataFrame:
    """Rows that were added to a table, each by its place in the data file that it came in."""
    at = F.col("_metadata")
    name = F.concat(F.lit(f"{source.path}/"), at.getField("file_name"))
    placed = rows.select(_as_json(rows.columns), name.alias("_file"), (at.getField("row_index") + 1).alias("_line"), at.alias("_metadata"))
    return _select(placed, F.col("_metadata.file_modification_time"))


def changed_rows(rows: DataFrame, source: DeltaSource) -> DataFrame:
    """Changes of a table, each by its commit and its place in it, in the order of their text: a batch has whole commits."""
    of_table = [name for name in rows.columns if name not in CHANGE]
    texts = rows.select(_as_json([*of_table, "_change_type", "_commit_version"]), *CHANGE)
    in_commit = Window.partitionBy("_commit_version").orderBy("record")
    name = F.concat(F.lit(f"{source.path}@"), F.col("_commit_version").cast("string"))
    placed = texts.select("*", name.alias("_file"), F.row_number().over(in_commit).cast("bigint").alias("_line"))
    return _select(placed, F.col("_commit_timestamp"))


def rate_rows(rows: DataFrame) -> DataFrame:
    placed = rows.select(_as_json(["value", "timestamp"]), F.lit("rate").alias("_file"), (F.col("value") + 1).alias("_line"), "timestamp")
    return _select(placed, F.col("timestamp"))


def socket_rows(rows: DataFrame, place: str, batch: int) -> DataFrame:
    """Lines in the order in which they came. A batch is all that tells them from lines that came before."""
    of_batch = rows.select("*", F.monotonically_increasing_id().alias("_at"))
    line = F.row_number().over(Window.orderBy("_at")).cast("bigint")
    placed = of_batch.select(
        _as_json(["value", "timestamp"]), F.lit(f"socket/{place}/{batch}").alias("_file"), line.alias("_line"), "timestamp"
    )
    return _select(placed, F.col("timestamp"))


def _as_json(columns: list[str]) -> Column:
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)), OF_JSON).alias("record")


def _select(placed: DataFrame, modified_at: Column) -> DataFrame:
    file_id = F.substring(F.sha2(F.col("_file").cast("binary"), 256), 1, 16)
    no_problem = F.lit(None).cast("string").alias("_problem")
    return placed.select(
        "record", "_file", file_id.alias("_file_id"), "_line", modified_at.cast("timestamp").alias("_file_modified_at"), no_problem
    )
