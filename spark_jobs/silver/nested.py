"""Arrays, maps and structs from a variant: each value inside must fit its own type, as a column's must; one
that does not refuses all.
"""

from functools import lru_cache, reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DecimalType,
    IntegralType,
    MapType,
    StringType,
    StructType,
)

from spark_jobs.silver.fitting import FLOATING, fit_text
from spark_jobs.silver.json_record import (
    LONG_NUMBER,
    as_array,
    as_object,
    first_of,
    is_lost,
    is_one,
    is_there,
    parse_whole,
    repeated_field,
)


def fit_nested(value: Column, kind: str, record: Column, whole: Column | None = None) -> Column:
    """The typed value; NULL where any part of it does not fit, and where there is none.

    Nearly every value is taken whole by Spark's own cast, and looked at part by part only where that does not
    say what the value says. `whole` is what `take_whole` gave, for callers that have it in a column: it is
    asked for twice, and would be computed twice.
    """
    careful = fit_parts(value, kind, record)
    if not may_be_taken_whole(kind):
        return careful
    quick = take_whole(value, kind) if whole is None else whole
    return F.when(_says_the_same(quick, value) & ~record.rlike(LONG_NUMBER), quick).otherwise(careful)


def may_be_taken_whole(kind: str) -> bool:
    """Whether its parts, written out again, read as they were written: times and floating numbers do not, and
    maps have keys of a type.
    """
    return _are_plain(_parsed_type(kind))


def take_whole(value: Column, kind: str) -> Column:
    """The value by Spark's cast, which may round, cut or leave out: what `fit_nested` compares with the value
    itself.
    """
    return F.try_variant_get(value, "$", kind)


def fit_parts(value: Column, kind: str, record: Column) -> Column:
    """The same by the grammar of each part alone."""
    parsed = _parsed_type(kind)
    return F.when(is_there(value) & _fits(value, parsed, record), _typed(value, parsed)).cast(kind)


def nested_in_text(text: Column) -> Column:
    """The variant that a text such as ["a","b"] holds; NULL where it is none."""
    parsed = parse_whole(text, "variant")
    return F.when(is_one(parsed, "variant"), first_of(parsed))


def _are_plain(kind: DataType) -> bool:
    if isinstance(kind, ArrayType):
        return _are_plain(kind.elementType)
    if isinstance(kind, StructType):
        return all(_are_plain(field.dataType) for field in kind.fields)
    return isinstance(kind, StringType | IntegralType | DecimalType | BooleanType)


def _says_the_same(typed: Column, value: Column) -> Column:
    """Whether the typed value, written out, is the value written out: nothing was rounded, cut, left out or
    read as something else.

    Never NULL. Of a double it may be that digits were lost before: who asks looks at the record.
    """
    return F.coalesce(F.to_variant_object(typed).cast("string") == value.cast("string"), F.lit(False))


@lru_cache
def _parsed_type(kind: str) -> DataType:
    return DataType.fromDDL(kind)


def _fits(value: Column, kind: DataType, record: Column) -> Column:
    """Never NULL."""
    is_right: Column
    if isinstance(kind, ArrayType):
        items, inner = as_array(value), kind.elementType
        is_right = items.isNotNull() & F.forall(items, lambda item: _fits(item, inner, record))
    elif isinstance(kind, MapType):
        is_right = _fits_map(as_object(value), kind, record)
    elif isinstance(kind, StructType):
        fields = as_object(value)
        parts = [_fits(fields.getItem(field.name), field.dataType, record) for field in kind.fields]
        is_right = fields.isNotNull() & repeated_field(fields, kind.names).isNull() & reduce(and_, parts)
    else:
        name = kind.simpleString()
        is_right = _fit(value, name).isNotNull() & ~is_lost(value, record, is_floating=name in FLOATING)
    return ~is_there(value) | F.coalesce(is_right, F.lit(False))


def _fits_map(fields: Column, kind: MapType, record: Column) -> Column:
    """Names that are one key in another type are there twice: '1' and '01'."""
    keys, inner = F.transform(F.map_keys(fields), lambda name: _key(name, kind)), kind.valueType
    are_keys = F.forall(keys, lambda key: key.isNotNull()) & (F.size(F.array_distinct(keys)) == F.size(keys))
    return (
        fields.isNotNull()
        & are_keys
        & F.forall(F.map_values(fields), lambda item: _fits(item, inner, record))
    )


def _typed(value: Column, kind: DataType) -> Column:
    if isinstance(kind, ArrayType):
        return F.transform(as_array(value), lambda item: _typed(item, kind.elementType))
    if isinstance(kind, MapType):
        pairs = F.map_entries(as_object(value))
        typed = F.transform(
            pairs, lambda pair: F.struct(_key(pair["key"], kind), _typed(pair["value"], kind.valueType))
        )
        return F.map_from_entries(typed)
    if isinstance(kind, StructType):
        fields = as_object(value)
        parts = [
            _typed(fields.getItem(field.name), field.dataType).alias(field.name) for field in kind.fields
        ]
        return F.when(fields.isNotNull(), F.struct(*parts))
    return _fit(value, kind.simpleString())


def _key(name: Column, kind: MapType) -> Column:
    return fit_text(name, kind.keyType.simpleString())


def _fit(value: Column, name: str) -> Column:
    return fit_text(value.cast("string"), name)
