"""Logical types of Avro as they were sent. By itself fastavro rounds a decimal that has more digits than its
schema says, makes another time of day of one that is negative, and writes a UUID in its own way, without a
word.
"""

import functools
from collections import Counter
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from types import ModuleType
from typing import Any

from spark_jobs.bronze.arrived import UnreadableFile

EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
DECIMALS = ("bytes-decimal", "fixed-decimal")
TIMES_OF_DAY = {"int-time-millis": 86_400_000, "long-time-micros": 86_400_000_000}
"""With how many of their units a day ends."""
MOST_BYTES = 1_000
"""Of a decimal, some 2,400 digits. To write out more takes time by the square of them: for one of 16 MB,
which packs into a few kilobytes, hours.
"""

Read = Callable[..., Any]


@functools.cache
def load_fastavro() -> ModuleType:
    """fastavro, which is imported only where Avro is read, with these readers in the place of its own."""
    import fastavro
    import fastavro.read

    readers = fastavro.read.LOGICAL_READERS
    for kind in DECIMALS:
        readers[kind] = _read_decimal
    readers["string-uuid"] = _read_text
    readers["int-date"] = _read_date(readers["int-date"])
    for kind, end in TIMES_OF_DAY.items():
        readers[kind] = _read_within(end, readers[kind])
    return fastavro


def _read_decimal(data: bytes, schema: dict[Any, Any] | None, _: dict[Any, Any] | None = None) -> Decimal:
    """With all its digits: whether they fit is asked by the column that takes them."""
    if len(data) > MOST_BYTES:
        raise UnreadableFile(f"a decimal of {len(data):,} bytes; it may have {MOST_BYTES:,}")
    unscaled = Decimal(int.from_bytes(data, byteorder="big", signed=True))
    scale = schema.get("scale", 0) if schema else 0
    return unscaled.scaleb(-int(scale), EXACT)


def _read_text(data: str, *_: Any) -> str:
    return data


def _read_date(read: Read) -> Read:
    """A day beyond Python's years fails as a time does that is beyond them."""

    def read_date(data: int, *schemas: Any) -> Any:
        try:
            return read(data, *schemas)
        except ValueError as error:
            raise OverflowError(str(error)) from error

    return read_date


def _read_within(end: int, read: Read) -> Read:
    def read_time(data: int, *schemas: Any) -> Any:
        if not 0 <= data < end:
            raise ValueError(f"{data:,} is no time of day")
        return read(data, *schemas)

    return read_time


def check_fields(schema: Any) -> None:
    """UnreadableFile where a record has two fields of one name: fastavro would keep the last."""
    names = Counter(field["name"] for field in schema.get("fields", ()))
    if repeated := sorted(name for name, number in names.items() if number > 1):
        raise UnreadableFile(f"its schema has a field twice: {', '.join(repeated)[:200]}")
