"""The JSON Schema for editors says what the models say, short forms included."""

from typing import Any

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.schema import json_schema


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
    assert [form["type"] for form in definition("Dimension")["properties"]["key"]["anyOf"]] == ["string", "array"]
    assert [form["type"] for form in definition("Gold")["properties"]["inputs"]["anyOf"]] == ["string", "array"]


def test_every_key_of_a_table_is_described() -> None:
    described = {name: "description" in value for name, value in definition("Source")["properties"].items()}

    assert described == dict.fromkeys(["format", "path", "pattern", "files_per_batch", "delimiter"], True)
