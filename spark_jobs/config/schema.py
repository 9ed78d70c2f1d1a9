"""The JSON Schema of a pipeline file, for editors: completion, descriptions and red lines while one types."""

from typing import Any

from spark_jobs.config.pipeline import Pipeline


def json_schema() -> dict[str, Any]:
    """The schema of conf/pipelines/*.yml, with the short forms (`amount: bigint`, `key: order_id`) that the files may use."""
    schema = Pipeline.model_json_schema(by_alias=True, mode="validation")
    _close(schema)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": "Weir pipeline"}


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
