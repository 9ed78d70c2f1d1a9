"""The records of one landed file, read where the task runs. What leaves: Arrow batches of (line, record, problem), one row per record.

A record that cannot be told apart from its neighbours (a CSV row of the wrong width, a line that is not UTF-8) keeps its text and
gets a problem. A file that cannot be read gives one row at line 0 with its problem, and none of its records.
"""

import csv
import gzip
import io
import json
import zlib
from base64 import b64encode
from collections import deque
from collections.abc import Iterable, Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import Any, BinaryIO, cast

import pyarrow as pa
import pyarrow.compute as pc

RECORDS = pa.schema([("line", pa.int64()), ("record", pa.string()), ("problem", pa.string())])
BLOCK_BYTES = 8 * 1024 * 1024
ROWS_PER_BATCH = 20_000
BOM = b"\xef\xbb\xbf"
LONGEST_CSV_FIELD = 64 * 1024 * 1024

Record = tuple[int, str, str | None]


def read_records(path: str, file_format: str, delimiter: str) -> Iterator[pa.RecordBatch]:
    """All records of the file, or its problem: it is read to its end once before the first record is handed on."""
    try:
        if file_format == "parquet":
            deque(_parquet_batches(path), maxlen=0)
            yield from _batches(_parquet_records(path))
        elif file_format == "csv":
            deque(_csv_rows(path, delimiter), maxlen=0)
            yield from _batches(_csv_records(path, delimiter))
        else:
            _read_through(path)
            yield from _line_records(path)
    except (OSError, EOFError, zlib.error, csv.Error, UnreadableFile, pa.ArrowException) as error:
        yield _one_batch([(0, None, f"{type(error).__name__}: {_first_line(error)}")])


class UnreadableFile(ValueError):
    """The file as a whole cannot be read: its reason."""


def _open(path: str) -> BinaryIO:
    return cast(BinaryIO, gzip.open(path, "rb")) if path.endswith(".gz") else open(path, "rb")


def _read_through(path: str) -> None:
    """Plain lines cannot fail; a compressed file may be cut anywhere."""
    if path.endswith(".gz"):
        with _open(path) as file:
            while file.read(BLOCK_BYTES):
                pass


def _line_records(path: str) -> Iterator[pa.RecordBatch]:
    """Splits blocks of whole lines in Arrow rather than line by line in Python. Blank lines are no records, but count as lines."""
    first_line = 1
    for block in _whole_line_blocks(path):
        lines = pc.split_pattern(pa.array([block], pa.binary()), "\n").flatten()
        numbers = pa.array(range(first_line, first_line + len(lines)), pa.int64())
        first_line += len(lines) - 1 if block.endswith(b"\n") else len(lines)
        yield _decode_lines(numbers, lines)


def _whole_line_blocks(path: str) -> Iterator[bytes]:
    with _open(path) as file:
        rest = file.read(BLOCK_BYTES).removeprefix(BOM)
        while block := file.read(BLOCK_BYTES):
            end = block.rfind(b"\n") + 1
            if end:
                yield rest + block[:end]
                rest = block[end:]
            else:
                rest += block
        if rest:
            yield rest


def _decode_lines(numbers: pa.Array, lines: pa.Array) -> pa.RecordBatch:
    try:
        texts = lines.cast(pa.string())
    except pa.ArrowInvalid:  # a line of this block is not UTF-8: find which, at Python's speed
        decoded = map(_decode_line, numbers.to_pylist(), lines.to_pylist())
        return _one_batch([record for record in decoded if record is not None])
    texts = pc.utf8_rtrim(texts, "\r")
    is_record = pc.not_equal(pc.utf8_trim_whitespace(texts), "")
    kept = texts.filter(is_record)
    return pa.RecordBatch.from_arrays([numbers.filter(is_record), kept, pa.nulls(len(kept), pa.string())], schema=RECORDS)


def _decode_line(number: int, line: bytes) -> Record | None:
    if not line.strip():
        return None
    try:
        return number, line.rstrip(b"\r").decode(), None
    except UnicodeDecodeError:
        return number, line.rstrip(b"\r").decode(errors="backslashreplace"), "not UTF-8 text"


def _csv_rows(path: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(LONGEST_CSV_FIELD)
    with io.TextIOWrapper(_open(path), encoding="utf-8-sig", errors="surrogateescape", newline="") as file:
        rows = csv.reader(file, delimiter=delimiter)
        for row in rows:
            if row:
                yield rows.line_num, row


def _csv_records(path: str, delimiter: str) -> Iterator[Record]:
    """Each row as a JSON object by the header's names, so that it can be read alone, whatever the order of columns in its file."""
    rows = _csv_rows(path, delimiter)
    _, names = next(rows, (0, []))
    header = [name.strip() for name in names]
    _check_header(header)
    for line, row in rows:
        yield _csv_record(line, header, row)


def _check_header(header: list[str]) -> None:
    repeated = sorted({name for name in header if header.count(name) > 1})
    if "" in header or repeated:
        raise UnreadableFile(f"the header has an empty or repeated name: {repeated or header}")


def _csv_record(line: int, header: list[str], row: list[str]) -> Record:
    if len(row) != len(header):
        return line, _clean(json.dumps(row, ensure_ascii=False)), f"{len(row)} fields, the header has {len(header)}"
    text = json.dumps(dict(zip(header, row, strict=True)), ensure_ascii=False)
    clean = _clean(text)
    return line, clean, None if clean is text else "not UTF-8 text"


def _clean(text: str) -> str:
    """The text itself, or with its undecodable bytes written out as \\xNN."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return text


def _parquet_batches(path: str) -> Iterator[pa.RecordBatch]:
    import pyarrow.parquet as pq  # only where a Parquet file is read: it takes a tenth of a second

    yield from pq.ParquetFile(path).iter_batches(ROWS_PER_BATCH)


def _parquet_records(path: str) -> Iterator[Record]:
    rows = (row for batch in _parquet_batches(path) for row in batch.to_pylist())
    for line, row in enumerate(rows, start=1):
        yield line, json.dumps(row, default=_as_json, ensure_ascii=False), None


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


def _batches(records: Iterable[Record]) -> Iterator[pa.RecordBatch]:
    iterator = iter(records)
    while rows := list(islice(iterator, ROWS_PER_BATCH)):
        yield _one_batch(rows)


def _one_batch(rows: list[Any]) -> pa.RecordBatch:
    columns = zip(*rows, strict=True) if rows else ([], [], [])
    return pa.RecordBatch.from_arrays([pa.array(column, kind) for column, kind in zip(columns, RECORDS.types, strict=True)], schema=RECORDS)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0][:300] if str(error) else "no further word"
