"""Values of rows for a terminal and for JSON."""

import math
from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Any

from spark_jobs.config.text import plain

CELL_LENGTH = 80
NOTHING = "·"


def as_json(value: Any) -> Any:
    """What every JSON parser reads: no NaN, and numbers with all their digits as text where JSON has none."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, datetime | date | time_of_day):
        return moment(value)
    if isinstance(value, bytes | bytearray):
        return value.hex()
    if isinstance(value, dict):
        return {str(as_json(key)): as_json(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [as_json(part) for part in value]
    return str(value)


def as_cell(value: Any) -> str:
    """On one line, NULL as a dot."""
    if value is None:
        return NOTHING
    if isinstance(value, datetime | date | time_of_day):
        return moment(value, " ")
    return plain(as_json(value), CELL_LENGTH)


def moment(value: datetime | date | time_of_day, between: str = "T") -> str:
    if not isinstance(value, datetime):
        return value.isoformat()
    if value.tzinfo is None:
        return value.isoformat(between)
    there = value.astimezone(UTC).replace(tzinfo=None).isoformat(between)
    return there if between == " " else f"{there}Z"
