"""Records of plain or packed lines (json, text). Blank lines are no records, but count as lines."""

import sys
from collections.abc import Iterator
from io import BufferedReader

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile, unpack
from spark_jobs.bronze.batches import RECORDS, Record, make_batch
from spark_jobs.landing.content import BOM

BLOCK_BYTES = 8 * 1024 * 1024
LONGEST_LINE = 64 * 1024 * 1024
"""Of a packed file, which may hold a thousand times its size."""


def read_lines(opened: BufferedReader, file: ArrivedFile) -> Iterator[pa.RecordBatch]:
    """Splits blocks of whole lines in Arrow rather than line by line in Python."""
    first_line = file.start_line
    for block in whole_line_blocks(opened, file):
        lines = pc.split_pattern(pa.array([block], pa.binary()), "\n").flatten()
        numbers = pa.array(range(first_line, first_line + len(lines)), pa.int64())
        first_line += len(lines) - 1 if block.endswith(b"\n") else len(lines)
        yield _decode_lines(numbers, lines)


def _read_blocks(opened: BufferedReader, file: ArrivedFile) -> Iterator[bytes]:
    """The content from where it is new, as far as it went when it arrived; a packed file is always read whole."""
    content = unpack(opened, file)
    if not file.is_packed:
        content.seek(file.start_byte)
    rest = sys.maxsize if file.is_packed else file.size - file.start_byte
    while rest > 0 and (block := content.read(min(BLOCK_BYTES, rest))):
        rest -= len(block)
        yield block


def whole_line_blocks(opened: BufferedReader, file: ArrivedFile) -> Iterator[bytes]:
    """The content in pieces that end with a line."""
    blocks = _read_blocks(opened, file)
    first = next(blocks, b"")
    rest = first if file.start_byte else first.removeprefix(BOM)
    for block in blocks:
        end = block.rfind(b"\n") + 1
        if end:
            yield rest + block[:end]
            rest = block[end:]
        else:
            rest += block
        if file.is_packed and len(rest) > LONGEST_LINE:
            raise UnreadableFile(f"a line is longer than {LONGEST_LINE:,} bytes")
    if rest:
        yield rest


def _decode_lines(numbers: pa.Array, lines: pa.Array) -> pa.RecordBatch:
    try:
        texts = lines.cast(pa.string())
    except pa.ArrowInvalid:  # a line of this block is not UTF-8: find which, at Python's speed
        decoded = map(_decode_line, numbers.to_pylist(), lines.to_pylist())
        return make_batch([record for record in decoded if record is not None])
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
