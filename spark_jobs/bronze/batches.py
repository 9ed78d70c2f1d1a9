"""Batches of records: (line, record, problem), one row per record; bounded in rows and bytes, whatever the
file holds.
"""

from collections.abc import Iterable, Iterator
from typing import Any

import pyarrow as pa

RECORDS = pa.schema([("line", pa.int64()), ("record", pa.string()), ("problem", pa.string())])
ROWS_PER_BATCH = 20_000
BYTES_PER_BATCH = 8 * 1024 * 1024
WIDEST_CHARACTER = 4

Record = tuple[int, str | None, str | None]


def make_batches(records: Iterable[Record], longest: int) -> Iterator[pa.RecordBatch]:
    """A record of more than `longest` bytes is set aside: its line and size are kept, not its text."""
    rows: list[Record] = []
    size = 0
    for row in records:
        length = measure(row[1], longest)
        rows.append(row if length <= longest else set_aside(row[0], length, longest))
        size += length
        if len(rows) >= ROWS_PER_BATCH or size >= BYTES_PER_BATCH:
            yield make_batch(rows)
            rows, size = [], 0
    if rows:
        yield make_batch(rows)


def make_batch(rows: list[Any]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.RecordBatch.from_arrays(
        [pa.array(column, kind) for column, kind in zip(columns, RECORDS.types, strict=True)], schema=RECORDS
    )


def measure(text: str | None, longest: int) -> int:
    """The bytes of a text, counted only where they could be more than `longest`; else at least its
    characters.
    """
    if text is None:
        return 0
    return len(text) if len(text) * WIDEST_CHARACTER <= longest else len(text.encode(errors="surrogatepass"))


def set_aside(line: int, size: int, longest: int) -> Record:
    before, after = set_aside_words(longest)
    return line, None, f"{before}{size:,}{after}"


def set_aside_words(longest: int) -> tuple[str, str]:
    """What is said before and behind the size of a record that is too long."""
    return "a record of ", f" bytes, longer than bytes_per_record allows: {longest:,}"
