"""Versions of keys, all at once: the newest of each key, or the intervals of all of them (scd2)."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from spark_jobs.config.pipeline import Dimension, Silver
from spark_jobs.config.sources import AnySource
from spark_jobs.verify.rows import DELETE, WHOLE, is_nested


def newest_versions(versions: DataFrame, key: Sequence[str], sequence: str, ties: Sequence[Column] = ()) -> DataFrame:
    """One row per key: the version with the greatest sequence; of these the greatest by `ties`, then a delete, then the greatest content.

    Of identical copies the one that came first. Where it matters in which file it came, rows know the number of theirs.
    """
    arrival = "_file_number" if "_file_number" in versions.columns else "_chunk"
    order = [F.col(sequence), *ties, F.col("_class") == DELETE, F.col("_content"), -F.col(arrival), -F.col("_line")]
    row = F.struct(*(name for name in versions.columns if name not in key))
    by = F.struct(*(column.alias(f"_{number}") for number, column in enumerate(order)))
    found = versions.groupBy(*key).agg(F.max_by(row, by).alias("_row"))
    return found.select(*key, "_row.*").select(*versions.columns)


def ties_of(table: Silver | Dimension, source: AnySource) -> list[Column]:
    """What decides between versions of one sequence before their content: the commit and image of a change, the place among arrivals."""
    parts = [F.regexp_extract("_file", r"@(\d+)(?:/(old|new)/[^/]*)?$", group) for group in (1, 2)]
    image = F.when(parts[1] == "", F.when(F.col("_class") == DELETE, "old").otherwise("new")).otherwise(parts[1])
    changes = [parts[0].cast("bigint"), F.when(image == "new", 1).otherwise(0)] if source.is_change_feed else []
    return changes + ([F.col("_chunk"), F.col("_file"), F.col("_line"), F.col("_element")] if table.ties == "newest_arrival" else [])


def intervals(versions: DataFrame, key: Sequence[str], sequence: str, declared: Sequence[str], ties: Sequence[Column] = ()) -> DataFrame:
    """One row per interval of a key, `_valid_from` on and until before `_valid_to`: versions in a row that say the same are one."""
    row = F.struct(*(name for name in versions.columns if name not in (*key, sequence)))
    by = F.struct(*(column.alias(f"_{number}") for number, column in enumerate([*ties, F.col("_content")])))
    winners = versions.groupBy(*key, sequence).agg(F.max_by(row, by).alias("_row")).select(*key, sequence, "_row.*")
    in_order = Window.partitionBy(*key).orderBy(sequence)
    said = F.struct(*(_comparable(winners, name) for name in declared if name not in (*key, sequence)), F.lit(1).alias("_"))
    opening = winners.withColumn("_said", said).withColumn("_said_before", F.lag("_said").over(in_order))
    opened = opening.where(~F.col("_said").eqNullSafe(F.col("_said_before"))).drop("_said", "_said_before")
    return opened.withColumns({"_valid_from": F.col(sequence), "_valid_to": F.lead(sequence).over(in_order)})


def _comparable(rows: DataFrame, name: str) -> Column:
    return F.to_json(F.struct(name), WHOLE).alias(name) if is_nested(rows.schema[name].dataType) else F.col(name)
