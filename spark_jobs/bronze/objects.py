"""Rows of files that have columns of their own (Parquet, ORC, Avro) as JSON objects by the columns' names."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

from spark_jobs.bronze.batches import Record


def read_objects(batches: Iterable[pa.RecordBatch]) -> Iterator[Record]:
    """Each row of the batches, numbered from 1."""
    first_line = 1
    for batch in batches:
        try:
            rows = batch.to_pylist()
        except (ValueError, OverflowError):  # a text that is not UTF-8, a time that Python has no number for: find which
            yield from (_read_row(batch, index, first_line + index) for index in range(len(batch)))
        else:
            yield from ((line, as_text(row), None) for line, row in enumerate(rows, first_line))
        first_line += len(batch)


def as_text(row: dict[str, Any]) -> str:
    return json.dumps(row, default=_as_json, ensure_ascii=False)


def _read_row(batch: pa.RecordBatch, index: int, line: int) -> Record:
    """The row without the values that cannot be read, which are its problem."""
    row, broken = {}, []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            row[name] = column[index].as_py()
        except (ValueError, OverflowError) as error:
            broken.append(f"{name}: {type(error).__name__}")
    return line, as_text(row), f"values that cannot be read: {', '.join(broken)}" if broken else None


def _as_json(value: object) -> Any:
    if isinstance(value, datetime):
        return value.isoformat() if value.tzinfo else f"{value.isoformat()}Z"
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    return str(value)
