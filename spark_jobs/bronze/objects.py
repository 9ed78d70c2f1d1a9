"""Rows of files that have columns of their own (Parquet, ORC, Avro) as JSON objects by the columns' names."""

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.bronze.batches import BYTES_PER_BATCH, Record, set_aside

AROUND_NAME = 4
"""Quotes, a colon and a blank."""


def read_objects(batches: Iterable[pa.RecordBatch], longest: int) -> Iterator[Record]:
    """Each row of the batches, numbered from 1. Few rows are spelled out at once, and none that is longer
    than a record may be.
    """
    first_line = 1
    for batch in batches:
        for part, size in _parts(batch):
            if size > longest and len(part) == 1:
                yield set_aside(first_line, size, longest)
            else:
                yield from _read_rows(part, first_line)
            first_line += len(part)


def _parts(batch: pa.RecordBatch) -> Iterator[tuple[pa.RecordBatch, int]]:
    """The rows in parts that are not long when their values are spelled out, each with how long it is; a long
    row is a part by itself.
    """
    size = len(batch) * _named(batch.schema.names) + sum(_spelled_out(column) for column in batch.columns)
    if len(batch) <= 1 or size <= BYTES_PER_BATCH:
        yield batch, size
        return
    half = len(batch) // 2
    yield from _parts(batch.slice(0, half))
    yield from _parts(batch.slice(half))


def _spelled_out(values: pa.Array) -> int:
    """The bytes of all texts in the values, each as often as it occurs, of the names within them, and one
    more for each value; what is not text is short.
    """
    kind = values.type
    if pa.types.is_dictionary(kind):
        lengths = _lengths(values.dictionary)
        return len(values) + (
            pc.sum(pc.take(lengths, values.indices)).as_py() or 0 if lengths is not None else 0
        )
    if pa.types.is_struct(kind):
        named: int = (len(values) - values.null_count) * _named(kind.names)
        return (
            len(values) + named + sum(_spelled_out(values.field(index)) for index in range(kind.num_fields))
        )
    if pa.types.is_map(kind):
        start, end = _extent(values)
        return len(values) + sum(
            _spelled_out(inner.slice(start, end - start)) for inner in (values.keys, values.items)
        )
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return len(values) + _spelled_out(values.flatten())
    lengths = _lengths(values)
    return len(values) + (pc.sum(lengths).as_py() or 0 if lengths is not None else 0)


def _named(names: Sequence[str]) -> int:
    """What the names of an object add to its text: a few kilobytes of a file may name thousands of columns,
    each in every row.
    """
    return sum(len(name) + AROUND_NAME for name in names)


def _lengths(values: pa.Array) -> pa.Array | None:
    kind = values.type
    is_text = (
        pa.types.is_string(kind)
        or pa.types.is_large_string(kind)
        or pa.types.is_binary(kind)
        or pa.types.is_large_binary(kind)
    )
    return pc.binary_length(values) if is_text else None


def _extent(values: pa.Array) -> tuple[int, int]:
    """Which of the inner values belong to these: those of a slice are a part of all."""
    return (values.offsets[0].as_py(), values.offsets[-1].as_py()) if len(values) else (0, 0)


def _read_rows(batch: pa.RecordBatch, first_line: int) -> Iterator[Record]:
    batch = _with_whole_times(batch)
    try:
        texts = [as_text(row) for row in _plain(batch).to_pylist()]
    except Exception:  # noqa: BLE001 - a text that is not UTF-8, a time or a zone that Python does not know: find which
        yield from (_read_row(batch, index, first_line + index) for index in range(len(batch)))
    else:
        yield from ((line, text, None) for line, text in enumerate(texts, first_line))


def _plain(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Without dictionaries, which Python would ask for every single value."""
    columns = [
        column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _with_whole_times(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Times of day in nanoseconds as text: Python's end with microseconds."""
    kinds = [_without_nanoseconds(kind) for kind in batch.schema.types]
    if kinds == batch.schema.types:
        return batch
    columns = [column.cast(kind) for column, kind in zip(batch.columns, kinds, strict=True)]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _without_nanoseconds(kind: pa.DataType) -> pa.DataType:
    if "time64[ns]" not in str(kind):
        return kind
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.large_list(_without_nanoseconds(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_without_nanoseconds(kind.key_type), _without_nanoseconds(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, _without_nanoseconds(field.type)) for field in kind])
    return pa.string()


def as_text(row: dict[str, Any]) -> str:
    return _ENCODER.encode(row)


def _read_row(batch: pa.RecordBatch, index: int, line: int) -> Record:
    """The row without the values that cannot be read, which are its problem."""
    texts, broken = [], []
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        try:
            texts.append(as_text({name: column[index].as_py()})[1:-1])
        except Exception as error:  # noqa: BLE001 - whatever a value raises concerns that value alone
            broken.append(f"{name}: {type(error).__name__}")
    return (
        line,
        f"{{{', '.join(texts)}}}",
        f"values that cannot be read: {', '.join(broken)}" if broken else None,
    )


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


_ENCODER = json.JSONEncoder(ensure_ascii=False, default=_as_json)
