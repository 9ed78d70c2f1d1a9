"""Records of CSV files: each row as a JSON object by the header's names."""

import csv
import io
import json
from collections import deque
from collections.abc import Iterator
from io import BufferedReader

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile, unpack
from spark_jobs.bronze.batches import Record

LONGEST_FIELD = 64 * 1024 * 1024


def check_sheet(opened: BufferedReader, file: ArrivedFile, delimiter: str) -> None:
    """Read it to its end, so that what cannot be read is known before the first record."""
    rows = _csv_rows(opened, file, delimiter)
    _check_header(_csv_header(rows))
    deque(rows, maxlen=0)


def read_sheet(opened: BufferedReader, file: ArrivedFile, delimiter: str) -> Iterator[Record]:
    """Each row as a JSON object by the header's names, so that it can be read alone, whatever the order of columns in its file."""
    rows = _csv_rows(opened, file, delimiter)
    header = _csv_header(rows)
    for line, row in rows:
        yield _csv_record(line, header, row)


def _csv_rows(opened: BufferedReader, file: ArrivedFile, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(LONGEST_FIELD)
    text = io.TextIOWrapper(unpack(opened, file), encoding="utf-8-sig", errors="surrogateescape", newline="")
    rows = csv.reader(text, delimiter=delimiter)
    try:
        for row in rows:
            if row:
                yield rows.line_num, row
    finally:
        text.detach()  # it would close the file, which is read again


def _csv_header(rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    _, names = next(rows, (0, []))
    return [name.strip() for name in names]


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
