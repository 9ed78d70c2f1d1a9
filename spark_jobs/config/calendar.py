"""Calendar windows: their units, how long one may be, and the names of time zones."""

import re
from typing import Annotated, Literal
from zoneinfo import available_timezones

from pydantic import AfterValidator

from spark_jobs.config.errors import Hinted, nearest
from spark_jobs.config.names import shorten

Unit = Literal["day", "week", "month", "quarter", "year"]
LONGEST: dict[Unit, str] = {
    "day": "3 days",
    "week": "9 days",
    "month": "33 days",
    "quarter": "94 days",
    "year": "368 days",
}
"""No window of the unit is longer, whatever its zone does: where a zone has moved across the date line, a day
came twice.
"""
FIXED = ("UTC",)
REGION = re.compile(r"[A-Z][A-Za-z]+(/[A-Za-z0-9_+-]+)+")


def check_zone(value: str) -> str:
    """A zone by its name, as in Europe/Berlin. An offset is none: it knows nothing of changing clocks."""
    known = [name for name in sorted(available_timezones()) if REGION.fullmatch(name)]
    if value in FIXED or value in known or (not known and REGION.fullmatch(value)):
        return value
    near = nearest(value, [*FIXED, *known])
    hint = f"did you mean {near!r}? " if near else ""
    raise Hinted(f"{shorten(value)} is no name of a time zone", f"{hint}write it as in Europe/Berlin, or UTC")


Zone = Annotated[str, AfterValidator(check_zone)]
