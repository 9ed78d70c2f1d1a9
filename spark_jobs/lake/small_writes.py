"""Few rows into a small table, by way of the driver: a commit of delta-rs, which tells the change feed the
same as one of Spark's.

Spark's MERGE is nine SQL executions, whatever it is about: its command, the table's state, its files, who
matches, the new files; its `replaceWhere` is ten, and to overwrite a table five. By delta-rs each is one:
that which hands the rows over. All else is left to Spark.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from deltalake import write_deltalake
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DataType, StructField, StructType

from spark_jobs.lake import delta_commit, delta_log, kept, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.tables import Batch

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS, MOST_BYTES = 2_000, 16 * 1024 * 1024
"""So many rows the driver holds with ease, and of a table so much it reads and writes again in a second."""
MOST_KEPT_BYTES = 64 * 1024 * 1024
"""Few rows may be long ones: with more than this kept, they stay where they are."""
PLAIN = (
    "boolean",
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
    "string",
    "binary",
    "date",
    "timestamp",
)
"""Types, as Delta calls them, that Spark, Arrow and delta-rs write and read alike. So are decimals, and
arrays and structs of all these.
"""
INEXACT = ("float", "double")
"""Types whose zeros and NaNs the two do not compare alike: never by these is it decided
which row is which.
"""

TIME = re.compile(r"TIMESTAMP '(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d(?:\.\d{1,6})?)'")
"""A time as it stands in conditions for Spark. delta-rs wants it as text, in UTC, to compare it with a
column.
"""


@dataclass(frozen=True)
class Upsert:
    """What becomes of `new` rows in a table of `old` ones. A row is the same where its key is; `values` are
    the columns that it gets.

    Conditions are comparisons of columns, which Spark and delta-rs read alike; None: it is not done at all.
    `compared` are the columns of the table that they name. With `for_spark` they are more than that. With
    `is_null_safe` a NULL in the key is the same as another one: Spark alone says so.
    """

    key: tuple[str, ...]
    values: tuple[str, ...]
    delete_when: str | None = None
    update_when: str | None = "true"
    insert_when: str | None = "true"
    compared: tuple[str, ...] = ()
    for_spark: bool = False
    is_null_safe: bool = False

    @property
    def same_row(self) -> str:
        same = "<=>" if self.is_null_safe else "="
        return " AND ".join(f"old.`{name}` {same} new.`{name}`" for name in self.key)

    @property
    def assigned(self) -> dict[str, str]:
        return {f"`{name}`": f"new.`{name}`" for name in self.values}


def append(rows: DataFrame, count: int, name: str, batch: Batch, counts: Counts) -> None:
    """Append the rows, of which there are so many. What the table holds does not matter, only its columns."""
    path = batch.lake.table(name)
    if not _is_few(rows, count, path) or not _is_known_alike(path, rows):
        tables.append(rows, name, batch, counts)
        return
    tables.append_held(_to_arrow(rows), rows.sparkSession, name, batch, counts)


def upsert(rows: DataFrame, count: int, name: str, how: Upsert, batch: Batch, counts: Counts) -> None:
    """Write the rows, of which there are so many, to the table."""
    path, compared = batch.lake.table(name), [*how.key, *how.compared]
    if (
        not (how.for_spark or how.is_null_safe)
        and _is_few(rows, count, path)
        and _has_plain_columns(path, compared)
    ):
        _upsert_held(rows, name, how, batch, counts)
        return
    values: dict[str, str | Column] = dict(how.assigned)
    with tables.merging(rows, name, how.same_row, batch, counts) as merge:
        if how.delete_when is not None:
            merge = merge.whenMatchedDelete(condition=how.delete_when)
        if how.update_when is not None:
            merge = merge.whenMatchedUpdate(condition=how.update_when, set=values)
        if how.insert_when is not None:
            merge = merge.whenNotMatchedInsert(condition=how.insert_when, values=values)
        merge.execute()


def replace(rows: DataFrame, count: int, name: str, where: str, batch: Batch, counts: Counts) -> None:
    """Write the rows, of which there are so many, in the place of those that match; a row that does not match
    is refused.
    """
    path, condition = batch.lake.table(name), TIME.sub(r"'\1T\2Z'", where)
    if "TIMESTAMP" in condition or not _is_few(rows, count, path) or not _has_plain_columns(path, []):
        tables.replace(rows, name, where, batch, counts)
        return
    with (
        tables.writing_held(rows.sparkSession, name, batch),
        delta_commit.committing(path, batch.note(counts), batch.app_id, batch.number) as commit,
    ):
        if commit is not None:
            write_deltalake(
                commit.table, _to_arrow(rows), mode="overwrite", predicate=condition, **commit.said
            )


def overwrite(rows: DataFrame, count: int, name: str, batch: Batch, counts: Counts) -> None:
    """Write the rows, of which there are so many, in the place of the whole table. No transaction id: a
    repeated one gives the same.
    """
    path = batch.lake.table(name)
    if not _is_few(rows, count, path) or not _has_columns(path, rows):
        tables.overwrite(rows, name, batch, counts)
        return
    with _committing(rows, name, batch, counts) as commit:
        if commit is not None:
            write_deltalake(commit.table, _to_arrow(rows), mode="overwrite", **commit.said)


def _upsert_held(rows: DataFrame, name: str, how: Upsert, batch: Batch, counts: Counts) -> None:
    path = batch.lake.table(name)
    with (
        tables.writing_held(rows.sparkSession, name, batch),
        delta_commit.committing(path, batch.note(counts), batch.app_id, batch.number) as commit,
    ):
        if commit is None:
            return
        merge = commit.table.merge(
            _to_arrow(rows), how.same_row, source_alias="new", target_alias="old", **commit.said
        )
        if how.delete_when is not None:
            merge = merge.when_matched_delete(predicate=how.delete_when)
        if how.update_when is not None:
            merge = merge.when_matched_update(updates=how.assigned, predicate=how.update_when)
        if how.insert_when is not None:
            merge = merge.when_not_matched_insert(updates=how.assigned, predicate=how.insert_when)
        merge.execute()


@contextmanager
def _committing(
    rows: DataFrame, name: str, batch: Batch, counts: Counts, app_id: str | None = None
) -> Iterator[delta_commit.Commit | None]:
    path, note = batch.lake.table(name), batch.note(counts)
    with (
        tables.writing_held(rows.sparkSession, name, batch),
        delta_commit.committing(path, note, app_id, batch.number) as commit,
    ):
        yield commit


def _to_arrow(rows: DataFrame) -> "pa.Table":
    """Rows whose nested fields may all be NULL: of others PySpark refuses a struct that is NULL itself."""
    kinds = {
        field.name: field.dataType
        for field in rows.schema
        if isinstance(field.dataType, ArrayType | StructType)
    }
    return rows.withColumns(
        {name: F.col(f"`{name}`").cast(_loosened(kind)) for name, kind in kinds.items()}
    ).toArrow()


def _loosened(kind: DataType) -> DataType:
    if isinstance(kind, ArrayType):
        return ArrayType(_loosened(kind.elementType))
    if isinstance(kind, StructType):
        return StructType([StructField(field.name, _loosened(field.dataType)) for field in kind])
    return kind


def _is_few(rows: DataFrame, count: int, path: str) -> bool:
    spark = rows.sparkSession
    return (
        count <= MOST_ROWS
        and tables.is_driver_enough(spark, path)
        and kept.kept_bytes(spark) <= MOST_KEPT_BYTES
    )


def _has_plain_columns(path: str, compared: Sequence[str]) -> bool:
    """Whether the table is small, and delta-rs surely makes the same of its columns as Spark does."""
    plain = delta_log.plain_files(path)
    if plain is None or plain.size > MOST_BYTES:
        return False
    kinds = _kinds(plain.schema_json)
    return all(map(_is_plain, kinds.values())) and not any(kinds.get(name) in INEXACT for name in compared)


def _is_known_alike(path: str, rows: DataFrame) -> bool:
    """The same for rows that are added, whatever the size of the table. A column that they lack is NULL for
    Spark, and an error for delta-rs.
    """
    schema = delta_log.plain_schema(path)
    kinds = {} if schema is None else _kinds(schema)
    return kinds.keys() == set(rows.columns) and all(map(_is_plain, kinds.values()))


def _kinds(schema_json: str) -> dict[str, Any]:
    return {field["name"]: field["type"] for field in json.loads(schema_json)["fields"]}


def _is_plain(kind: str | Mapping[str, Any]) -> bool:
    if isinstance(kind, str):
        return kind in PLAIN or kind.startswith("decimal(")
    if kind["type"] == "array":
        return _is_plain(kind["elementType"])
    return kind["type"] == "struct" and all(_is_plain(field["type"]) for field in kind["fields"])


def _has_columns(path: str, rows: DataFrame) -> bool:
    """Whether the table is there already, with the columns of these rows."""
    if delta_log.table_version(path) is None or not _has_plain_columns(path, []):
        return False
    known = StructType.fromJson(json.loads(delta_log.schema_json(path)))
    return [(field.name, field.dataType.simpleString()) for field in known] == rows.dtypes
