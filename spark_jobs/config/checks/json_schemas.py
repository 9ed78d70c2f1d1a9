"""Checks of the schemas in expect_column_values_to_match_json_schema. Their patterns are read by Python's
engine, which goes back as Java's does: one that a value could keep busy for ever is refused. So is a schema
that lies elsewhere.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.names import shorten
from spark_jobs.config.plain_patterns import plain_java

Complaint = tuple[Path, Any, str, str]
HINT = (
    "begin it with ^ and repeat single characters only, each ended by what it cannot take; or take the field"
    " as a column, for expect_column_values_to_match_regex"
)
VALUES = ("const", "default", "enum", "examples")
"""Keys of a schema whose values are none."""


def judge_json_schema(schema: Any, place: Path = ("json_schema",)) -> Iterator[Complaint]:
    """What is wrong within a schema: where, the value, a message and a hint each."""
    if isinstance(schema, list):
        for number, part in enumerate(schema):
            yield from judge_json_schema(part, (*place, number))
    if not isinstance(schema, Mapping):
        return
    pattern, reference = schema.get("pattern"), schema.get("$ref")
    if isinstance(pattern, str):
        yield from _judge_pattern(pattern, (*place, "pattern"))
    if isinstance(reference, str) and not reference.startswith("#"):
        message = f"the schema {shorten(reference)} lies elsewhere, and may be another one tomorrow"
        yield (
            (*place, "$ref"),
            reference,
            message,
            "write it into this one, and name it as in #/$defs/address",
        )
    named = schema.get("patternProperties")
    for name in named if isinstance(named, Mapping) else ():
        yield from _judge_pattern(str(name), (*place, "patternProperties"))
    for key, part in schema.items():
        if key not in VALUES:
            yield from judge_json_schema(part, (*place, key))


def _judge_pattern(pattern: str, place: Path) -> Iterator[Complaint]:
    if plain_java(pattern) is None:
        yield place, pattern, f"the pattern {shorten(pattern)} may take for ever on a value", HINT
