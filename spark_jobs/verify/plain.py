"""A record decoded a second time, in plain Python, without anything of the engine. What enters: the text of a
record and the columns of its table. What leaves: for each row that it gives, the values that its columns must
have.

It is strict: a value that does not fit its type exactly is none (MISFIT). Where parsers may read a text in
more than one way it does not guess: such a value is UNSURE, and is left out of the comparison.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from enum import Enum
from typing import Any, NoReturn

from spark_jobs.config.silver import MOST_EXPLODED, Column
from spark_jobs.config.sources import AnySource, FileSource
from spark_jobs.config.types import decimal_precision


class Answer(Enum):
    MISFIT = "no value of its type"
    UNSURE = "not judged"


MISFIT, UNSURE = Answer.MISFIT, Answer.UNSURE
BITS = {"tinyint": 8, "smallint": 16, "int": 32, "bigint": 64}
JUDGED = ("string", "boolean", "date", "timestamp", *BITS)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
DIGITS_OF_A_DOUBLE = 15
LONGEST_NUMBER = 100
INTEGER, DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)"), re.compile(r"-?(?:0|[1-9]\d*)(?:\.(\d+))?")
NUMBER_LIKE = re.compile(r"[\d\s.eE+-]*\d[\d\s.eE+-]*")
DATE = re.compile(r"(?!0000)\d{4}-\d{2}-\d{2}")
TIMESTAMP = re.compile(
    r"((?!0000)\d{4}-\d{2}-\d{2})[T ](\d{2}:\d{2}:\d{2}(?:\.\d{1,6})?)(Z|[+-](?:0\d|1[0-7]):[0-5]\d)?"
)
DATE_LIKE = re.compile(r"\s*[+-]?\d+")
BOOLEAN_LIKE = ("t", "f", "y", "n", "yes", "no", "1", "0", "true", "false")


class BrokenRecordError(Exception):
    """The text is no record of its table, whatever its columns are."""


class UnsureRecordError(Exception):
    """The text may be read in more than one way."""


class Number(str):
    """A number of a JSON text, as it was written."""


class Object(dict[str, Any]):
    """A JSON object, with the names that it has more than once."""

    doubled: frozenset[str] = frozenset()


@dataclass(frozen=True)
class PlainTable:
    """What a table takes from the records of its source."""

    record_format: str
    columns: Mapping[str, Column]
    explode: str | None = None
    source: AnySource | None = None

    @property
    def origins(self) -> dict[str, str]:
        """The columns that take where a record came from, with what they take."""
        taken = {name: self.source and self.source.origin_of(c.from_) for name, c in self.columns.items()}
        return {name: origin for name, origin in taken.items() if origin}

    def parts_of_path(self, file: str) -> Mapping[str, str | None]:
        """BrokenRecordError where the path is none that the source says."""
        assert isinstance(self.source, FileSource)
        found = self.source.parts_of_path(file)
        if found is None:
            raise BrokenRecordError
        return found

    def is_passed_over(self, line: int, record: str | None) -> bool:
        """Whether a line of text is none of its records by declaration."""
        return isinstance(self.source, FileSource) and self.source.is_passed_over(line, record)

    def path_of(self, name: str) -> tuple[str, ...]:
        origin = self.columns[name].from_ or name
        return (origin,) if self.record_format in ("csv", "text") else tuple(origin.split("."))

    def why_not(self, name: str) -> str | None:
        """Why the values of a column are never judged."""
        column = self.columns[name]
        if column.sql or column.rest:
            return "sql" if column.sql else "rest"
        if column.type not in JUDGED and decimal_precision(column.type) is None:
            return column.type
        is_group = self.record_format == "text" and self.path_of(name) != ("value",)
        return "fields" if is_group and name not in self.origins else None

    @property
    def judged(self) -> list[str]:
        return [name for name in self.columns if self.why_not(name) is None]

    @property
    def in_record(self) -> list[str]:
        """Those of them that the record says."""
        return [name for name in self.judged if name not in self.origins]


def decode_plain(record: str, table: PlainTable) -> dict[int, dict[str, Any]]:
    """The rows of a record by their number, which is 0 where it is one row; per column its value, None,
    MISFIT or UNSURE.
    """
    if table.record_format == "text":
        return {0: {name: record for name in table.in_record if table.columns[name].type == "string"}}
    whole = _parse(record)
    if table.explode is None:
        return {0: {name: _value(whole, table.path_of(name), table, name) for name in table.in_record}}
    array = tuple(table.explode.split("."))
    elements = _find(whole, array)
    if elements is None:
        return {}
    if not isinstance(elements, list) or not all(isinstance(element, Object) for element in elements):
        raise UnsureRecordError
    if len(elements) * len(record.encode()) > MOST_EXPLODED:
        raise BrokenRecordError
    return {
        number: _row_of_element(whole, element, array, table) for number, element in enumerate(elements, 1)
    }


def _row_of_element(
    whole: Object, element: Object, array: tuple[str, ...], table: PlainTable
) -> dict[str, Any]:
    row = {}
    for name in table.in_record:
        path = table.path_of(name)
        is_inside = path[: len(array)] == array
        row[name] = _value(
            element if is_inside else whole, path[len(array) :] if is_inside else path, table, name
        )
    return row


def _parse(record: str) -> Object:
    try:
        found = json.loads(
            record, parse_int=Number, parse_float=Number, parse_constant=_refuse, object_pairs_hook=_object
        )
    except (ValueError, RecursionError):  # a more tolerant parser may take it
        raise UnsureRecordError from None
    if not isinstance(found, Object):
        raise BrokenRecordError
    return found


def _object(pairs: list[tuple[str, Any]]) -> Object:
    found, names = Object(pairs), [name for name, _ in pairs]
    if len(found) < len(names):
        found.doubled = frozenset(name for name in found if names.count(name) > 1)
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON")


def _find(value: Any, path: tuple[str, ...]) -> Any:
    for part in path:
        if value is None:
            return None
        if not isinstance(value, Object):
            raise UnsureRecordError
        if part in value.doubled:
            # of a message, both may have such a field
            raise UnsureRecordError if part.startswith("_") else BrokenRecordError
        if any(other != part and other.casefold() == part.casefold() for other in value):
            raise UnsureRecordError
        value = value.get(part)
    return value


def _value(record: Object, path: tuple[str, ...], table: PlainTable, name: str) -> Any:
    leaf, kind = _find(record, path), table.columns[name].type
    if leaf is None or (leaf == "" and table.record_format == "csv"):
        return None
    if isinstance(leaf, dict | list):
        return UNSURE
    if isinstance(leaf, bool):
        leaf = "true" if leaf else "false"
    if len(leaf) > LONGEST_NUMBER and kind != "string":
        return UNSURE
    return _of_type(leaf, kind)


def plain_part(text: str | None, kind: str) -> Any:
    """A part of a path as a column of this type."""
    return _of_type(text, kind) if text else None


def _of_type(leaf: str, kind: str) -> Any:
    if kind == "string":
        return _string(leaf)
    if kind in BITS:
        return _integer(leaf, BITS[kind])
    if kind == "boolean":
        return _boolean(leaf)
    if kind == "date":
        return _date(leaf)
    if kind == "timestamp":
        return _micros(leaf)
    precision = decimal_precision(kind)
    return _decimal(leaf, *precision) if precision else UNSURE


def _boolean(leaf: str) -> Any:
    """Of a number it is not judged how parsers write it: 1.0 is 1 to some."""
    if leaf in ("true", "false"):
        return leaf == "true"
    return UNSURE if isinstance(leaf, Number) or leaf.strip().lower() in BOOLEAN_LIKE else MISFIT


def _string(leaf: str) -> Any:
    """A number becomes a text in the way of a parser, and half a character none at all."""
    if isinstance(leaf, Number):
        return str(leaf) if re.fullmatch(r"0|-?[1-9]\d{0,17}", leaf) else UNSURE
    return UNSURE if re.search(r"[\ud800-\udfff]", leaf) else leaf


def _integer(text: str, bits: int) -> Any:
    if not INTEGER.fullmatch(text):
        return UNSURE if NUMBER_LIKE.fullmatch(text) else MISFIT
    return int(text) if -(2 ** (bits - 1)) <= int(text) < 2 ** (bits - 1) else MISFIT


def _decimal(text: str, precision: int, scale: int) -> Any:
    found = DECIMAL.fullmatch(text)
    if not found:
        return UNSURE if NUMBER_LIKE.fullmatch(text) else MISFIT
    digits = found[1] or ""
    if isinstance(text, Number) and precision <= DIGITS_OF_A_DOUBLE < sum(map(str.isdigit, text)):
        return UNSURE
    value = Decimal(text)
    if len(digits.rstrip("0")) > scale or value.copy_abs() >= Decimal(10) ** (precision - scale):
        return MISFIT
    return UNSURE if len(digits) > scale else value


def _date(text: str) -> Any:
    if not DATE.fullmatch(text):
        return UNSURE if DATE_LIKE.match(text) else MISFIT
    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        return MISFIT


def _micros(text: str) -> Any:
    """Microseconds since 1970; a time without an offset is UTC."""
    found = TIMESTAMP.fullmatch(text)
    if not found:
        return UNSURE if DATE_LIKE.match(text) else MISFIT
    try:
        moment = datetime.fromisoformat(f"{found[1]}T{found[2]}").replace(tzinfo=UTC)
    except ValueError:
        return MISFIT
    offset = timedelta()
    if found[3] and found[3] != "Z":
        offset = timedelta(hours=int(found[3][1:3]), minutes=int(found[3][4:6])) * (
            -1 if found[3][0] == "-" else 1
        )
    return (moment - EPOCH - offset) // timedelta(microseconds=1)
