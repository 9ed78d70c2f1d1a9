"""Whether a value matches the regular expression of a rule: RE2's answer, the same for Weir's own predicates
and for Great Expectations.

RE2, in Arrow, takes time in proportion to the value and never calls itself, whatever the pattern and the
value. It runs in Python; patterns that Java's engine surely ends with in the same way
(config/plain_patterns.py) are left to Spark's own function, which needs no process.
"""

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.config.plain_patterns import plain_java


def matches(value: Column, pattern: str) -> Column:
    """Whether the pattern is found in the value; NULL for NULL."""
    text, java = value.cast("string"), plain_java(pattern)
    if java is not None:
        return text.rlike(java)

    def find(texts: pa.Array) -> pa.Array:
        return pc.match_substring_regex(texts, pattern)

    found: Column = F.arrow_udf(find, "boolean")(text)  # type: ignore[attr-defined]
    return found


def matches_any(value: Column, patterns: list[str]) -> Column:
    """Whether one of them is found: one pattern, as GX makes it, so that a flag such as (?i) in the first
    reaches to the last.
    """
    return matches(value, "|".join(patterns))


def explain_pattern(pattern: str) -> str | None:
    """Why RE2 cannot read a pattern; None where it can."""
    try:
        pc.match_substring_regex(pa.array([""]), pattern)
    except pa.ArrowInvalid as error:
        return str(error)
    return None
