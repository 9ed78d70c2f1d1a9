"""What a value in an expectation can be compared with: columns of numbers, text, times or truth, and whole counts."""

import re
import sys
from datetime import UTC, datetime
from typing import Any, Literal

from spark_jobs.config.columns import ANY
from spark_jobs.config.names import shorten
from spark_jobs.config.types import is_complex

Kind = Literal["number", "count", "text", "time", "truth", "nested", "any"]
TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?")
BY_TYPE: dict[str, Kind] = {"string": "text", "date": "time", "timestamp": "time", "boolean": "truth", ANY: "any"}
EXPECTED: dict[Kind, tuple[str, str]] = {
    "number": ("is not a number", "write a number without quotes"),
    "count": ("is not a whole number of 0 or more", "write digits without quotes"),
    "text": ("is not text", "put it in quotes"),
    "time": ("is not a date or time", "write it as in '2024-01-31' or '2024-01-31T12:00:00Z'"),
    "truth": ("is neither true nor false", "write true or false"),
}


def kind_of(spark_type: str) -> Kind:
    return "nested" if is_complex(spark_type) else BY_TYPE.get(spark_type, "number")


def explain_misfit(value: Any, kind: Kind) -> tuple[str, str] | None:
    """Why a value cannot be compared with such a column: message and hint."""
    if value is None:
        return "NULL equals nothing", "leave it out: NULLs pass; to refuse them use expect_column_values_to_not_be_null"
    if kind == "nested" or isinstance(value, list | dict):
        return f"{shorten(value)} is compared with a whole value", "compare columns and values of simple types"
    if kind == "any" or _is(value, kind):
        return None
    message, hint = EXPECTED[kind]
    return f"{shorten(value)} {message}", hint


def as_comparable(value: Any) -> float | datetime | None:
    """A bound as a number or as a time; None for what is neither."""
    if _is_number(value):
        return float(value)
    return parse_time(value) if isinstance(value, str) else None


def parse_time(text: str) -> datetime | None:
    """A time in ISO form; without a zone it is UTC, as all times of the tables are."""
    if TIME.fullmatch(text) is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _is(value: Any, kind: Kind) -> bool:
    if kind == "number":
        return _is_number(value)
    if kind == "count":
        return _is_number(value) and value >= 0 and value == int(value)
    if kind == "time":
        return isinstance(value, str) and parse_time(value) is not None
    return isinstance(value, bool) if kind == "truth" else isinstance(value, str)


def _is_number(value: Any) -> bool:
    """One that a double can hold: what does not fit is a typing mistake, and cannot be compared."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
