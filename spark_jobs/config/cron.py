"""When a pipeline is started: a cron expression of five fields, or one of the usual words for it."""

import re
from typing import Annotated

from pydantic import AfterValidator

from spark_jobs.config.errors import Hinted, did_you_mean
from spark_jobs.config.names import shorten
from spark_jobs.config.text import count

WORDS = ("@hourly", "@daily", "@weekly", "@monthly", "@yearly")
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
WEEKDAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
FIELDS: list[tuple[str, int, int, list[str]]] = [
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of the month", 1, 31, []),
    ("month", 1, 12, MONTHS),
    ("day of the week", 0, 7, WEEKDAYS),
]


def check_cron(value: str) -> str:
    """The expression itself, or ValueError with the field that is wrong."""
    if value.startswith("@"):
        if value not in WORDS:
            raise Hinted(f"{shorten(value)} is not a schedule", did_you_mean(value, WORDS))
        return value
    fields = value.split()
    if len(fields) != 5:
        raise Hinted(
            f"{shorten(value)} has {count(len(fields), 'field')}",
            "write five: minute hour day month weekday, as in '*/15 * * * *'",
        )
    for text, (name, low, high, words) in zip(fields, FIELDS, strict=True):
        for part in text.split(","):
            _check_part(part, name, low, high, words)
    return " ".join(fields)


def _check_part(part: str, name: str, low: int, high: int, words: list[str]) -> None:
    """One of: *, 5, mon, 1-5, each with an optional /step."""
    allowed = (
        f"allowed: {low} to {high}{f' or {words[0]} to {words[-1]}' if words else ''}, ranges as in 1-5, *"
        " and steps as in */2"
    )
    match = re.fullmatch(r"(?:(\*)|(\w+)(?:-(\w+))?)(?:/(\d{1,3}))?", part)
    if match is None:
        raise Hinted(f"{shorten(part)} does not fit the field {name!r}", allowed)
    bounds = [_number(text, low, words) for text in match.group(2, 3) if text is not None]
    if any(bound is None or not low <= bound <= high for bound in bounds):
        raise Hinted(f"{shorten(part)} does not fit the field {name!r}", allowed)
    if len(bounds) == 2 and bounds[0] > bounds[1]:  # type: ignore[operator]
        raise Hinted(f"the {name} {shorten(part)} ends before it starts", "write the smaller value first")
    if match[4] is not None and (not 1 <= int(match[4]) <= high or len(bounds) == 1):
        raise Hinted(f"{shorten(part)} has no usable step", f"write */n or a-b/n with n from 1 to {high}")


def _number(text: str, low: int, words: list[str]) -> int | None:
    if text.lower() in words:
        return words.index(text.lower()) + low
    return int(text) if text.isascii() and text.isdigit() and len(text) <= 3 else None


Cron = Annotated[str, AfterValidator(check_cron)]
