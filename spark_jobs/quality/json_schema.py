"""Whether a text is JSON that a schema describes. Great Expectations' own function raises for a text that is
no JSON, and with it the rule has no answer for any row of the batch.
"""

import json
from collections.abc import Callable
from typing import Any


def schema_matcher(schema: dict[str, Any]) -> Callable[[str | None], bool]:
    """The question about this schema. A text that is no JSON, or is nested too deeply to be looked at, does
    not match. ValueError for a schema that is none.
    """
    import jsonschema  # type: ignore[import-untyped]  # in the Python process that asks it

    kind = jsonschema.validators.validator_for(schema)
    try:
        kind.check_schema(schema)
    except jsonschema.SchemaError as error:
        raise ValueError(f"json_schema is none: {error.message}") from None
    validator = kind(schema)

    def matches_schema(text: str | None) -> bool:
        if text is None:
            return False
        try:
            return bool(validator.is_valid(json.loads(text)))
        except (ValueError, RecursionError):
            return False

    return matches_schema
