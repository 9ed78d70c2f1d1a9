"""What may stand as a name, a path, a duration or a type in a pipeline file, and what its models share. Each
check returns the value or raises ValueError.
"""

import re
from datetime import timedelta
from pathlib import PurePosixPath
from typing import Annotated

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
)

from spark_jobs.config.errors import Hinted, did_you_mean
from spark_jobs.config.text import count

NAME_RULE = "lower-case letters, digits and _, starting with a letter, at most 63 characters"
NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
COLUMN_RULE = "letters, digits and _, starting with a letter, at most 63 characters"
SIDES = ("quarantine", "parked", "deleted", "late")
"""Tables beside a table: quarantine.silver.orders stands beside silver.orders, and belongs to no pipeline of
that name.
"""
READABLE = ("dimension", "silver", "gold")
RESERVED = {
    **dict.fromkeys(
        SIDES, "that is what the tables beside a table are called, as in quarantine.silver.orders"
    ),
    **dict.fromkeys(("bronze", *READABLE, "sink"), "that is a layer, as in silver.orders"),
    "weir_maintenance": "that is the DAG of the upkeep",
}
"""What no pipeline may be called: names of its tables would mean something else."""
UNITS = {"second": 1, "minute": 60, "hour": 3600, "day": 86400, "week": 604800}


def check_name(value: str) -> str:
    if not NAME.fullmatch(value):
        raise Hinted(f"{shorten(value)} is not a legal name", f"allowed are {NAME_RULE}")
    return value


def check_pipeline_name(value: str) -> str:
    if value in RESERVED:
        raise Hinted(f"a pipeline may not be called {value!r}: {RESERVED[value]}", "choose another name")
    return check_name(value)


ROW_ORIGINS = {
    "_file": "string",
    "_file_id": "string",
    "_line": "bigint",
    "_file_modified_at": "timestamp",
    "_arrived_at": "timestamp",
}
"""Where a row of a landed file came from, with the types: columns take it by `from`, and SQL over one row may
name it.
"""


def check_column(value: str) -> str:
    if value in ROW_ORIGINS:
        way = f"take it, as in {value.strip('_')}: {{type: {ROW_ORIGINS[value]}, from: {value}}}"
        raise Hinted(f"{value} is no column of the table's own", f"{way}, and name that column")
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,62}", value):
        raise Hinted(f"{shorten(value)} is not a legal column name", f"allowed are {COLUMN_RULE}")
    return value


NEWEST_ARRIVAL = "newest_arrival"
"""In the place of columns that order versions: the one that arrived last is the newest."""
ARRIVED_AT = "_arrived_at"
"""From when a version is valid in a history that goes by arrival."""
ROW_PLACES = {"_file": "string", "_line": "bigint"}
"""What orders versions beside columns of the table: where in a landed file a row stands."""


def check_sequence(value: str) -> str:
    """A column that orders versions, or where its row came from."""
    if not value.startswith("_") or value in ROW_PLACES:
        return value if value in ROW_PLACES else check_column(value)
    allowed = f"allowed are columns of the table, {', '.join(ROW_PLACES)}, or {NEWEST_ARRIVAL} alone"
    if value == "_file_modified_at":
        message = f"{value} is no column that the table has"
        raise Hinted(message, f"take it by a column, from: {value}, and name that; {allowed}")
    if value in ("_arrived_at", "_chunk"):
        message = f"{value} orders no versions: files that were noticed together have the same"
        raise Hinted(message, f"write sequence_by: {NEWEST_ARRIVAL}, and the last load wins; {allowed}")
    raise Hinted(f"{shorten(value)} does not order versions", allowed)


def other_pipeline(table: str) -> str | None:
    """The pipeline that a table is named with, as in retail.silver.orders; None of a pipeline's own tables,
    as in silver.orders.
    """
    parts = table.split(".")
    return parts[0] if len(parts) == 3 and parts[0] not in SIDES else None


def name_at_home(table: str) -> str:
    """What a table is called in its own pipeline: silver.orders for retail.silver.orders."""
    return table.partition(".")[2] if other_pipeline(table) else table


def check_other_table(value: str) -> str:
    """A table of another pipeline, by its name alone: whether it is there is not known here."""
    parts = value.split(".")
    if len(parts) != 3 or not all(NAME.fullmatch(part) for part in parts) or parts[1] not in READABLE:
        form = "write <pipeline>.<layer>.<table>, as in retail.silver.orders"
        raise Hinted(f"{shorten(value)} is not a table of another pipeline", form)
    return value


def check_relative_path(value: str) -> str:
    """A path below a root that we own: no way out of it, nothing absolute."""
    path = PurePosixPath(value)
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/|~", value):
        hint = (
            "write the path below the root alone; where the roots are say conf/lakehouse.yml, the profile,"
            " WEIR_LANDING and WEIR_LAKE"
        )
        raise Hinted(f"{shorten(value)} is a place of its own, not a path below the root", hint)
    if (
        not value
        or path.is_absolute()
        or ".." in path.parts
        or "\\" in value
        or any(ord(c) < 32 for c in value)
    ):
        raise Hinted(
            f"{shorten(value)} is not a path below the root", "allowed is a relative path without '..'"
        )
    return path.as_posix()


def parse_delay(value: str) -> timedelta:
    """As a duration, and it may be nothing."""
    match = re.fullmatch(r"0+ (second|minute|hour|day|week)s?", value.strip())
    return timedelta() if match else parse_duration(value)


def parse_duration(value: str) -> timedelta:
    match = re.fullmatch(r"(\d{1,9}) (second|minute|hour|day|week)s?", value.strip())
    if match is None or int(match[1]) == 0:
        hint = "write a number and a unit, as in '15 minutes', '1 hour' or '7 days'"
        if re.search(r"month|quarter|year", value):
            hint += "; months and years differ in length: for windows write calendar: month"
        raise Hinted(f"{shorten(value)} is not a duration", hint)
    return timedelta(seconds=int(match[1]) * UNITS[match[2]])


def check_duration(value: str) -> str:
    parse_duration(value)
    return value.strip()


def check_share(value: str) -> str:
    """A part of the whole, from 0% to 100%."""
    match = re.fullmatch(r"(\d{1,3})%", value)
    if match is None or int(match[1]) > 100:
        raise Hinted(f"{shorten(value)} is no share", "write a whole number from 0% to 100%, as in '20%'")
    return value


def check_delay(value: str) -> str:
    parse_delay(value)
    return value.strip()


def as_list(value: object) -> object:
    """`key: order_id` is short for `key: [order_id]`."""
    return [value] if isinstance(value, str) else value


def shorten(value: object, limit: int = 60) -> str:
    """A value for an error message: quoted, on one line, never longer than a line."""
    text = repr(value)
    return text if len(text) <= limit else f"{text[: limit - 10]}…({len(str(value))} characters)"


# The patterns are for editors; the checks themselves give better messages.
NAME_PATTERN = "^[a-z][a-z0-9_]{0,62}$"
Name = Annotated[str, AfterValidator(check_name), WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})]
PipelineName = Annotated[
    str, AfterValidator(check_pipeline_name), WithJsonSchema({"type": "string", "pattern": NAME_PATTERN})
]
ColumnName = Annotated[
    str,
    AfterValidator(check_column),
    WithJsonSchema({"type": "string", "pattern": "^[A-Za-z][A-Za-z0-9_]{0,62}$"}),
]
RelativePath = Annotated[str, AfterValidator(check_relative_path)]
Duration = Annotated[str, AfterValidator(check_duration)]
Share = Annotated[str, AfterValidator(check_share)]
Delay = Annotated[str, AfterValidator(check_delay)]
OtherTable = Annotated[str, AfterValidator(check_other_table)]
Names = Annotated[
    list[ColumnName], BeforeValidator(as_list, json_schema_input_type=ColumnName | list[ColumnName])
]
Sequence = Annotated[
    list[Annotated[str, AfterValidator(check_sequence)]],
    BeforeValidator(as_list, json_schema_input_type=str | list[str]),
]
Tables = Annotated[list[str], BeforeValidator(as_list, json_schema_input_type=str | list[str])]


# What every model of a pipeline file shares: unknown keys are refused, nothing is converted in silence,
# nothing changes afterwards.


class Model(BaseModel):
    model_config = ConfigDict(
        extra="forbid", frozen=True, strict=True, populate_by_name=True, defer_build=True
    )


# When a pipeline is started: a cron expression of five fields, or one of the usual words for it.


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


def _between_fields(value: str) -> str:
    if value in ('"', "\r", "\n"):
        raise Hinted(
            f"{shorten(value)} cannot part fields: quotes and line ends have a meaning of their own in CSV",
            "name the character that stands between the fields of its files",
        )
    return value


Delimiter = Annotated[
    str,
    Field(min_length=1, max_length=1, description="csv only: between the fields"),
    AfterValidator(_between_fields),
]
