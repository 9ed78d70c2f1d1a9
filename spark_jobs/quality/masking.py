"""Records and reasons as they may be shown: the values of sensitive columns are masked, the others stay.
Imports no pyspark.

A record that cannot be understood may hold anything anywhere: where its source has a sensitive column, all of
it is masked.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from spark_jobs.config.expectations import SET_ASIDE
from spark_jobs.config.sensitive import MASK
from spark_jobs.config.sensitive_fields import FieldPath

NUMBER = "\ue000"
"""Before a number while a record is taken apart: so it comes out digit by digit as it went in."""
HALF = re.compile("[\ud800-\udfff]")
"""Half of a character, which a record may hold as \\ud83d, and which no text in UTF-8 has."""
OF_THE_RECORD = ("readable", "decodable", SET_ASIDE)
"""Rules that speak of the record as a whole, in words of their own: their value is none of the record's."""


def mask_record(record: str | None, hidden: Collection[FieldPath]) -> str | None:
    """The record with the fields at these paths masked, in every element of the arrays on their way (see
    sensitive_paths).
    """
    if record is None or not hidden:
        return record
    try:
        fields = json.loads(record, parse_int=_keep, parse_float=_keep, parse_constant=_keep)
        if () in hidden or not isinstance(fields, dict):
            return MASK
        for path in hidden:
            fields = _masked(fields, [part.lower() for part in path])
        shown = json.dumps(fields, ensure_ascii=False)
    except (ValueError, RecursionError):
        return MASK
    shown = re.sub(f'"{NUMBER}([^"]*)"', r"\1", shown)
    return HALF.sub(lambda half: f"\\u{ord(half[0]):04x}", shown)


def mask_reasons(
    reasons: Iterable[Mapping[str, Any]] | None, sensitive: Collection[str]
) -> list[dict[str, Any]]:
    """Reasons of the form {rule, column, value}, without the values of these columns; `column` may name
    several: 'a, b'.
    """
    return [
        {**reason, "value": MASK} if _tells(reason, sensitive) else dict(reason) for reason in reasons or ()
    ]


def mask_problem(problem: str | None, hidden: Collection[FieldPath]) -> str:
    """Why a file could not be read, without what it quotes of the file."""
    return re.sub(r"[\[('\"{].*", MASK, problem or "", flags=re.DOTALL) if hidden else problem or ""


def _keep(number: str) -> str:
    return f"{NUMBER}{number}"


def _masked(value: Any, path: list[str]) -> Any:
    """Where the record has another shape than the path expects, what stands there is masked. That there is
    nothing may be seen.
    """
    if value is None:
        return None
    if isinstance(value, list) and path:
        return [_masked(element, path) for element in value]
    if isinstance(value, dict) and path:
        return {
            name: _masked(field, path[1:]) if name.lower() == path[0] else field
            for name, field in value.items()
        }
    return MASK


def _tells(reason: Mapping[str, Any], sensitive: Collection[str]) -> bool:
    if reason.get("value") is None or not sensitive:
        return False
    if not reason.get("column"):
        return reason.get("rule") not in OF_THE_RECORD
    return any(name.strip() in sensitive for name in str(reason["column"]).split(","))
