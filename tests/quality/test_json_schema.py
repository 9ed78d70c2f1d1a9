"""What does not match a JSON schema is a fact about its row, and keeps no rule from being judged."""

import pytest

from spark_jobs.config.checks.json_schemas import judge_json_schema
from spark_jobs.quality.json_schema import schema_matcher

SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}}


@pytest.mark.parametrize(
    ("text", "is_match"),
    [
        ('{"a":1}', True),
        ('{"a":"1"}', False),
        ("12", False),
        ('{"a":', False),
        ("", False),
        (None, False),
        ("[" * 100_000, False),
    ],
)
def test_a_text_that_is_no_json_does_not_match(text: str | None, is_match: bool) -> None:
    assert schema_matcher(SCHEMA)(text) is is_match


def test_what_is_nested_too_deeply_to_be_looked_at_does_not_match() -> None:
    matches = schema_matcher({"type": "array", "items": {"$ref": "#"}})

    assert (matches("[" * 100 + "]" * 100), matches("[" * 900 + "]" * 900)) == (True, False)


def test_a_schema_that_is_none_is_said_before_a_row_is_asked() -> None:
    with pytest.raises(ValueError, match="'objekt' is not valid"):
        schema_matcher({"type": "objekt"})


def test_plain_patterns_and_values_that_look_like_some_pass() -> None:
    schema = {
        "properties": {"pattern": {"type": "string", "pattern": "^[A-Z]{2}-[0-9]+$"}},
        "patternProperties": {"^x_": {"$ref": "#/$defs/line"}},
        "$defs": {"line": {"const": {"pattern": "(a+)+$"}}},
    }

    assert list(judge_json_schema(schema)) == []
