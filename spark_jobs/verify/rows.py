"""What each record of bronze says by itself. What enters: bronze rows. What leaves: typed rows with `_class` (candidate, delete,
quarantined, filtered), `_is_accepted`, the `_rules` against them, and `_content`.

Decoding is shared with the engine, because it looks at one row at a time; nothing else is.
"""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from spark_jobs.config.expectations import Rule
from spark_jobs.config.pipeline import Dimension, Pipeline, Silver
from spark_jobs.silver.decode import decode
from spark_jobs.silver.decoding import Decoding

MICROSECONDS = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX", "timestampNTZFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSS"}
WHOLE = {"ignoreNullFields": "false", **MICROSECONDS}
"""JSON in which two values are equal only if they are: NULLs and microseconds included."""
ORIGIN = ("_file", "_file_id", "_line", "_element", "_arrived_at", "_chunk")
CANDIDATE, DELETE, QUARANTINED, FILTERED, PARKED = "candidate", "delete", "quarantined", "filtered", "parked"


def dimension_rows(records: DataFrame, pipeline: Pipeline, dimension: Dimension, rules: Sequence[Rule] = ()) -> DataFrame:
    how = Decoding(
        source_format=pipeline.sources[dimension.from_].record_format,
        fields=pipeline.sources[dimension.from_].fields,
        own_fields=pipeline.sources[dimension.from_].own_fields,
        columns=dimension.columns,
        where=dimension.where,
        required=(*dimension.key, dimension.sequence_by),
    )
    return _classified(decode(records, how, rules), how)


def silver_rows(records: DataFrame, pipeline: Pipeline, silver: Silver, rules: Sequence[Rule] = ()) -> DataFrame:
    event = silver.event_time
    version = version_columns(silver)
    how = Decoding(
        source_format=pipeline.sources[silver.from_].record_format,
        fields=pipeline.sources[silver.from_].fields,
        own_fields=pipeline.sources[silver.from_].own_fields,
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


def version_columns(silver: Silver) -> list[str]:
    """What a version is known by: the key, and what orders the versions of one key."""
    return [*(silver.key or ()), *([silver.sequence_column] if silver.key and silver.sequence_column else [])]


def content(rows: DataFrame, columns: Sequence[str]) -> Column:
    """The hash that decides between versions of one sequence: of the values, then of which of them are NULL."""
    types = {field.name: field.dataType for field in rows.schema.fields}
    values = [F.to_json(F.struct(name), MICROSECONDS) if is_nested(types[name]) else F.col(name) for name in columns]
    return F.xxhash64(*values, *(F.isnull(name) for name in columns))


def is_nested(kind: DataType) -> bool:
    return isinstance(kind, ArrayType | MapType | StructType)


def _classified(decoded: DataFrame, how: Decoding) -> DataFrame:
    is_delete = F.col("_is_delete")
    own = F.when(F.size("_reasons") > 0, QUARANTINED).when(F.col("_is_filtered"), FILTERED).when(is_delete, DELETE).otherwise(CANDIDATE)
    return decoded.select(
        *how.columns,
        own.alias("_class"),
        (F.col("_is_sound") & ~F.col("_is_filtered") & ~is_delete).alias("_is_accepted"),
        F.transform("_reasons", lambda reason: reason["rule"]).alias("_rules"),
        content(decoded, list(how.columns)).alias("_content"),
        *ORIGIN,
    )
