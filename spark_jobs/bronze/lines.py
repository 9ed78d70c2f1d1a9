"""Records of plain or packed lines (json, text). Blank lines are no records, but count as lines."""

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import BufferedReader

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile, unpack
from spark_jobs.bronze.batches import (
    NO_OBJECTS,
    NOT_UTF8,
    ONE_ARRAY,
    ONE_OBJECT,
    RECORDS,
    TOO_LONG,
    Record,
    Tally,
    make_batch,
    measure,
    set_aside,
)
from spark_jobs.bronze.recognise import START_BYTES
from spark_jobs.landing.content import BOM

BLOCK_BYTES = 8 * 1024 * 1024
LINE_START = 4

PassOver = Callable[[bytes], None]
"""Hears the content of a line that is not kept, piece by piece."""


@dataclass(frozen=True)
class LongLine:
    """A line that is longer than a record may be: it is not kept, but for its first bytes."""

    size: int
    start: bytes = b""


class _Begun:
    """The beginning of a line whose end was not read yet; of one that is too long only the size."""

    def __init__(self, longest: int, pass_over: PassOver) -> None:
        self.longest, self.pass_over, self.size, self.start = longest, pass_over, 0, b""
        self.pieces: list[bytes] = []

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        self.start = self.start or piece[:LINE_START]
        self.pieces.append(piece)
        if self.size > self.longest:
            self.pass_over(b"".join(self.pieces))
            self.pieces.clear()

    def is_too_long(self, more: int = 0) -> bool:
        return self.size + more > self.longest


def read_start(opened: BufferedReader, file: ArrivedFile) -> bytes:
    """The beginning of what is new in the file, without a mark of UTF-8."""
    return next(_read_blocks(opened, file, START_BYTES), b"")


def line_end(start: bytes) -> bytes:
    """Lines of CSV end as the first ones do: with a carriage return alone only where the file begins without
    any line feed; what stands behind the last byte of its beginning is not known.
    """
    return b"\r" if b"\r" in start[:-1] and b"\n" not in start else b"\n"


def check_line_ends(start: bytes) -> None:
    """UnreadableFile where lines end with a carriage return alone: all of them would be one record, without a
    word.
    """
    if b"\n" not in start and b"\r" in start.rstrip(b"\r"):
        raise UnreadableFile("its lines end with a carriage return alone; land it with line feeds")


def _forget(_: bytes) -> None:
    """Nobody asks what stood in a line that is too long."""


def line_blocks(
    opened: BufferedReader,
    file: ArrivedFile,
    longest: int,
    end: bytes = b"\n",
    pass_over: PassOver = _forget,
) -> Iterator[bytes | LongLine]:
    """The content in pieces that end with a line. A line that is longer than a record may be and than a block
    comes alone, without its content: it is never held in memory as a whole.
    """
    begun = _Begun(longest, pass_over)
    for block in _read_blocks(opened, file, BLOCK_BYTES):
        first = block.find(end) + 1
        if not first:
            begun.add(block)
            continue
        rest = block
        if begun.is_too_long(more=first - 1):
            begun.add(block[: first - 1])
            yield LongLine(begun.size, begun.start)
            begun, rest = _Begun(longest, pass_over), block[first:]
        last = rest.rfind(end) + 1
        if whole := b"".join((*begun.pieces, rest[:last])):
            yield whole
        begun = _Begun(longest, pass_over)
        begun.add(rest[last:])
    if begun.is_too_long():
        yield LongLine(begun.size, begun.start)
    elif begun.size:
        yield b"".join(begun.pieces)


def check_lines(opened: BufferedReader, file: ArrivedFile, longest: int, *, are_objects: bool) -> None:
    """Read it to its end, so that what cannot be read is known before the first record: UnreadableFile where
    too many lines are none.
    """
    tally, number, begins = Tally(), file.start_line, b""
    for block in line_blocks(opened, file, longest):
        if not begins and isinstance(block, bytes):
            begins = block.lstrip()[:1]
        if isinstance(block, LongLine):
            tally.add(TOO_LONG, number)
            count = 1
        else:
            count = block.count(b"\n") + (not block.endswith(b"\n"))
            if not _is_fine(block, count, longest, are_objects):
                _count_broken(tally, block, number, longest, are_objects)
        tally.total, number = tally.total + count, number + count
    if begins == b"[" or (begins == b"{" and tally.first.get(NO_OBJECTS) == file.start_line):
        tally.hints[NO_OBJECTS] = ONE_ARRAY if begins == b"[" else ONE_OBJECT
    tally.check()


def read_lines(opened: BufferedReader, file: ArrivedFile, longest: int) -> Iterator[pa.RecordBatch]:
    """Splits blocks of whole lines in Arrow rather than line by line in Python."""
    first_line = file.start_line
    for block in line_blocks(opened, file, longest):
        if isinstance(block, LongLine):
            yield make_batch([set_aside(first_line, block.size, longest)])
            first_line += 1
            continue
        lines = pc.split_pattern(pa.array([block], pa.binary()), "\n").flatten()
        numbers = pa.array(np.arange(first_line, first_line + len(lines)), pa.int64())
        first_line += len(lines) - 1 if block.endswith(b"\n") else len(lines)
        yield _decode_lines(numbers, lines, longest)


def _read_blocks(opened: BufferedReader, file: ArrivedFile, block_bytes: int) -> Iterator[bytes]:
    """The content from where it is new, as far as it went when it arrived; a packed file is always read
    whole.
    """
    content = unpack(opened, file)
    if not file.is_packed:
        content.seek(file.start_byte)
    rest = sys.maxsize if file.is_packed else file.size - file.start_byte
    is_first = not file.start_byte
    while rest > 0 and (block := content.read(min(block_bytes, rest))):
        rest -= len(block)
        if is_first:
            block, is_first = block.removeprefix(BOM), False
        yield block


def _is_fine(block: bytes, lines: int, longest: int, are_objects: bool) -> bool:
    """Whether nothing can be wrong with any of its lines; quick, because it is asked of every block."""
    if len(block) > longest or (are_objects and not _are_braced(block, lines)):
        return False
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _are_braced(block: bytes, lines: int) -> bool:
    """Whether each line begins and ends as an object does; those of an array over many lines have a comma
    behind them.
    """
    ends = block.count(b"}\n") + block.count(b"}\r\n") + block.endswith(b"}")
    return block.count(b"\n{") + block.startswith(b"{") == lines == ends


def _count_broken(tally: Tally, block: bytes, first_line: int, longest: int, are_objects: bool) -> None:
    for number, line in enumerate(block.split(b"\n"), first_line):
        if not line.strip():
            continue
        if len(line) > longest:
            tally.add(TOO_LONG, number)
            continue
        try:
            line.decode()
        except UnicodeDecodeError:
            tally.add(NOT_UTF8, number)
            continue
        if are_objects and not (line.lstrip().startswith(b"{") and line.rstrip().endswith(b"}")):
            tally.add(NO_OBJECTS, number)


def _decode_lines(numbers: pa.Array, lines: pa.Array, longest: int) -> pa.RecordBatch:
    try:
        is_long = (pc.max(pc.binary_length(lines)).as_py() or 0) > longest
        texts = None if is_long else lines.cast(pa.string())
    except pa.ArrowInvalid:
        texts = None
    if texts is None:  # a line of this block is too long or not UTF-8: find which, at Python's speed
        decoded = (
            _decode_line(number.as_py(), line.as_py(), longest)
            for number, line in zip(numbers, lines, strict=True)
        )
        return make_batch([record for record in decoded if record is not None])
    # One carriage return belongs to the line's end; what stands before it is the sender's. Nearly no line has
    # two.
    has_more = pc.any(pc.ends_with(texts, "\r\r")).as_py()
    texts = pc.replace_substring_regex(texts, "\r$", "") if has_more else pc.utf8_rtrim(texts, "\r")
    is_record = pc.not_equal(pc.utf8_trim_whitespace(texts), "")
    kept = texts.filter(is_record)
    return pa.RecordBatch.from_arrays(
        [numbers.filter(is_record), kept, pa.nulls(len(kept), pa.string())], schema=RECORDS
    )


def _decode_line(number: int, line: bytes, longest: int) -> Record | None:
    """The same of a line alone: which lines are blank must not depend on its neighbours."""
    if not line.strip():
        return None
    if len(line) > longest:
        return set_aside(number, len(line), longest)
    try:
        text = line.removesuffix(b"\r").decode()
        return (number, text, None) if text.strip() else None
    except UnicodeDecodeError:
        text = line.removesuffix(b"\r").decode(errors="backslashreplace")
        return (
            (number, text, "not UTF-8 text")
            if measure(text, longest) <= longest
            else set_aside(number, len(text), longest)
        )
