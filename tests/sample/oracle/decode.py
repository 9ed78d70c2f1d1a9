"""Landed files as records, and texts as values, in plain Python: what fits a type and what does not, written
down a second time.

The true answers are only worth something if they share no code with the engine, so nothing of the engine is
imported here.
"""

import csv
import json
import re
from collections.abc import Callable, Collection, Iterator
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
Number = TypeVar("Number", int, Decimal)
Record = dict[str, Any]  # as it landed: names and texts, nested
Row = dict[str, Any]  # of a table: column names and typed values
Tables = dict[str, list[Row]]


class MisfitError(ValueError):
    """A value that does not fit its type or breaks a rule of its table, or a missing one where there must be
    one.
    """


class Tally:
    """Rows of one table that fit; the others are counted."""

    def __init__(self, table: str) -> None:
        self.table, self.quarantined, self.filtered = table, 0, 0

    def fitting(self, decode: Callable[..., Row], *arguments: object) -> Iterator[Row]:
        try:
            yield decode(*arguments)
        except MisfitError:
            self.quarantined += 1

    def counts(self) -> Row:
        return {"table": self.table, "quarantined": self.quarantined, "filtered": self.filtered}


def json_records(folder: Path) -> Iterator[Record | None]:
    """One record a line; None for a line that is not one JSON object. Blank lines are no records. Numbers
    stay texts.
    """
    for file in landed_files(folder):
        with file.open(encoding="utf-8", newline="\n") as lines:
            yield from (_parse(line) for line in lines if line.strip())


def csv_records(folder: Path) -> Iterator[Record | None]:
    """One record a row, by the names in the file's header; an empty field is None, a row of another length
    than its header is broken.
    """
    for file in landed_files(folder):
        with file.open(encoding="utf-8", newline="") as lines:
            rows = csv.reader(lines)
            header = next(rows, [])
            for row in rows:
                if row:
                    yield (
                        dict(zip(header, [field or None for field in row], strict=True))
                        if len(row) == len(header)
                        else None
                    )


def landed_files(folder: Path) -> list[Path]:
    return sorted(
        path for path in folder.rglob("*") if path.is_file() and not path.name.startswith((".", "_"))
    )


def field(record: Record, path: str) -> str | None:
    """The scalar at a dotted path as text; None where any step of it is missing."""
    value: Any = record
    for name in path.split("."):
        if value is None:
            return None
        if not isinstance(value, dict):
            raise MisfitError(f"{path}: {name} is looked for in {value!r}, which is no object")
        value = value.get(name)
    if isinstance(value, dict | list):
        raise MisfitError(f"{path}: {value!r} is no scalar")
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else value


def integer(text: str | None, bits: int = 64) -> int | None:
    if text is None:
        return None
    if not re.fullmatch(r"\s*[+-]?[0-9]+\s*", text) or not -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1):
        raise MisfitError(f"{text!r} is no integer of {bits} bits")
    return int(text)


def decimal(text: str | None, precision: int, scale: int) -> Decimal | None:
    if text is None:
        return None
    try:
        value = Decimal(text.strip())
        fitting = value.quantize(Decimal(1).scaleb(-scale))
    except InvalidOperation as wrong:
        raise MisfitError(f"{text!r} is no decimal({precision},{scale})") from wrong
    if fitting != value or abs(fitting) >= Decimal(10) ** (precision - scale):
        raise MisfitError(f"{text!r} does not fit decimal({precision},{scale})")
    return fitting


def timestamp(text: str | None) -> datetime | None:
    if text is None:
        return None
    if not re.match(r"\s*[0-9]{4}-[0-9]{2}-[0-9]{2}(?![0-9])", text):
        raise MisfitError(f"{text!r} is no timestamp: it does not start with yyyy-MM-dd")
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError as wrong:
        raise MisfitError(f"{text!r} is no timestamp") from wrong
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def event_time(record: Record, name: str, future_from: datetime) -> datetime:
    moment = present(timestamp(field(record, name)), name)
    if moment >= future_from:
        raise MisfitError(f"{name} {moment} is in the future")
    return moment


def present(value: T | None, name: str) -> T:
    if value is None:
        raise MisfitError(f"{name} is missing")
    return value


def within(value: Number | None, least: int, greatest: int) -> Number | None:
    """The value, if it keeps to the bounds that the table's expectations give it; nothing at all is no matter
    of theirs.
    """
    if value is not None and not least <= value <= greatest:
        raise MisfitError(f"{value} is not from {least} to {greatest}")
    return value


def one_of(text: str | None, allowed: Collection[str]) -> str | None:
    if text is not None and text not in allowed:
        raise MisfitError(f"{text!r} is none of {', '.join(allowed)}")
    return text


def _parse(line: str) -> Record | None:
    try:
        value = json.loads(line, parse_int=str, parse_float=str, parse_constant=_refuse)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")
