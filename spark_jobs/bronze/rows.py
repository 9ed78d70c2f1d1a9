"""Rows of other streams as bronze records: a Delta table of somebody else, the rate and the socket of development."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from spark_jobs.config.sources import DeltaSource

CHANGE = ("_change_type", "_commit_version", "_commit_timestamp")
OF_JSON = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "ignoreNullFields": "false"}


def added_rows(rows: DataFrame, source: DeltaSource, data_file: str) -> DataFrame:
    """Rows that were added to a table, each by its data file and its place in it, in the order of their text: a batch has whole files."""
    texts = rows.select(_as_json([name for name in rows.columns if name != data_file]), data_file)
    name = F.concat(F.lit(f"{source.path}/"), F.element_at(F.split(data_file, "/"), -1)).alias("_file")
    line = F.row_number().over(Window.partitionBy(data_file).orderBy("record")).cast("bigint").alias("_line")
    return _select(texts.select("record", name, line), F.lit(None))


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
