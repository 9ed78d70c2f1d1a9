"""Text into typed values: the value where the type can hold exactly what the text says, else NULL. Nothing is
rounded, cut or completed.

The grammar of each type is a promise to users: docs/pipeline-file.md, "What fits a type". `float` and
`double` alone take the nearest number, because that is what they are.
"""

from functools import reduce
from operator import and_

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    DoubleType,
    FloatType,
    MapType,
    StringType,
    StructType,
    TimestampType,
)

from spark_jobs.config.types import decimal_precision

INTEGERS = ("tinyint", "smallint", "int", "bigint")
FLOATING = {"float": 7, "double": 15}
"""With the digits that each of them keeps of any whole number."""
MOST_DIGITS = 38
FIRST, BEYOND = "TIMESTAMP '0001-01-01 00:00:00Z'", "TIMESTAMP '+10000-01-01 00:00:00Z'"
FIRST_DAY, LAST_DAY = "DATE '0001-01-01'", "DATE '9999-12-31'"


def _whole(pattern: str) -> str:
    return rf"^[ \t]*(?:{pattern})[ \t]*\z"  # Java's $ would let a line end pass


DIGITS = _whole("[+-]?[0-9]+")
NUMBER = _whole(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
SCIENTIFIC = _whole(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)[eE][+-]?[0-9]{1,4}")
NOT_ZERO = "^[^eE]*[1-9]"
BOOLEAN = _whole("(?i:t|true|y|yes|1|f|false|n|no|0)")
DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
MIDNIGHT = r"(?:[Tt ]00:00(?::00(?:\.0+)?)?[Zz]?)?"
CLOCK = r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6}0*)?)?"
OFFSET = r"(?:[Zz]|[+-][0-9]{2}(?::?[0-9]{2})?)?"
TIMESTAMP = _whole(f"{DATE}(?:[Tt ]{CLOCK}{OFFSET})?")
USUAL_TIMESTAMP = (
    rf"^(?!0000|0001|9999){DATE}[T"
    r" ][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]{1,6})?(?:Z|[+-][0-9]{2}:[0-9]{2})?\z"
)


def fit_text(text: Column, kind: str) -> Column:
    """The value of a simple type, NULL where the text is none of it."""
    if kind == "string":
        return text
    if kind == "boolean":
        return F.when(text.rlike(BOOLEAN), text.try_cast("boolean"))
    if kind == "timestamp":
        return _fit_timestamp(text)
    if kind == "date":
        days = F.when(
            text.rlike(_whole(DATE + MIDNIGHT)),
            F.substring(F.btrim(text, F.lit(" \t")), 1, 10).try_cast("date"),
        )
        return F.when(days >= F.expr(FIRST_DAY), days)
    if kind in FLOATING:
        return _fit_floating(text, kind)
    if kind in INTEGERS:
        return F.when(text.rlike(DIGITS), text.try_cast(kind)).otherwise(
            _fit_decimal(text, MOST_DIGITS, 0).try_cast(kind)
        )
    precision, scale = decimal_precision(kind) or (MOST_DIGITS, 0)
    return _fit_decimal(text, precision, scale)


def is_finite(value: Column) -> Column:
    """Whether a float or double is a number; NULL stays NULL."""
    return ~F.isnan(value) & (F.abs(value) < F.lit(float("inf")))


def is_readable(value: Column, kind: DataType) -> Column | None:
    """Whether every reader can read what Spark has computed: dates and times of the years 1 to 9999, numbers
    that are finite, text that is UTF-8, at any depth. NULL where the value is NULL; None for a type that
    holds nothing of this.
    """
    match kind:
        case FloatType() | DoubleType():
            return is_finite(value)
        case StringType():
            return F.is_valid_utf8(value)
        case DateType():
            return value.between(F.expr(FIRST_DAY), F.expr(LAST_DAY))
        case TimestampType():
            return (value >= F.expr(FIRST)) & (value < F.expr(BEYOND))
        case ArrayType(elementType=inner):
            return _all_readable(value, inner)
        case MapType(keyType=key, valueType=inner):
            parts = [_all_readable(F.map_keys(value), key), _all_readable(F.map_values(value), inner)]
        case StructType(fields=fields):
            parts = [is_readable(value.getField(field.name), field.dataType) for field in fields]
        case _:
            return None
    asked = [F.coalesce(part, F.lit(True)) for part in parts if part is not None]
    return reduce(and_, asked) if asked else None


def _all_readable(values: Column, kind: DataType) -> Column | None:
    if is_readable(F.lit(None), kind) is None:
        return None

    def is_inside(item: Column) -> Column:
        inside = is_readable(item, kind)
        return F.lit(True) if inside is None else F.coalesce(inside, F.lit(True))

    return F.forall(values, is_inside)


def _fit_decimal(text: Column, precision: int, scale: int) -> Column:
    """A cast rounds; so the digits behind the point are counted before it, zeros at the end apart."""
    kind = f"decimal({precision},{scale})"
    plain = _whole(rf"[+-]?(?:[0-9]+(?:\.[0-9]{{0,{scale}}}0*)?|\.[0-9]{{0,{scale}}}0*)")
    is_exact_power = text.rlike(SCIENTIFIC) & (_digits_behind_the_point(text) <= scale)
    return F.when(text.rlike(plain) | is_exact_power, text.try_cast(kind))


def _digits_behind_the_point(text: Column) -> Column:
    """Of a number with an exponent, written out: 1.50e-3 has 4."""
    fraction = _without_zeros_behind(F.regexp_extract(text, r"\.([0-9]*+)[eE]", 1))
    whole = F.regexp_extract(text, r"^[ \t]*[+-]?([0-9]*)", 1)
    exponent = F.regexp_extract(text, "[eE]([+-]?[0-9]+)", 1).try_cast("int")
    trailing_zeros = F.length(whole) - F.length(_without_zeros_behind(whole))
    digits = F.when(F.length(fraction) > 0, F.length(fraction)).otherwise(-trailing_zeros)
    return F.when(text.rlike(NOT_ZERO), digits - exponent).otherwise(F.lit(0))


def _without_zeros_behind(digits: Column) -> Column:
    """Not by a pattern: one begins anew at each zero, and a row of them takes the square of its length."""
    return F.rtrim(digits, F.lit("0"))


def _fit_floating(text: Column, kind: str) -> Column:
    """The nearest number; none where it would be infinite, zero in place of something, or another whole
    number. With an exponent it is taken as a floating number, of which the last digits mean nothing.
    """
    value = F.when(text.rlike(NUMBER), text.try_cast(kind))
    exact = f"decimal({MOST_DIGITS},0)"
    is_long = text.rlike(_whole(rf"[+-]?[0-9]{{{FLOATING[kind] + 1},}}(?:\.0*)?"))
    is_other_whole = is_long & ~value.try_cast(exact).eqNullSafe(text.try_cast(exact))
    is_lost = (value == 0) & text.rlike(NOT_ZERO)
    return F.when(is_finite(value) & ~is_lost & ~is_other_whole, without_sign_of_zero(value, kind))


def without_sign_of_zero(value: Column, kind: str) -> Column:
    """-0.0 is equal to 0.0, and yet another value in a file: of both, which one `max` keeps is chance."""
    return value + F.lit(0).cast(kind)


def _fit_timestamp(text: Column) -> Column:
    """Spark alone would take 12:30 for today, read names of zones, drop digits below microseconds and refuse
    10:00Z.
    """
    spelt_out = F.upper(F.btrim(text, F.lit(" \t")))
    for short, long in (
        (r"([T ][0-9]{2}:[0-9]{2})(?=$|[Z+-])", "$1:00"),
        (r"(:[0-9]{2}(?:\.[0-9]+)?[+-][0-9]{2})$", "$1:00"),
        (r"(:[0-9]{2}(?:\.[0-9]+)?[+-][0-9]{2})([0-9]{2})$", "$1:$2"),
    ):
        spelt_out = F.regexp_replace(spelt_out, short, long)
    at = F.when(text.rlike(TIMESTAMP), spelt_out.try_cast("timestamp"))
    is_usual = text.rlike(USUAL_TIMESTAMP)  # nearly always: no year near the ends, nothing to spell out
    return F.when(is_usual, text.try_cast("timestamp")).when(
        (at >= F.expr(FIRST)) & (at < F.expr(BEYOND)), at
    )
