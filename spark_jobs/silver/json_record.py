"""JSON records taken apart without a change: numbers keep their digits, and what is ambiguous is named
instead of decided.

An object is a map of variants by the names of its fields: it shows a name that is there twice, where a struct
would take the last one.
"""

import json
from collections.abc import Iterable
from functools import reduce
from operator import or_
from secrets import token_hex

from pyspark.sql import Column
from pyspark.sql import functions as F

# Why a text is not one JSON object, in words for the person who looks at quarantine. Asked only of a record
# that is none. A parser of Spark's says that a text is broken, not where. So the text is looked at without
# what stands within its quotes: outside of them JSON has brackets, commas, colons, numbers and three words,
# and whatever else is there is the fault. The first fault of the list is named. Words only: no value of the
# record is part of them. The list is one constant of the plan, whatever its length: a branch for each would
# cost every batch some time of planning. The lambda around it keeps generated code from asking good records
# as well. Each pattern takes time in proportion to the text, and repeats no group but possessively, which
# Java does without calling itself: a record may be long, and made on purpose.

NOT_ONE_OBJECT = "not one JSON object"
SEVERAL_OBJECTS = f"{NOT_ONE_OBJECT}: several objects in one line, where each has a line of its own"
DEEPEST, LONGEST_NAME, LONGEST_NUMBER, LONGEST_TEXT = 998, 50_000, 1_000, 20_000_000
"""As far as Spark's parser goes; two levels of its thousand are the array around a record (see
json_record.py).
"""

RECORD, PLAIN, BARE, COUNTS = range(4)
"""What a pattern is asked of: the record; the same without escapes, so that every quote begins or ends a
text; the same with nothing within quotes; with which character it begins if not with {, and how many more {
it has than }, and [ than ].
"""
Fault = tuple[int, str, str]
FAULTS: list[Fault] = [
    (
        RECORD,
        r"^\x00?[^\x00]\x00[^\x00]\x00",
        "it is UTF-16 text, every other byte is zero: land it as UTF-8",
    ),
    (RECORD, r"\x00", "it holds zero bytes: it was not written to its end, or is no text"),
    (RECORD, r"^\x{FEFF}", "a byte order mark stands before it: files were put together"),
    (
        BARE,
        r"\}[^\S\r]*+\r\s*+\{",
        "several objects with carriage returns between them: lines end with a line feed",
    ),
    (COUNTS, r"^\S.*-", "its beginning is missing: it closes brackets that it does not open"),
    (COUNTS, r"^\[.*[1-9]", "it is an array that goes on in other lines: write one object a line"),
    (BARE, r"^\s*\[", "it is an array: write its objects one a line"),
    (RECORD, r'^\s*"\s*\{', "it is an object written as text: it was encoded twice"),
    (BARE, r'^\s*""\s*$', "it is a text in quotes"),
    (BARE, r"^\s*[+-]?[0-9.][0-9.eE+-]*\s*$", "it is a number"),
    (BARE, r"^\s*(?:true|false|null)\s*$", "it is true, false or null"),
    (BARE, r"^\s*<", "it seems to be XML or HTML"),
    (COUNTS, r"^\S", "it does not begin with {"),
    (PLAIN, r'^[^"]*+(?:"[^"]*+"[^"]*+)*+"', "a quote is opened and never closed: the line may be cut"),
    (COUNTS, r" [1-9]", "a bracket is opened and never closed: the line may be cut"),
    (COUNTS, r" -", "a bracket is closed that was never opened"),
    (BARE, r",\s*$", "a comma follows it: write one object a line, not a list"),
    (BARE, r"\}\s*\{", "a comma is missing between two objects"),
    (BARE, r",\s*[,}\]]|[{\[]\s*,", "a comma has nothing behind or before it"),
    (BARE, r"\x27", "it has single quotes: names and texts have double ones"),
    (BARE, "[\u00ab\u00bb\u2018-\u201e]", "it has typographic quotes: names and texts have plain ones"),
    (BARE, r"/[/*]|#", "it has a comment"),
    (BARE, r"[^}\s]\s*$", "text follows the object"),
    (BARE, r"[{,]\s*[A-Za-z_$][\w$]*+\s*:", "it has a name without quotes"),
    (
        BARE,
        r"[:,\[]\s*(?:True|TRUE|False|FALSE|None|NULL|Null)",
        "it has True, False or None, which JSON writes as true, false and null",
    ),
    (BARE, r"[:,\[]\s*(?!true|false|null|NaN|-?Inf|-?INF)-?[A-Za-z_$]", "it has a text without quotes"),
    (
        BARE,
        rf"(?<![0-9.eE+-])[0-9.eE+-]{{{LONGEST_NUMBER + 1}}}",
        f"it has a number of more than {LONGEST_NUMBER:,} characters",
    ),
    (
        BARE,
        r"[:,\[]\s*(?:\+(?!I)|\.|-?0[0-9xX]|-(?![0-9I])|-?[0-9]++\.(?![0-9]))",
        "it has a number in a form that JSON does not have, such as 007, +1, .5 or 0x10",
    ),
    (
        PLAIN,
        r'^[^"]*+(?:"[^"\x00-\x1f]*+"[^"]*+)*+"[^"\x00-\x1f]*+[\x00-\x1f]|[\x01-\x08\x0b\x0c\x0e-\x1f]',
        r"it has a control character, which JSON writes as an escape such as \t",
    ),
    (
        RECORD,
        r'^[^\\]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^\\]*+)*+\\',
        r"it has an escape that JSON does not have, such as \x",
    ),
    (
        PLAIN,
        rf'"[^"]{{{LONGEST_NAME + 1},}}+"\s*:',
        f"the name of a field has more than {LONGEST_NAME:,} characters",
    ),
    (PLAIN, rf'"[^"]{{{LONGEST_TEXT + 1},}}+"', f"it has a text of more than {LONGEST_TEXT:,} characters"),
    (BARE, rf"[\[{{](?:[^\[\]{{}}]*+[\[{{]){{{DEEPEST}}}+", f"it is nested more than {DEEPEST} deep"),
    (BARE, r'[^\s{,:]\s*""\s*:', "a comma is missing before a name"),
    (BARE, r'\{\s*""\s*[^\s:]|,\s*""\s*\}', "a colon is missing behind a name"),
    (BARE, r":\s*[,}\]]", "a value is missing behind a name"),
    (BARE, r'(?:""|[0-9el}\]])\s++(?:""|[-0-9tfn\[{])', "a comma is missing between two values"),
    (BARE, r'[^\s{}\[\]:,"0-9A-Za-z.+-]', "it has a character that is none of JSON"),
    (
        BARE,
        r'""\s*+[^\s,:}\]]',
        r"text stands behind a closing quote: a quote within a text is written \"",
    ),
    (
        BARE,
        r"[:,\[]\s*+(?!-?[0-9]++(?:\.[0-9]++)?+(?:[eE][+-]?+[0-9]++)?+\s*+[,}\]])-?[0-9]",
        "it has a value that begins as a number and is none, such as 2026-01-01 or 10L",
    ),
    (BARE, r'[^"\s]\s*+:', "a colon stands behind what is no name in quotes"),
    (BARE, r'\{\s*+[^\s"}]', "what follows a { is no name in quotes"),
]
"""Asked of what, for which pattern, and what is said. In this order: those behind another one suppose that it
was not found.
"""


def say_fault(record: Column) -> Column:
    """What is wrong with a text that is not one JSON object."""
    plain = F.regexp_replace(record, r"\\[\s\S]", "_")
    bare = F.regexp_replace(plain, r'"[^"]*"', '""')
    texts = F.transform(F.array(bare), lambda found: F.array(record, plain, found, _count(found)))
    return F.coalesce(F.get(F.transform(texts, _first_of), F.lit(0)), F.lit(NOT_ONE_OBJECT))


def _count(bare: Column) -> Column:
    braces, brackets = (
        _length_without(bare, end) - _length_without(bare, start) for start, end in ("{}", "[]")
    )
    return F.concat_ws(" ", F.regexp_extract(bare, r"^\s*([^{\s]?)", 1), braces, brackets)


def _length_without(bare: Column, character: str) -> Column:
    return F.length(F.replace(bare, F.lit(character)))


def _first_of(texts: Column) -> Column:
    listed = json.dumps(
        [{"of": of, "pattern": pattern, "said": f"{NOT_ONE_OBJECT}: {said}"} for of, pattern, said in FAULTS]
    )
    faults = F.from_json(F.lit(listed), "array<struct<of:int,pattern:string,said:string>>")

    def look(found: Column, fault: Column) -> Column:
        is_so = F.rlike(F.get(texts, fault.getField("of")), fault.getField("pattern"))
        return F.coalesce(found, F.when(is_so, fault.getField("said")))

    return F.aggregate(faults, F.lit(None).cast("string"), look)


# A parser stops at the end of the first value. So a record is parsed as the first of two elements of an
# array: what follows it is an error, or makes more than two. No record can close the array itself and go
# unnoticed, because none knows this name. It is in no result.
KEY = f"k{token_hex(8)}"
OBJECT = "map<string,variant>"
STARTS_AS_OBJECT = r"^\s*\{"
LONG_NUMBER = r"[0-9](?:\.?[0-9]){15}|[eE][+-]?[0-9]{3}"
WITH_DOUBLES = "(?:^|: |ARRAY<)(?:DOUBLE|VARIANT)"
NOT_PLAIN = r"[^ -@\[-~]"
"""What is no ASCII, or a capital letter of it: names without it are the same without case only if they are
the same.
"""
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
    is_whole = (
        parsed.getField("_broken").isNull()
        & (F.size(elements) == 2)
        & marker.isNotNull()
        & first_of(parsed).isNotNull()
    )
    return F.coalesce(is_whole, F.lit(False))


def as_object(value: Column) -> Column:
    return F.try_variant_get(value, "$", OBJECT)


def as_array(value: Column) -> Column:
    return F.try_variant_get(value, "$", "array<variant>")


def is_there(value: Column) -> Column:
    """Neither absent nor null. Never NULL."""
    return value.isNotNull() & ~F.is_variant_null(value)


def repeated_field(fields: Column, taken: Iterable[str]) -> Column:
    """What to say of an object in which a taken field is there twice, in whatever case, or any other in the
    same; else NULL.
    """
    names = F.map_keys(fields)
    is_same = F.size(F.array_distinct(names)) < F.size(names)
    is_same_without_case = F.size(F.array_distinct(F.transform(names, F.lower))) < F.size(names)
    # Not asked of plain names, which most records have: a lambda for each record, and Spark's first `lower`
    # takes a second of a process.
    are_plain = ~F.array_join(names, " ").rlike(NOT_PLAIN)
    is_suspect = F.when(are_plain, is_same).otherwise(is_same_without_case)
    said = F.lit(None).cast("string")
    if several := [_several(names, name) for name in dict.fromkeys(taken)]:
        said = F.coalesce(*several)
    return F.when(is_suspect, F.coalesce(said, F.when(is_same, F.lit(FIELD_TWICE))))


def _several(names: Column, name: str) -> Column:
    count = F.size(F.filter(names, lambda found: F.lower(found) == name.lower()))
    return F.when(
        count > 1, F.lit(f"the record has several fields {name!r} (names are compared without case)")
    )


def starts_as_object(record: Column) -> Column:
    return record.startswith("{") | record.rlike(STARTS_AS_OBJECT)


def unreadable_record(record: Column) -> Column:
    """What to say of a text that is not one object. Parsed in a lenient way it may be one that has a field
    twice, or several.
    """
    apart = F.regexp_replace(record, r"\}\s*\{", "},{")  # objects side by side become a list of them
    lenient = parse_whole(apart, "map<string,string>")
    is_repeated = is_one(lenient) & starts_as_object(record) & (apart == record)
    is_several = lenient.getField("_broken").isNull() & (F.size(lenient.getField(KEY)) > 2)
    return (
        F.when(is_repeated, F.lit(FIELD_TWICE))
        .when(is_several, F.lit(SEVERAL_OBJECTS))
        .otherwise(say_fault(record))
    )


def has_half_a_character(text: Column) -> Column:
    """Whether an escape names one half of a pair alone: Spark would put a question mark in its place."""
    single = F.regexp_replace(text, r"\\\\", " ")
    alone = F.regexp_replace(single, r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}", " ")
    return (text.contains("\\ud") | text.contains("\\uD")) & alone.rlike(r"\\u[dD][89a-fA-F]")


def is_lost(value: Column, record: Column, *, is_floating: bool = False) -> Column:
    """Whether digits of a number were lost: one with an exponent, or longer than 38 digits, is parsed as a
    double. Never NULL.

    The text is not at hand; so such a number is doubted in a record that has a long number anywhere. Where a
    double is wanted, the nearest one is right, unless it is zero. One beyond the range of doubles is an
    infinity by now.
    """
    is_doubtful = may_be_lost(value.cast("string"), is_floating=is_floating)
    return F.coalesce(is_doubtful & has_doubles(value) & record.rlike(LONG_NUMBER), F.lit(False))


def may_be_lost(text: Column, *, is_floating: bool) -> Column:
    """What the text of a double looks like that lost digits; NULL where there is none."""
    return text.isin("0.0", "-0.0") if is_floating else text.contains(".") | text.contains("Infinity")


def has_doubles(value: Column) -> Column:
    """Whether it is a double, or an object or array with one in it, which a text column takes: of mixed
    values Spark names no type.
    """
    return F.schema_of_variant(value).rlike(WITH_DOUBLES)


def any_of(conditions: Iterable[Column]) -> Column:
    return reduce(or_, conditions, F.lit(False))
