"""The JSON Schema for editors says what the models say, short forms included."""

from typing import Any

import pytest

from spark_jobs.config.expectations import Expectation, Expectations
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.schema import expectations_schema, json_schema

KEYS = {
    "FileSource": {
        "format",
        "path",
        "path_fields",
        "pattern",
        "files_per_batch",
        "bytes_per_batch",
        "bytes_per_record",
        "comment",
        "delimiter",
        "escape",
        "header",
        "quote",
        "skip_lines",
        "trailing_delimiter",
        "fields",
        "row_tag",
        "lists",
        "settle",
        "same_content",
        "changed",
        "idle_after",
    },
    "Lookup": {"on", "as_of", "take", "if_missing", "give_up_after"},
}
CHOICES = [
    ("FileSource", "same_content", ["take", "skip"]),
    ("FileSource", "changed", ["refuse", "take"]),
    ("Lookup", "if_missing", ["park", "unknown", "quarantine"]),
    ("Gold", "emit", ["append", "update", "complete"]),
    ("Gold", "late", ["repair", "keep"]),
]


def definition(name: str) -> Any:
    return json_schema()["$defs"][name]


def test_keys_have_the_names_of_the_file() -> None:
    assert set(json_schema()["properties"]) == set(Pipeline.model_fields)
    assert "from" in definition("Silver")["required"]
    assert "from_" not in definition("Silver")["properties"]


def test_unknown_keys_and_illegal_names_are_red() -> None:
    schema = json_schema()
    silver = schema["properties"]["silver"]

    assert schema["additionalProperties"] is False
    assert silver["additionalProperties"] is False
    assert list(silver["patternProperties"]) == ["^[a-z][a-z0-9_]{0,62}$"]


def test_short_forms_are_allowed() -> None:
    properties = definition("Silver")["properties"]
    columns = next(iter(properties["columns"]["patternProperties"].values()))

    assert columns["anyOf"] == [{"type": "string"}, {"$ref": "#/$defs/Column"}]
    assert {"type": "string"} in properties["event_time"]["anyOf"]
    assert [form["type"] for form in definition("Dimension")["properties"]["key"]["anyOf"]] == [
        "string",
        "array",
    ]
    assert [form["type"] for form in definition("Gold")["properties"]["inputs"]["anyOf"]] == [
        "string",
        "array",
    ]


def test_every_key_of_a_source_and_a_lookup_is_described() -> None:
    described = {
        model: {name for name, key in definition(model)["properties"].items() if "description" in key}
        for model in KEYS
    }

    assert described == KEYS


@pytest.mark.parametrize(("model", "key", "words"), CHOICES)
def test_an_editor_offers_the_words_that_a_key_may_have(model: str, key: str, words: list[str]) -> None:
    found = definition(model)["properties"][key]

    assert next(form["enum"] for form in [found, *found.get("anyOf", [])] if "enum" in form) == words


def test_the_keys_of_late_rows_and_deletes_are_described() -> None:
    assert all(
        "description" in definition("Gold")["properties"][key] for key in ("emit", "watermark", "late")
    )
    assert "description" in definition("Silver")["properties"]["delete_when"]


def test_an_expectation_file_has_a_schema_of_its_own() -> None:
    schema = expectations_schema()
    expectation = schema["$defs"]["Expectation"]

    assert set(schema["properties"]) == set(Expectations.model_fields)
    assert set(expectation["properties"]) == set(Expectation.model_fields)
    assert expectation["additionalProperties"] is False
    assert expectation["properties"]["on_fail"]["enum"] == ["quarantine", "tag", "warn", "block"]
    assert "expect_column_max_to_be_recent" in expectation["properties"]["type"]["examples"]
