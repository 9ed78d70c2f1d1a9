"""Arguments as Great Expectations reads them: a bound is a float where it can be one, else a date, else a
time.

Predicates and GX get the same values from here, so that they cannot differ in them.
"""

from collections.abc import Mapping
from datetime import UTC, date, datetime, time
from typing import Any

Bound = float | date | datetime
BOUNDS = ("min_value", "max_value")


def read_bounds(arguments: Mapping[str, Any]) -> dict[str, Bound]:
    """The bounds that are given. A date beside a time is its midnight: GX cannot compare the two."""
    bounds = {name: read_bound(arguments[name]) for name in BOUNDS if arguments.get(name) is not None}
    if any(isinstance(bound, datetime) for bound in bounds.values()):
        return {name: _midnight(bound) for name, bound in bounds.items()}
    return bounds


def _midnight(bound: Bound) -> Bound:
    if isinstance(bound, float | datetime):
        return bound
    return datetime.combine(bound, time(), UTC)


def read_bound(value: object) -> Bound:
    """A number becomes a float, as in GX, whatever the column is. A time without a zone is UTC, not the
    machine's own time.
    """
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return value
    text = str(value)
    try:
        return float(value if isinstance(value, int | float) else text)
    except ValueError:
        pass
    try:
        return date.fromisoformat(text)
    except ValueError:
        return read_bound(datetime.fromisoformat(text))
