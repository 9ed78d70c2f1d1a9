r"""Why a text is not one JSON object, in words for the person who looks at quarantine. Asked only of a record that is none.

A parser of Spark's says that a text is broken, not where. So the text is looked at without what stands within its quotes: outside of them
JSON has brackets, commas, colons, numbers and three words, and whatever else is there is the fault. The first fault of the list is named.
Words only: no value of the record is part of them.

The list is one constant of the plan, whatever its length: a branch for each would cost every batch some time of planning. The lambda around
it keeps generated code from asking good records as well. Each pattern takes time in proportion to the text, and repeats no group but
possessively, which Java does without calling itself: a record may be long, and made on purpose.
"""

import json

from pyspark.sql import Column
from pyspark.sql import functions as F

NOT_ONE_OBJECT = "not one JSON object"
SEVERAL_OBJECTS = f"{NOT_ONE_OBJECT}: several objects in one line, where each has a line of its own"
DEEPEST, LONGEST_NAME, LONGEST_NUMBER, LONGEST_TEXT = 998, 50_000, 1_000, 20_000_000
"""As far as Spark's parser goes; two levels of its thousand are the array around a record (see json_record.py)."""

RECORD, PLAIN, BARE, COUNTS = range(4)
"""What a pattern is asked of: the record; the same without escapes, so that every quote begins or ends a text; the same with nothing within
quotes; with which character it begins if not with {, and how many more { it has than }, and [ than ].
"""
Fault = tuple[int, str, str]
FAULTS: list[Fault] = [
    (RECORD, r"^\x00?[^\x00]\x00[^\x00]\x00", "it is UTF-16 text, every other byte is zero: land it as UTF-8"),
    (RECORD, r"\x00", "it holds zero bytes: it was not written to its end, or is no text"),
    (RECORD, r"^\x{FEFF}", "a byte order mark stands before it: files were put together"),
    (BARE, r"\}\s*\r\s*\{", "several objects with carriage returns between them: lines end with a line feed"),
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
    (PLAIN, rf'"[^"]{{{LONGEST_NAME + 1},}}+"\s*:', f"the name of a field has more than {LONGEST_NAME:,} characters"),
    (PLAIN, rf'"[^"]{{{LONGEST_TEXT + 1},}}+"', f"it has a text of more than {LONGEST_TEXT:,} characters"),
    (BARE, rf"[\[{{](?:[^\[\]{{}}]*+[\[{{]){{{DEEPEST}}}+", f"it is nested more than {DEEPEST} deep"),
    (BARE, r'[^\s{,:]\s*""\s*:', "a comma is missing before a name"),
    (BARE, r'\{\s*""\s*[^\s:]', "a colon is missing behind a name"),
    (BARE, r'[^\s{}\[\]:,"0-9A-Za-z.+-]', "it has a character that is none of JSON"),
]
"""Asked of what, for which pattern, and what is said. In this order: those behind another one suppose that it was not found."""


def say_fault(record: Column) -> Column:
    """What is wrong with a text that is not one JSON object."""
    plain = F.regexp_replace(record, r"\\[\s\S]", "_")
    bare = F.regexp_replace(plain, r'"[^"]*"', '""')
    texts = F.transform(F.array(bare), lambda found: F.array(record, plain, found, _count(found)))
    return F.coalesce(F.get(F.transform(texts, _first_of), F.lit(0)), F.lit(NOT_ONE_OBJECT))


def _count(bare: Column) -> Column:
    braces, brackets = (_length_without(bare, end) - _length_without(bare, start) for start, end in ("{}", "[]"))
    return F.concat_ws(" ", F.regexp_extract(bare, r"^\s*([^{\s]?)", 1), braces, brackets)


def _length_without(bare: Column, character: str) -> Column:
    return F.length(F.replace(bare, F.lit(character)))


def _first_of(texts: Column) -> Column:
    listed = json.dumps([{"of": of, "pattern": pattern, "said": f"{NOT_ONE_OBJECT}: {said}"} for of, pattern, said in FAULTS])
    faults = F.from_json(F.lit(listed), "array<struct<of:int,pattern:string,said:string>>")

    def look(found: Column, fault: Column) -> Column:
        is_so = F.rlike(F.get(texts, fault.getField("of")), fault.getField("pattern"))
        return F.coalesce(found, F.when(is_so, fault.getField("said")))

    return F.aggregate(faults, F.lit(None).cast("string"), look)
