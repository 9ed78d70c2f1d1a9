"""Versions of keys, all at once: the newest of each key, or the intervals of all of them (scd2)."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.verify.rows import DELETE, is_nested

HEX, HEX_REVERSED = "0123456789abcdef", "fedcba9876543210"
"""Digits of a file's id, and the same in reverse: so written, the least id is the greatest."""


def newest_versions(versions: DataFrame, key: Sequence[str], sequence: str) -> DataFrame:
    """One row per key: the version with the greatest sequence; of these a delete before others, then the greatest content.

    Of identical copies the one that came first: by its chunk, then by its file and line.
    """
    is_delete = F.col("_class") == DELETE
    last_come = [-F.col("_chunk"), F.translate("_file_id", HEX, HEX_REVERSED), -F.col("_line")]
    order = [F.col(sequence), is_delete, F.col("_content"), *last_come]
    row = F.struct(*(name for name in versions.columns if name not in key))
    by = F.struct(*(column.alias(f"_{number}") for number, column in enumerate(order)))
    found = versions.groupBy(*key).agg(F.max_by(row, by).alias("_row"))
    return found.select(*key, "_row.*").select(*versions.columns)


def intervals(versions: DataFrame, key: Sequence[str], sequence: str, declared: Sequence[str]) -> DataFrame:
    """One row per interval of a key, `_valid_from` on and until before `_valid_to`: versions in a row that say the same are one."""
    row = F.struct(*(name for name in versions.columns if name not in (*key, sequence)))
    winners = versions.groupBy(*key, sequence).agg(F.max_by(row, "_content").alias("_row")).select(*key, sequence, "_row.*")
    in_order = Window.partitionBy(*key).orderBy(sequence)
    said = F.struct(*(_comparable(winners, name) for name in declared if name not in (*key, sequence)), F.lit(1).alias("_"))
    opening = winners.withColumn("_said", said).withColumn("_said_before", F.lag("_said").over(in_order))
    opened = opening.where(~F.col("_said").eqNullSafe(F.col("_said_before"))).drop("_said", "_said_before")
    return opened.withColumns({"_valid_from": F.col(sequence), "_valid_to": F.lead(sequence).over(in_order)})


def _comparable(rows: DataFrame, name: str) -> Column:
    return F.to_json(F.struct(name)).alias(name) if is_nested(rows.schema[name].dataType) else F.col(name)
