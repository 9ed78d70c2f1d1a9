"""SQL of a pipeline file over one row, evaluated strictly: an expression that fails is a fact about the row,
and stops no batch.

Each expression is built in ANSI mode, where nothing wraps, truncates or turns into NULL, and evaluated in
Spark's TryEval inside a struct: the struct is NULL exactly where the expression failed, and NULL inside it
where its value is NULL.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import reduce
from operator import and_
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DoubleType,
    FloatType,
    IntegralType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from spark_jobs.config.sql import calls_in
from spark_jobs.config.types import decimal_precision, is_complex
from spark_jobs.lake.queries import is_in_lambda, nodes_of_column, refuse_clocks
from spark_jobs.silver.fitting import (
    FLOATING,
    INTEGERS,
    fit_text,
    is_finite,
    is_readable,
    without_sign_of_zero,
)
from spark_jobs.silver.nested import fit_nested, nested_in_text

STRICT = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.decimalOperations.allowPrecisionLoss": "false",
    "spark.sql.legacy.decimal.retainFractionDigitsOnTruncate": "true",
}
"""Else a decimal loses digits where a result might have more than 38: the last of 0.0000000001 + 1, and those
of `coalesce(x, n)`, where one type must hold them all.
"""
VALUE = "value"
EXACT_WHOLE = {"float": 2**24, "double": 2**53}
"""Up to here each whole number is one of the type."""
ROUNDING = {"ceil", "ceiling", "floor"}


class CannotHold(ValueError):
    """An expression whose values a column of its type can never hold, as of an object in a date."""

    def __init__(self, name: str, sql: str, found: str, kind: str) -> None:
        hint = (
            "write to_json(…) for its text, or declare the column as what it is"
            if kind == "string"
            else "declare the column as what it is, or take out of it, or convert, what is meant"
        )
        super().__init__(
            f"the SQL {sql!r} of the column {name!r} gives {found}, and a column of type {kind} cannot hold"
            f" that; {hint}"
        )
        self.name, self.sql, self.found, self.kind = name, sql, found, kind


def with_results(rows: DataFrame, expressions: Mapping[str, str]) -> DataFrame:
    """Adds a column for each expression, by its name: a struct with its `value`, NULL where it fails."""
    if not expressions:
        return rows
    session = rows.sparkSession
    with ansi(session):
        results = rows.select(
            "*", *(_tried(session, F.expr(sql)).alias(name) for name, sql in expressions.items())
        )
    for name, sql in expressions.items():
        refuse_clocks(results, sql, name)
    return results


def has_failed(result: str) -> Column:
    return F.col(result).isNull()


def value_of(result: str) -> Column:
    return F.col(result).getField(VALUE)


def fit_value(value: Column, found: DataType, kind: str, record: Column) -> Column:
    """The value as a declared type, NULL where that type cannot hold it exactly; of floating numbers it holds
    the nearest.
    """
    if isinstance(found, StringType):
        text = as_text(value)
        return fit_nested(nested_in_text(text), kind, record) if is_complex(kind) else fit_text(text, kind)
    if isinstance(found, BinaryType) and kind == "string":
        return as_text(value)
    typed = _cast_exactly(value, found, kind)
    asked = None if kind == "string" or kind in FLOATING else is_readable(typed, DataType.fromDDL(kind))
    return typed if asked is None else F.when(asked, typed)


def keeps_digits(results: DataFrame, name: str) -> Column | None:
    """Whether the numbers that a result makes floating ones by itself, as `a / b` does of whole ones, are
    still the same: 9007199254740993 is not. What is written as a cast, or stands in a lambda, is not asked.
    Never NULL; None where there are no such numbers.
    """
    session = results.sparkSession
    found = [_tried(session, is_same).getField(VALUE) for is_same in _made_floating(results, name)]
    return reduce(and_, (F.coalesce(one, F.lit(True)) for one in found)) if found else None


def _made_floating(results: DataFrame, name: str) -> Iterator[Column]:
    """For each of these numbers whether it is the same as a floating one."""
    jvm: Any = results.sparkSession._jvm
    utils = jvm.org.apache.spark.sql.classic.ExpressionUtils
    written = jvm.org.apache.spark.sql.catalyst.expressions.Cast.USER_SPECIFIED_CAST()
    for cast in nodes_of_column(results, name):
        made = str(cast.dataType().sql()).lower()
        if cast.getClass().getSimpleName() != "Cast" or made not in EXACT_WHOLE:
            continue
        number, kind = cast.child(), str(cast.child().dataType().sql())
        if number.foldable() or cast.getTagValue(written).isDefined() or is_in_lambda(number):
            continue
        value = type(F.lit(0))(utils.column(number))
        if kind in ("INT", "BIGINT"):
            yield value.between(-EXACT_WHOLE[made], EXACT_WHOLE[made])
        elif kind.startswith("DECIMAL"):
            yield value.cast(made).try_cast(kind).eqNullSafe(value)
        elif kind == "STRING":
            yield value.isNull() | fit_text(value, made).isNotNull()


def between_bounds(value: Column, found: DataType, sql: str) -> Column:
    """NULL for what `ceil` and `floor` say of a double beyond bigint: its bounds."""
    if not isinstance(found, LongType) or not {name for name, _ in calls_in(sql)} & ROUNDING:
        return value
    return F.when(~value.isin(-(2**63), 2**63 - 1), value)


def as_text(value: Column) -> Column:
    """Bytes as the text that they are; NULL where they are none, as what is decoded from base64 may be."""
    text = value.cast("string")
    return F.when(F.is_valid_utf8(text), text)


def _cast_exactly(value: Column, found: DataType, kind: str) -> Column:
    if found.simpleString() == kind and kind not in FLOATING:
        return value
    value, found = _in_order(value, found, DataType.fromDDL(kind)) if is_complex(kind) else (value, found)
    there = value.try_cast(kind)
    back = there.try_cast(found.simpleString())
    is_same = (
        back.cast("string").eqNullSafe(value.cast("string")) if is_complex(kind) else back.eqNullSafe(value)
    )
    if kind in FLOATING and not isinstance(found, IntegralType):
        is_same = is_finite(there) & ((there != 0) | (value == 0))
        there = without_sign_of_zero(there, kind)
    elif isinstance(found, FloatType | DoubleType) and kind in INTEGERS:
        is_same = is_same & (F.abs(value) <= EXACT_WHOLE[found.simpleString()])
    elif isinstance(found, FloatType | DoubleType) and kind.startswith("decimal"):
        is_same = back.eqNullSafe(value) & is_finite(value) & _is_the_only_decimal(value, found, kind)
    return F.when(is_same, there)


def _is_the_only_decimal(value: Column, found: DataType, kind: str) -> Column:
    """Whether no other decimal of this type is the same floating number. Beyond its digits a type may have
    more than that, and compares with the number as text: 0.1 is 0.1, and has no more digits than that.
    """
    name = found.simpleString()
    _, scale = decimal_precision(kind) or (0, 0)
    is_alone = F.abs(value) * F.lit(10.0**scale) < EXACT_WHOLE[name] / 2
    if scale <= FLOATING[name]:
        return is_alone
    written = F.format_string(f"%.{FLOATING[name] - 1}e", value)
    return is_alone | (written.cast(name) == value)


def _in_order(value: Column, found: DataType, declared: DataType) -> tuple[Column, DataType]:
    """Fields of structs in the declared order, where the names are the declared ones: a cast goes by place
    alone, and would swap them.
    """
    if isinstance(found, ArrayType) and isinstance(declared, ArrayType):
        inner = _type_in_order(found.elementType, declared.elementType)
        if inner != found.elementType:
            moved = F.transform(
                value, lambda item: _in_order(item, found.elementType, declared.elementType)[0]
            )
            return moved, ArrayType(inner, found.containsNull)
    if isinstance(found, MapType) and isinstance(declared, MapType):
        inner = _type_in_order(found.valueType, declared.valueType)
        if inner != found.valueType:
            moved = F.transform_values(
                value, lambda _, item: _in_order(item, found.valueType, declared.valueType)[0]
            )
            return moved, MapType(found.keyType, inner, found.valueContainsNull)
    if isinstance(found, StructType) and isinstance(declared, StructType):
        return _struct_in_order(value, found, declared)
    return value, found


def _struct_in_order(value: Column, found: StructType, declared: StructType) -> tuple[Column, DataType]:
    by_name = {field.name.lower(): field for field in found.fields}
    has_names = sorted(by_name) == sorted(name.lower() for name in declared.names) and len(by_name) == len(
        found.fields
    )
    pairs = [
        (by_name[field.name.lower()] if has_names else old, field)
        for old, field in zip(found.fields, declared.fields, strict=False)
    ]
    moved = [
        (old, *_in_order(value.getField(old.name), old.dataType, field.dataType)) for old, field in pairs
    ]
    kind = StructType([StructField(old.name, inner) for old, _, inner in moved])
    if len(found.fields) != len(declared.fields) or kind.simpleString() == found.simpleString():
        return value, found
    return F.when(value.isNotNull(), F.struct(*(part.alias(old.name) for old, part, _ in moved))), kind


def _type_in_order(found: DataType, declared: DataType) -> DataType:
    return _in_order(F.lit(None), found, declared)[1]


def _tried(session: SparkSession, expression: Column) -> Column:
    """In a lambda, whose inside code generation leaves alone: else it would take an expression that occurs
    twice out of its TryEval. And in a branch: else Spark computes a constant in it while it plans, and what
    fails there (`n = 'x'`) fails all rows.
    """
    jvm: Any = session._jvm
    expressions = jvm.org.apache.spark.sql.classic.ExpressionUtils

    def attempt(always_zero: Column) -> Column:
        branch = F.when(always_zero >= 0, F.struct(expression.alias(VALUE)))
        inside = expressions.expression(branch._jc)
        return type(expression)(
            expressions.column(jvm.org.apache.spark.sql.catalyst.expressions.TryEval(inside))
        )

    return F.get(F.transform(F.array(F.lit(0)), attempt), F.lit(0))


@contextmanager
def ansi(session: SparkSession) -> Iterator[None]:
    """What is built within keeps these ways; frames are analysed as they are made."""
    before = {name: str(session.conf.get(name)) for name in STRICT}
    _configure(session, STRICT)
    try:
        yield
    finally:
        _configure(session, before)


def _configure(session: SparkSession, settings: Mapping[str, str]) -> None:
    for name, value in settings.items():
        session.conf.set(name, value)
