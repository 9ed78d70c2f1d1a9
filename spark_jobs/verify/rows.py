"""Rows of silver tables and dimensions, decided a second time."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from spark_jobs.config.expectations import Rule
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.sources import AnySource
from spark_jobs.silver.decode import decode
from spark_jobs.silver.decoding import Decoding, of_records

# What each record of bronze says by itself. What enters: bronze rows. What leaves: typed rows with `_class`
# (candidate, delete, quarantined, filtered), `_is_accepted`, the `_rules` against them, and `_content`.
# Decoding is shared with the engine, because it looks at one row at a time; nothing else is.

MICROSECONDS = {
    "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX",
    "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS",
}
WHOLE = {"ignoreNullFields": "false", **MICROSECONDS}
"""JSON in which two values are equal only if they are: NULLs and microseconds included."""
ORIGIN = ("_file", "_file_id", "_line", "_element", "_arrived_at", "_chunk")
CANDIDATE, DELETE, QUARANTINED, FILTERED, PARKED = "candidate", "delete", "quarantined", "filtered", "parked"


def dimension_rows(
    records: DataFrame, pipeline: Pipeline, dimension: Dimension, rules: Sequence[Rule] = ()
) -> DataFrame:
    how = Decoding(
        **of_records(pipeline.sources[dimension.from_]),
        columns=dimension.columns,
        where=dimension.where,
        required=(*dimension.key, *dimension.sequence),
        delete_when=dimension.delete_when,
        identity=(*dimension.key, *dimension.sequence),
    )
    return _classified(decode(records, how, rules), how)


def silver_rows(
    records: DataFrame, pipeline: Pipeline, silver: Silver, rules: Sequence[Rule] = ()
) -> DataFrame:
    event = silver.event_time
    version = version_columns(silver)
    how = Decoding(
        **of_records(pipeline.sources[silver.from_]),
        columns=silver.columns,
        explode=silver.explode,
        where=silver.where,
        required=(*version, *([event.column] if event else [])),
        event_time=event.column if event else None,
        future=event.future if event else None,
        past=event.past if event else None,
        delete_when=silver.delete_when,
        identity=tuple(version),
    )
    return _classified(decode(records, how, rules), how)


def version_columns(table: Silver | Dimension) -> list[str]:
    """What a version is known by: the key, and what orders the versions of one key."""
    return [*table.key, *table.sequence] if table.key else []


def content(rows: DataFrame, columns: Sequence[str]) -> Column:
    """The hash that decides between versions of one sequence: of the values, then of
    which of them are NULL.
    """
    types = {field.name: field.dataType for field in rows.schema.fields}
    values = [
        F.to_json(F.struct(name), MICROSECONDS) if is_nested(types[name]) else F.col(name) for name in columns
    ]
    return F.xxhash64(*values, *(F.isnull(name) for name in columns))


def is_nested(kind: DataType) -> bool:
    return isinstance(kind, ArrayType | MapType | StructType)


def _classified(decoded: DataFrame, how: Decoding) -> DataFrame:
    is_delete = F.col("_is_delete")
    own = (
        F.when(F.size("_reasons") > 0, QUARANTINED)
        .when(F.col("_is_filtered"), FILTERED)
        .when(is_delete, DELETE)
        .otherwise(CANDIDATE)
    )
    return decoded.select(
        *how.columns,
        own.alias("_class"),
        (F.col("_is_sound") & ~F.col("_is_filtered") & ~is_delete).alias("_is_accepted"),
        F.transform("_reasons", lambda reason: reason["rule"]).alias("_rules"),
        content(decoded, list(how.columns)).alias("_content"),
        *ORIGIN,
    )


# Versions of keys, all at once: the newest of each key, or the intervals of all of them (scd2).


def newest_versions(
    versions: DataFrame, key: Sequence[str], sequence: Sequence[str], ties: Sequence[Column] = ()
) -> DataFrame:
    """One row per key: the version with the greatest sequence, column by column; of these the greatest by
    `ties`, then a delete, then the greatest content.

    Of identical copies the one that came first. Where it matters in which file it came, rows know the number
    of theirs.
    """
    arrival = "_file_number" if "_file_number" in versions.columns else "_chunk"
    order = [
        *map(F.col, sequence),
        *ties,
        F.col("_class") == DELETE,
        F.col("_content"),
        -F.col(arrival),
        -F.col("_line"),
    ]
    row = F.struct(*(name for name in versions.columns if name not in key))
    by = F.struct(*(column.alias(f"_{number}") for number, column in enumerate(order)))
    found = versions.groupBy(*key).agg(F.max_by(row, by).alias("_row"))
    return found.select(*key, "_row.*").select(*versions.columns)


def ties_of(table: Silver | Dimension, source: AnySource) -> list[Column]:
    """What decides between versions of one sequence before their content: the commit and image of a change,
    the place among arrivals.
    """
    parts = [F.regexp_extract("_file", r"@(\d+)(?:/(old|new)/[^/]*)?$", group) for group in (1, 2)]
    image = F.when(parts[1] == "", F.when(F.col("_class") == DELETE, "old").otherwise("new")).otherwise(
        parts[1]
    )
    changes = (
        [parts[0].cast("bigint"), F.when(image == "new", 1).otherwise(0)] if source.is_change_feed else []
    )
    return changes + (
        [F.col("_chunk"), F.col("_file"), F.col("_line"), F.col("_element")] if table.keeps_arrival else []
    )


def intervals(
    versions: DataFrame,
    key: Sequence[str],
    sequence: Sequence[str],
    declared: Sequence[str],
    ties: Sequence[Column] = (),
) -> DataFrame:
    """One row per interval of a key, `_valid_from` on and until before `_valid_to`: versions in a row that
    say the same are one, and one that deletes ends the interval before it.
    """
    winners, at = winners_by_time(versions, key, sequence, ties), sequence[0]
    in_order = Window.partitionBy(*key).orderBy(at)
    said = what_is_said(winners, [name for name in declared if name not in (*key, *sequence)])
    opening = winners.withColumn("_said", said).withColumn("_said_before", F.lag("_said").over(in_order))
    opened = opening.where(~F.col("_said").eqNullSafe(F.col("_said_before"))).drop("_said", "_said_before")
    until = opened.withColumns({"_valid_from": F.col(at), "_valid_to": F.lead(at).over(in_order)})
    return until.where(F.col("_class") == CANDIDATE)


def winners_by_time(
    versions: DataFrame, key: Sequence[str], sequence: Sequence[str], ties: Sequence[Column] = ()
) -> DataFrame:
    """Of the versions of a key and time the one that counts."""
    at, *more = sequence
    row = F.struct(*(name for name in versions.columns if name not in (*key, at)))
    order = [*map(F.col, more), *ties, F.col("_class") == DELETE, F.col("_content")]
    by = F.struct(*(column.alias(f"_{number}") for number, column in enumerate(order)))
    return versions.groupBy(*key, at).agg(F.max_by(row, by).alias("_row")).select(*key, at, "_row.*")


def what_is_said(winners: DataFrame, names: Sequence[str]) -> Column:
    """The attributes of a version, and whether it deletes."""
    return F.struct(*(_comparable(winners, name) for name in names), "_class")


def _comparable(rows: DataFrame, name: str) -> Column:
    return (
        F.to_json(F.struct(name), WHOLE).alias(name) if is_nested(rows.schema[name].dataType) else F.col(name)
    )
