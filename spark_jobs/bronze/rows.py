"""Rows of other streams as bronze records: a Delta table of somebody else, the rate and the socket of
development.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.window import Window

from spark_jobs.bronze.batches import set_aside_words
from spark_jobs.config.sources import BYTES_PER_RECORD, DeltaSource, SocketSource
from spark_jobs.lake.json_text import WHOLE_JSON

CHANGE = ("_change_type", "_commit_version", "_commit_timestamp")
PLACE = r"(?:[^/=]+=[^/]*/)*[^/]+$"
"""Of the path of a data file what tells it from the others of its table: its name, with the folders of its
partition. Spark gives files of the same name to several partitions, and `CONVERT TO DELTA` keeps these.
"""
OLD_IMAGES = ("delete", "update_preimage")
"""What a commit took away. What it left in its place comes after it: see `change_order` in
silver/versions.py.
"""


def added_rows(rows: DataFrame, source: DeltaSource, data_file: str) -> DataFrame:
    """Rows that were added to a table, each by its data file and its place in it, in the order of their text:
    a batch has whole files.
    """
    texts = rows.select(_as_json([name for name in rows.columns if name != data_file]), data_file)
    name = F.concat(F.lit(f"{source.path}/"), _place(data_file)).alias("_file")
    line = F.row_number().over(Window.partitionBy(data_file).orderBy("record")).cast("bigint").alias("_line")
    return _select(texts.select("record", name, line), F.lit(None), source.bytes_per_record)


def changed_rows(rows: DataFrame, source: DeltaSource, data_file: str) -> DataFrame:
    """Changes of a table, each by its commit, its image and its data file, and its place among these in the
    order of their text.

    A batch has whole data files. It may have a part of a commit: the first snapshot, or a commit that adds
    and removes many files.
    """
    of_table = [name for name in rows.columns if name not in (*CHANGE, data_file)]
    image = F.when(F.col("_change_type").isin(*OLD_IMAGES), "old").otherwise("new").alias("_image")
    texts = rows.select(_as_json([*of_table, "_change_type", "_commit_version"]), *CHANGE, data_file, image)
    parts = (F.col("_commit_version").cast("string"), "_image", _place(data_file))
    name = F.concat(F.lit(f"{source.path}@"), F.concat_ws("/", *parts)).alias("_file")
    in_file = Window.partitionBy("_commit_version", "_image", data_file).orderBy("record")
    placed = texts.select("*", name, F.row_number().over(in_file).cast("bigint").alias("_line"))
    return _select(placed, F.col("_commit_timestamp"), source.bytes_per_record)


def rate_rows(rows: DataFrame) -> DataFrame:
    placed = rows.select(
        _as_json(["value", "timestamp"]),
        F.lit("rate").alias("_file"),
        (F.col("value") + 1).alias("_line"),
        "timestamp",
    )
    return _select(placed, F.col("timestamp"), BYTES_PER_RECORD)


def socket_rows(rows: DataFrame, source: SocketSource, batch: int) -> DataFrame:
    """Lines in the order in which they came. A batch is all that tells them from lines that came before."""
    of_batch = rows.select("*", F.monotonically_increasing_id().alias("_at"))
    line = F.row_number().over(Window.orderBy("_at")).cast("bigint")
    name = F.lit(f"socket/{source.host}:{source.port}/{batch}").alias("_file")
    placed = of_batch.select(_as_json(["value", "timestamp"]), name, line.alias("_line"), "timestamp")
    return _select(placed, F.col("timestamp"), source.bytes_per_record)


def _place(data_file: str) -> Column:
    return F.regexp_extract(data_file, PLACE, 0)


def _as_json(columns: list[str]) -> Column:
    return F.to_json(F.struct(*(F.col(f"`{name}`") for name in columns)), WHOLE_JSON).alias("record")


def _select(placed: DataFrame, modified_at: Column, longest: int) -> DataFrame:
    file_id = F.substring(F.sha2(F.col("_file").cast("binary"), 256), 1, 16)
    size = F.octet_length("record")
    return placed.select(
        F.when(size <= longest, F.col("record")).alias("record"),
        "_file",
        file_id.alias("_file_id"),
        "_line",
        modified_at.cast("timestamp").alias("_file_modified_at"),
        F.when(size > longest, too_long(size, longest)).alias("_problem"),
    )


def too_long(size: Column, longest: int) -> Column:
    """The problem of a record that is set aside for its length, in the words of `set_aside` in
    bronze/batches.py.
    """
    before, after = set_aside_words(longest)
    return F.concat(F.lit(before), F.format_number(size, 0), F.lit(after))
