"""JSON records taken apart without a change: numbers keep their digits, and what is ambiguous is named instead of decided.

An object is a map of variants by the names of its fields: it shows a name that is there twice, where a struct would take the last one.
"""

from collections.abc import Iterable
from functools import reduce
from operator import or_
from secrets import token_hex

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.silver.json_faults import SEVERAL_OBJECTS, say_fault

# A parser stops at the end of the first value. So a record is parsed as the first of two elements of an array: what follows it is an error,
# or makes more than two. No record can close the array itself and go unnoticed, because none knows this name. It is in no result.
KEY = f"k{token_hex(8)}"
OBJECT = "map<string,variant>"
STARTS_AS_OBJECT = r"^\s*\{"
LONG_NUMBER = r"[0-9](?:\.?[0-9]){15}|[eE][+-]?[0-9]{3}"
WITH_DOUBLES = "(?:^|: |ARRAY<)(?:DOUBLE|VARIANT)"
NOT_PLAIN = r"[^ -@\[-~]"
"""What is no ASCII, or a capital letter of it: names without it are the same without case only if they are the same."""
OTHER_SHAPE = "the record has another shape than its columns expect"
FIELD_TWICE = "an object of the record has a field twice"
HALF_A_CHARACTER = "the text holds half a character (a lone surrogate such as \\ud800)"


def parse_whole(text: Column, element: str = OBJECT) -> Column:
    """Parsed as `element`; ask `first_of`, `is_one`."""
    wrapped = F.concat(F.lit(f'{{"{KEY}":['), text, F.lit(f',{{"{KEY}":0}}]}}'))
    options = {"columnNameOfCorruptRecord": "_broken", "allowSingleQuotes": "false"}
    return F.from_json(wrapped, f"{KEY} array<{element}>, _broken string", options)


def first_of(parsed: Column) -> Column:
    return F.get(parsed.getField(KEY), F.lit(0))


def is_one(parsed: Column, element: str = OBJECT) -> Column:
    """Whether the text was one value of the element's type, and nothing else. Never NULL."""
    elements = parsed.getField(KEY)
    last = F.get(elements, F.lit(1))
    marker = last.getItem(KEY) if element != "variant" else F.try_variant_get(last, f"$.{KEY}", "int")
    is_whole = parsed.getField("_broken").isNull() & (F.size(elements) == 2) & marker.isNotNull() & first_of(parsed).isNotNull()
    return F.coalesce(is_whole, F.lit(False))


def as_object(value: Column) -> Column:
    return F.try_variant_get(value, "$", OBJECT)


def as_array(value: Column) -> Column:
    return F.try_variant_get(value, "$", "array<variant>")


def is_there(value: Column) -> Column:
    """Neither absent nor null. Never NULL."""
    return value.isNotNull() & ~F.is_variant_null(value)


def repeated_field(fields: Column, taken: Iterable[str]) -> Column:
    """What to say of an object in which a taken field is there twice, in whatever case, or any other in the same; else NULL."""
    names = F.map_keys(fields)
    is_same = F.size(F.array_distinct(names)) < F.size(names)
    is_same_without_case = F.size(F.array_distinct(F.transform(names, F.lower))) < F.size(names)
    # Not asked of plain names, which most records have: a lambda for each record, and Spark's first `lower` takes a second of a process.
    are_plain = ~F.array_join(names, " ").rlike(NOT_PLAIN)
    is_suspect = F.when(are_plain, is_same).otherwise(is_same_without_case)
    said = F.lit(None).cast("string")
    if several := [_several(names, name) for name in dict.fromkeys(taken)]:
        said = F.coalesce(*several)
    return F.when(is_suspect, F.coalesce(said, F.when(is_same, F.lit(FIELD_TWICE))))


def _several(names: Column, name: str) -> Column:
    count = F.size(F.filter(names, lambda found: F.lower(found) == name.lower()))
    return F.when(count > 1, F.lit(f"the record has several fields {name!r} (names are compared without case)"))


def starts_as_object(record: Column) -> Column:
    return record.startswith("{") | record.rlike(STARTS_AS_OBJECT)


def unreadable_record(record: Column) -> Column:
    """What to say of a text that is not one object. Parsed in a lenient way it may be one that has a field twice, or several."""
    apart = F.regexp_replace(record, r"\}\s*\{", "},{")  # objects side by side become a list of them
    lenient = parse_whole(apart, "map<string,string>")
    is_repeated = is_one(lenient) & starts_as_object(record) & (apart == record)
    is_several = lenient.getField("_broken").isNull() & (F.size(lenient.getField(KEY)) > 2)
    return F.when(is_repeated, F.lit(FIELD_TWICE)).when(is_several, F.lit(SEVERAL_OBJECTS)).otherwise(say_fault(record))


def has_half_a_character(text: Column) -> Column:
    """Whether an escape names one half of a pair alone: Spark would put a question mark in its place."""
    single = F.regexp_replace(text, r"\\\\", " ")
    alone = F.regexp_replace(single, r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}", " ")
    return (text.contains("\\ud") | text.contains("\\uD")) & alone.rlike(r"\\u[dD][89a-fA-F]")


def is_lost(value: Column, record: Column, *, is_floating: bool = False) -> Column:
    """Whether digits of a number were lost: one with an exponent, or longer than 38 digits, is parsed as a double. Never NULL.

    The text is not at hand; so such a number is doubted in a record that has a long number anywhere. Where a double is wanted, the nearest
    one is right, unless it is zero. One beyond the range of doubles is an infinity by now.
    """
    is_doubtful = may_be_lost(value.cast("string"), is_floating=is_floating)
    return F.coalesce(is_doubtful & has_doubles(value) & record.rlike(LONG_NUMBER), F.lit(False))


def may_be_lost(text: Column, *, is_floating: bool) -> Column:
    """What the text of a double looks like that lost digits; NULL where there is none."""
    return text.isin("0.0", "-0.0") if is_floating else text.contains(".") | text.contains("Infinity")


def has_doubles(value: Column) -> Column:
    """Whether it is a double, or an object or array with one in it, which a text column takes: of mixed values Spark names no type."""
    return F.schema_of_variant(value).rlike(WITH_DOUBLES)


def any_of(conditions: Iterable[Column]) -> Column:
    return reduce(or_, conditions, F.lit(False))
