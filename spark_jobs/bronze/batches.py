"""Batches of records: (line, record, problem), one row per record."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import pyarrow as pa

RECORDS = pa.schema([("line", pa.int64()), ("record", pa.string()), ("problem", pa.string())])
ROWS_PER_BATCH = 20_000

Record = tuple[int, str, str | None]


def make_batches(records: Iterable[Record]) -> Iterator[pa.RecordBatch]:
    iterator = iter(records)
    while rows := list(islice(iterator, ROWS_PER_BATCH)):
        yield make_batch(rows)


def make_batch(rows: list[Any]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.RecordBatch.from_arrays([pa.array(column, kind) for column, kind in zip(columns, RECORDS.types, strict=True)], schema=RECORDS)
