"""Two frames as bags of rows. What enters: a table and its recomputation. What leaves: how many rows differ,
and the first of them by key.

Rows are counted per distinct row on both sides, so that a row too many is found as well as a wrong one; only
those with unequal counts are then paired by their key. Nothing but counts and the first rows comes to the
driver.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F
from pyspark.sql.types import BinaryType, DataType, NullType, StringType, VariantType

from spark_jobs.config.sensitive import MASK
from spark_jobs.verify.result import Difference, Kind, TableCheck, shown
from spark_jobs.verify.rows import WHOLE, is_nested
from spark_jobs.verify.targets import Target

FETCHED_LENGTH = 200
"""Characters of a value that are fetched in order to be shown."""


@dataclass(frozen=True)
class Compared:
    """A column under comparison: the frames below call it by `alias`, whatever its name. Nested values are
    compared as JSON.
    """

    name: str
    alias: str
    kind: DataType
    is_key: bool
    is_hidden: bool

    @property
    def is_text(self) -> bool:
        return isinstance(self.kind, StringType)

    def text(self, value: Column) -> Column:
        readable = F.hex(value) if isinstance(self.kind, BinaryType) else value.cast("string")
        return F.substring(readable, 1, FETCHED_LENGTH)

    def shown(self, value: str | None) -> str:
        return MASK if self.is_hidden and value is not None else shown(value, self.is_text)


def compare(target: Target, rows: int, hidden: Collection[str] = ()) -> TableCheck:
    """Count what differs; `rows` says how many of the first differing rows are fetched, `hidden` which
    columns' values are masked.
    """
    standing = target.recomputed.limit(0) if target.standing is None else target.standing
    columns = _compared(standing, target, hidden)
    counted = _count_rows(standing, target.recomputed, columns)
    is_unequal = F.col("_here") != F.col("_again")
    here, again, unequal = counted.agg(F.sum("_here"), F.sum("_again"), F.count_if(is_unequal)).collect()[0]
    missing = ("there is no such table",) if target.standing is None and again else ()
    problems = (*missing, *_problems_of_columns(standing, target))
    check = TableCheck(target.name, rows=here or 0, recomputed=again or 0, problems=problems)
    if not unequal:
        return check
    pairs = _pair(counted.where(is_unequal), columns).persist()
    try:
        kinds = {row["_kind"]: row["count"] for row in pairs.groupBy("_kind").count().collect()}
        first = tuple(_difference(row, columns) for row in _first_rows(pairs, columns, rows))
    finally:
        pairs.unpersist()
    return replace(check, first=first, **{kind.value: kinds.get(kind.value, 0) for kind in Kind})


def _problems_of_columns(standing: DataFrame, target: Target) -> list[str]:
    """Columns that are not there, and those of another type. The system's own are compared where both have
    them.
    """
    here, again = _types(standing), _types(target.recomputed)
    problems = [
        f"the table has no column {name!r}"
        for name in target.columns
        if name not in here and not name.startswith("_")
    ]
    problems += [
        f"the column {name!r} is not recomputed"
        for name in target.columns
        if name not in again and not name.startswith("_")
    ]
    both = [name for name in target.columns if name in here and name in again and here[name] != again[name]]
    return problems + [f"the column {name!r} is {here[name]}, recomputed {again[name]}" for name in both]


def _types(frame: DataFrame) -> dict[str, str]:
    """By their text, which leaves out whether a value may be NULL."""
    return {
        field.name: field.dataType.simpleString()
        for field in frame.schema.fields
        if not isinstance(field.dataType, NullType)
    }


def _compared(standing: DataFrame, target: Target, hidden: Collection[str]) -> list[Compared]:
    here, again = _types(standing), _types(target.recomputed)
    found: list[Compared] = []
    for name in (name for name in target.columns if name in here and name in again):
        kind = standing.schema[name].dataType if here[name] == again[name] else StringType()
        found.append(
            Compared(name, f"c{len(found)}", kind, target.key is None or name in target.key, name in hidden)
        )
    return found


def _count_rows(standing: DataFrame, recomputed: DataFrame, columns: Sequence[Compared]) -> DataFrame:
    """Each distinct row with how often it is `_here` and `_again`; NULL equals NULL, as groups have it."""
    here = standing.select(
        *(_value(standing, column) for column in columns), F.lit(1).alias("_here"), F.lit(0).alias("_again")
    )
    again = recomputed.select(
        *(_value(recomputed, column) for column in columns), F.lit(0).alias("_here"), F.lit(1).alias("_again")
    )
    counts = here.unionAll(again).groupBy(*(column.alias for column in columns))
    return counts.agg(F.sum("_here").alias("_here"), F.sum("_again").alias("_again"))


def _value(frame: DataFrame, column: Compared) -> Column:
    value = F.col(f"`{column.name.replace('`', '``')}`")
    kind = frame.schema[column.name].dataType
    if is_nested(kind) or isinstance(kind, VariantType):
        value = F.to_json(F.struct(value.alias("_")), WHOLE)
    elif isinstance(column.kind, StringType):  # also where the two sides have different types
        value = value.cast("string")
    return value.alias(column.alias)


def _pair(unequal: DataFrame, columns: Sequence[Compared]) -> DataFrame:
    """One row per key that differs: its `_kind`, and the values here and again."""
    values = F.struct(F.lit(1).alias("_"), *(column.alias for column in columns if not column.is_key))
    here = F.max(F.when(F.col("_here") > F.col("_again"), values))
    again = F.max(F.when(F.col("_here") < F.col("_again"), values))
    pairs = unequal.groupBy(*(column.alias for column in columns if column.is_key)).agg(
        here.alias("_here"), again.alias("_again")
    )
    kind = (
        F.when(F.col("_again").isNull(), Kind.ONLY_HERE)
        .when(F.col("_here").isNull(), Kind.ONLY_RECOMPUTED)
        .otherwise(Kind.DIFFERENT)
    )
    return pairs.withColumn("_kind", kind)


def _first_rows(pairs: DataFrame, columns: Sequence[Compared], rows: int) -> list[Row]:
    """The first by key, every value as text: times may lie outside of Python's years."""
    keys = [column for column in columns if column.is_key]
    first = pairs.orderBy(F.lit(1), *(column.alias for column in keys)).limit(rows)
    texts = [column.text(F.col(column.alias)).alias(column.alias) for column in keys]
    for column in (column for column in columns if not column.is_key):
        here, again = F.col(f"_here.{column.alias}"), F.col(f"_again.{column.alias}")
        is_other = F.col("_here").isNull() | F.col("_again").isNull() | ~here.eqNullSafe(again)
        texts += [
            column.text(here).alias(f"{column.alias}_here"),
            column.text(again).alias(f"{column.alias}_again"),
        ]
        texts += [is_other.alias(f"{column.alias}_is_other")]
    return first.select("_kind", *texts).collect()


def _difference(row: Row, columns: Sequence[Compared]) -> Difference:
    kind, others = Kind(row["_kind"]), [column for column in columns if not column.is_key]
    found = {}
    for column in (column for column in others if row[f"{column.alias}_is_other"]):
        here, again = (column.shown(row[f"{column.alias}_{side}"]) for side in ("here", "again"))
        found[column.name] = (
            None if kind is Kind.ONLY_RECOMPUTED else here,
            None if kind is Kind.ONLY_HERE else again,
        )
    return Difference(
        kind, {column.name: column.shown(row[column.alias]) for column in columns if column.is_key}, found
    )
