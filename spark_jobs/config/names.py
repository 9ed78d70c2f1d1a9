"""What may stand as a name, a path, a duration or a type in a pipeline file. Each check returns the value or raises ValueError."""

import re
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import AfterValidator, WithJsonSchema

NAME_RULE = "lower-case letters, digits and _, starting with a letter, at most 63 characters"
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
COLUMN_RULE = "letters, digits and _, starting with a letter, at most 63 characters"
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def check_name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise ValueError(f"{shorten(value)} is not a legal name; allowed are {NAME_RULE}")
    return value


def check_column(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", value):
        raise ValueError(f"{shorten(value)} is not a legal column name; allowed are {COLUMN_RULE}")
    return value


def check_relative_path(value: str) -> str:
    """A path below a root that we own: no way out of it, nothing absolute."""
    path = PurePosixPath(value)
    if not value or path.is_absolute() or ".." in path.parts or "\\" in value or any(ord(c) < 32 for c in value):
        raise ValueError(f"{shorten(value)} is not a path below the root; allowed is a relative path without '..'")
    return path.as_posix()


def parse_duration(value: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,9}) (second|minute|hour|day|week)s?", value.strip())
    if match is None or int(match[1]) == 0:
        raise ValueError(f"{shorten(value)} is not a duration; write a number and a unit, as in '15 minutes', '1 hour' or '7 days'")
    return timedelta(seconds=int(match[1]) * UNITS[match[2]])


def check_duration(value: str) -> str:
    parse_duration(value)
    return value.strip()


def shorten(value: object, limit: int = 60) -> str:
    """A value for an error message: quoted, on one line, never longer than a line."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 10]}…({len(str(value))} characters)"


# The patterns are for editors; the checks themselves give better messages.
Name = Annotated[str, AfterValidator(check_name), WithJsonSchema({"type": "string", "pattern": "^[a-z][a-z0-9_]{0,62}$"})]
ColumnName = Annotated[str, AfterValidator(check_column), WithJsonSchema({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]{0,62}$"})]
RelativePath = Annotated[str, AfterValidator(check_relative_path)]
Duration = Annotated[str, AfterValidator(check_duration)]
