"""The JSON Schemas of pipeline and expectation files, for editors: completion, descriptions and red lines
while one types.
"""

from typing import Any

from pydantic import BaseModel

from spark_jobs.config.expectation_types import COMPILED, CUSTOM_SQL, OWN
from spark_jobs.config.expectations import Expectations
from spark_jobs.config.pipeline import Pipeline

SCHEMA = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema of conf/pipelines/*.yml, with the short forms (`amount: bigint`, `key: order_id`) that the
    files may use.
    """
    return {"$schema": SCHEMA, **_closed(Pipeline), "title": "Weir pipeline"}


def expectations_schema() -> dict[str, Any]:
    """The schema of expectations/*/*.yml. The types are offered, not listed in full: which others there are
    is for GX to say.
    """
    schema = _closed(Expectations)
    schema["$defs"]["Expectation"]["properties"]["type"]["examples"] = [*COMPILED, *OWN, CUSTOM_SQL]
    return {"$schema": SCHEMA, **schema, "title": "Weir expectations"}


def _closed(model: type[BaseModel]) -> dict[str, Any]:
    schema = model.model_json_schema(by_alias=True, mode="validation")
    _close(schema)
    return schema


def _close(node: Any) -> None:
    """Mappings whose keys have a pattern take no others."""
    if isinstance(node, dict):
        if "patternProperties" in node:
            node["additionalProperties"] = False
        for child in node.values():
            _close(child)
    elif isinstance(node, list):
        for child in node:
            _close(child)
