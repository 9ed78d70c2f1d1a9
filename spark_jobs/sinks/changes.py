"""What a batch of a table's changes comes to: at most one change per key, or per row where there is no key.

What enters are images: rows as they were (`_is_new` false) and as they became, each with the version of its
commit. A table that is rebuilt, a window that is replaced and a rebuild all give old and new images of rows
that did not change: these cancel out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from pyspark.sql import Column, DataFrame, Observation
from pyspark.sql import functions as F
from pyspark.sql.types import DataType, StructField

from spark_jobs.lake.counts import Counts

OPERATION, VERSION, ROW_ID, PLACE = "_operation", "_version", "_row", "_place"
"""Of a change: insert, update or delete; the version of the table that made it; an id that replays do not
change; where the row came from, where that is known.
"""
INSERT, UPDATE, DELETE = "insert", "update", "delete"
JSON = {"ignoreNullFields": "false", "timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}
"""Every field is there, and times keep their microseconds, which Spark's own format cuts."""


@dataclass(frozen=True)
class Tally:
    """Counted while the changes are written: asks nothing of Spark by itself."""

    seen: Observation = field(default_factory=Observation)

    @property
    def version(self) -> int | None:
        found: int | None = self.seen.get.get("version")
        return found

    @property
    def doubled(self) -> int:
        """Keys that more than one row has."""
        return self.seen.get.get("doubled") or 0

    def counts(self) -> Counts:
        """The images that were changes, by what became of them. Superseded: overtaken within the batch, or
        back where they were.
        """
        found = self.seen.get
        inserted, updated, deleted = (found.get(name) or 0 for name in (INSERT, UPDATE, DELETE))
        came = found.get("came") or 0
        superseded = came - inserted - updated - deleted
        return Counts(came, inserted, updated, deleted, superseded, grown=found.get("grown") or 0)


def changed_images(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    """The images of a change feed."""
    kind = F.col("_change_type")
    is_new = kind.isin("insert", "update_postimage")
    return _images(changes, columns, is_new, F.col("_commit_version"), kind != "update_preimage")


def whole_images(rows: DataFrame, columns: Sequence[str], version: int, *, is_new: bool) -> DataFrame:
    """Every row of a version of a table, as it was or as it became. A column that the
    version lacks is NULL.
    """
    return _images(rows, columns, F.lit(is_new), F.lit(version).cast("bigint"), F.lit(True))


def net_changes(
    images: DataFrame, columns: Sequence[str], key: Sequence[str] | None, tally: Tally
) -> DataFrame:
    """The delivered columns, `_operation`, `_version`, `_row` and `_place`."""
    return (
        _net_by_key(images, columns, key, tally)
        if key is not None
        else _net_by_content(images, columns, tally)
    )


def _images(
    rows: DataFrame, columns: Sequence[str], is_new: Column, version: Column, is_change: Column
) -> DataFrame:
    known = {name.lower() for name in rows.columns}
    values = [F.col(name) if name.lower() in known else F.lit(None).alias(name) for name in columns]
    has_place = {"_file", "_line"} <= known
    place = (
        F.concat_ws(" line ", "_file", F.col("_line").cast("string"))
        if has_place
        else F.lit(None).cast("string")
    )
    return rows.select(
        F.struct(*values).alias("row"),
        F.sha2(F.to_json(F.struct(*values), JSON), 256).alias("content"),
        is_new.alias("is_new"),
        version.alias("version"),
        is_change.alias("is_change"),
        place.alias("place"),
    )


def _net_by_key(images: DataFrame, columns: Sequence[str], key: Sequence[str], tally: Tally) -> DataFrame:
    """The first image of a key says whether it was there before the batch, the last one
    what it is after it.
    """
    order = F.struct("version", "is_new")
    image = F.struct("row", "content", "is_new", "version", "place")
    sign = F.when(F.col("is_new"), 1).otherwise(-1)
    keys = F.struct(*(F.col(f"row.{name}").alias(name) for name in key)) if key else F.struct(F.lit(0))
    by_key = images.groupBy(keys.alias("key")).agg(
        F.min_by(image, order).alias("first"),
        F.max_by(image, order).alias("last"),
        F.sum(sign).alias("grown"),
        F.count_if("is_change").alias("came"),
    )
    was, is_there = ~F.col("first.is_new"), F.col("last.is_new")
    is_same = F.col("first.content") == F.col("last.content")
    operation = (
        F.when(~was & is_there, INSERT).when(was & ~is_there, DELETE).when(was & is_there & ~is_same, UPDATE)
    )
    judged = by_key.select(
        "last",
        "came",
        "grown",
        operation.alias(OPERATION),
        (F.col("grown") != is_there.cast("int") - was.cast("int")).alias("is_doubled"),
        F.sha2(F.to_json(F.struct("key"), JSON), 256).alias(ROW_ID),
    )
    seen = judged.observe(
        tally.seen,
        *_counted(F.lit(1)),
        F.count_if("is_doubled").alias("doubled"),
        F.max("last.version").alias("version"),
    )
    return _delivered(seen.where(F.col(OPERATION).isNotNull()), columns)


def _net_by_content(images: DataFrame, columns: Sequence[str], tally: Tally) -> DataFrame:
    """Equal rows are told apart by their number alone: as many as came more than went."""
    sign = F.when(F.col("is_new"), 1).otherwise(-1)
    by_content = images.groupBy("content").agg(
        F.max_by(F.struct("row", "version", "place"), F.struct("version", "is_new")).alias("last"),
        F.sum(sign).alias("grown"),
        F.count_if("is_change").alias("came"),
    )
    operation = F.when(F.col("grown") > 0, INSERT).when(F.col("grown") < 0, DELETE)
    judged = by_content.select("content", "last", "came", "grown", operation.alias(OPERATION))
    seen = judged.observe(tally.seen, *_counted(F.abs("grown")), F.max("last.version").alias("version"))
    changed = seen.where(F.col(OPERATION).isNotNull())
    copies = changed.withColumn("copy", F.explode(F.sequence(F.lit(1).cast("bigint"), F.abs("grown"))))
    return _delivered(copies.withColumn(ROW_ID, F.concat_ws("-", "content", "copy")), columns)


def _counted(rows: Column) -> list[Column]:
    by_operation = [
        F.sum(F.when(F.col(OPERATION) == name, rows).otherwise(0)).alias(name)
        for name in (INSERT, UPDATE, DELETE)
    ]
    return [*by_operation, F.sum("came").alias("came"), F.sum("grown").alias("grown")]


def _delivered(changes: DataFrame, columns: Sequence[str]) -> DataFrame:
    values = [F.col(f"last.row.{name}").alias(name) for name in columns]
    return changes.select(
        *values, OPERATION, F.col("last.version").alias(VERSION), ROW_ID, F.col("last.place").alias(PLACE)
    )


def string_columns(fields: Sequence[StructField]) -> list[str]:
    return [found.name for found in fields if found.dataType.typeName() == "string"]


def is_nested(data_type: DataType) -> bool:
    return data_type.typeName() in ("array", "map", "struct")
