"""How many records a file holds, counted in another way than by reading them: its lines, the rows in its
footer, the sums of its blocks.

What was read is compared with it before anything is written. There is no such way for XML, nor for CSV with
quotes, whose fields may hold line ends.
"""

import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from io import SEEK_CUR, BufferedReader
from typing import BinaryIO

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile, unpack
from spark_jobs.bronze.lines import line_end, read_start
from spark_jobs.config.sources import FileSource
from spark_jobs.config.text import count
from spark_jobs.landing.content import BOM

BLOCK_BYTES = 1024 * 1024
AVRO_MAGIC, AVRO_MARKER_BYTES = b"Obj\x01", 16
BLANK, DOUBTFUL, RECORD = 0, 1, 2
NO_PRINTABLE = re.compile(rb"\n([^!-~\n]*)(?=\n)")
"""A line that has no printable character of ASCII in it: it is worth a second look."""
BYTES_OF_BLANKS = (
    b"\t\n\x0b\x0c\r\x1c\x1d\x1e\x1f"
    b" \xc2\x85\xa0\xe1\x9a\x80\xe2\x81\x82\x83\x84\x86\x87\x88\x89\x8a\xa8\xa9\xaf\x9f\xe3"
)
"""All bytes that the blanks of Unicode are made of."""


@dataclass(frozen=True)
class Count:
    """How many records there are, between two numbers: a line of nothing but Unicode's blanks may be one or
    none.
    """

    least: int
    most: int
    way: str

    def check(self, read: int) -> None:
        if not self.least <= read <= self.most:
            raise UnreadableFile(
                f"{count(read, 'record was', 'records were')} read, but it holds {self.most:,} by {self.way}"
            )


def count_records(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> Count | None:
    """None where there is no cheap second way."""
    match source.format:
        case "parquet":
            import pyarrow.parquet as pq  # only where a Parquet file is read

            opened.seek(0)
            return _exactly(pq.read_metadata(opened).num_rows, "the rows in its footer")
        case "orc":
            from pyarrow import orc  # only where an ORC file is read

            opened.seek(0)
            return _exactly(orc.ORCFile(opened).nrows, "the rows in its footer")
        case "avro":
            opened.seek(0)
            return _exactly(sum(_avro_counts(opened)), "the sum of its blocks")
        case "csv":
            return _count_sheet(opened, file, source)
        case "json" | "text":
            certain, doubtful = count_lines(_blocks(opened, file), _judge_line, source.bytes_per_record)
            return Count(certain, certain + doubtful, "its lines")
    return None


def count_lines(blocks: Iterable[bytes], judge: Callable[[bytes], int], longest: int) -> tuple[int, int]:
    """The lines that are records, and those that may be. No line is ever put together: only what is known of
    the open one is kept. A blank line that is longer than a record may be is set aside as one.
    """
    found, open_line, open_size = [0, 0, 0], BLANK, 0

    def judge_long(line: bytes, before: int = 0) -> int:
        return max(judge(line), DOUBTFUL if before + len(line) > longest else BLANK)

    for block in blocks:
        first, last = block.find(b"\n"), block.rfind(b"\n")
        if first < 0:
            open_line, open_size = max(open_line, judge_long(block, open_size)), open_size + len(block)
            continue
        found[max(open_line, judge_long(block[:first], open_size))] += 1
        suspects = [judge_long(match[1]) for match in NO_PRINTABLE.finditer(block, first, last + 1)]
        found[RECORD] += block.count(b"\n", first, last + 1) - 1 - len(suspects)
        for suspect in suspects:
            found[suspect] += 1
        open_line, open_size = judge_long(block[last + 1 :]), len(block) - last - 1
    found[open_line] += 1
    return found[RECORD], found[DOUBTFUL]


def _count_sheet(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> Count | None:
    """The lines without the header, those that are skipped and comments. A row ends with a line feed, a
    carriage return or both; one that is too long leaves no count.
    """
    is_plain, size, quote = True, 0, (source.quotes or "").encode()
    end = line_end(read_start(opened, file))

    def unquoted() -> Iterator[bytes]:
        nonlocal is_plain, size
        for block in _rows_of(_blocks(opened, file), source, end):
            lengths = [len(line) for line in block.split(b"\n")]
            lengths[0] += size
            size = lengths[-1]
            is_plain = not (quote and quote in block) and max(lengths) <= source.bytes_per_record
            if not is_plain:
                return
            yield block.replace(b"\r", b"\n")

    certain, doubtful = count_lines(unquoted(), _judge_row, source.bytes_per_record)
    headers = int(source.header is True)
    return (
        None
        if not is_plain
        else Count(max(0, certain - headers), max(0, certain + doubtful - headers), "its lines")
    )


def _rows_of(blocks: Iterator[bytes], source: FileSource, end: bytes) -> Iterator[bytes]:
    """The content behind the lines that are skipped; of a comment only its end is left."""
    to_skip, is_comment, begins = source.skip_lines, False, True
    for block in blocks:
        at = 0
        while to_skip and (found := block.find(end, at) + 1):
            at, to_skip = found, to_skip - 1
        if to_skip:
            continue
        rest = block[at:]
        if source.comment and rest:
            rest, is_comment, begins = _without_comments(
                rest, source.comment.encode(), end, is_comment, begins
            )
        yield rest


def _without_comments(
    block: bytes, mark: bytes, end: bytes, is_comment: bool, begins: bool
) -> tuple[bytes, bool, bool]:
    """The block; whether it ends within a comment, and whether it ends with a line. It begins as the one
    before it has ended.
    """
    if is_comment:
        found = block.find(end)
        if found < 0:
            return b"", True, False
        block = block[found:]
    lines = block.split(end)
    kept = [
        b"" if line.startswith(mark) and (number or begins) else line for number, line in enumerate(lines)
    ]
    return end.join(kept), lines[-1].startswith(mark) and (len(lines) > 1 or begins), not lines[-1]


def _avro_counts(opened: BufferedReader) -> Iterator[int]:
    """What the blocks say of themselves; their content is passed over."""
    opened.read(len(AVRO_MAGIC))
    while entries := _avro_number(opened):
        if entries < 0:
            _avro_number(opened)
        for _ in range(2 * abs(entries)):
            opened.read(_avro_number(opened))
    opened.read(AVRO_MARKER_BYTES)
    while opened.peek(1):
        yield _avro_number(opened)
        opened.seek(_avro_number(opened) + AVRO_MARKER_BYTES, SEEK_CUR)


def _avro_number(opened: BufferedReader) -> int:
    """Seven bits a byte, the lowest first; the last bit of all is the sign."""
    value = shift = 0
    while byte := opened.read(1):
        value |= (byte[0] & 0x7F) << shift
        shift += 7
        if byte[0] < 0x80:
            break
    return (value >> 1) ^ -(value & 1)


def _judge_line(line: bytes) -> int:
    return BLANK if not line.strip() else RECORD if line.translate(None, BYTES_OF_BLANKS) else DOUBTFUL


def _judge_row(line: bytes) -> int:
    return BLANK if not line else RECORD if line.translate(None, BYTES_OF_BLANKS) else DOUBTFUL


def _blocks(opened: BufferedReader, file: ArrivedFile) -> Iterator[bytes]:
    """The unpacked content from where it is new, as far as it went when it arrived."""
    content: BinaryIO = unpack(opened, file)
    rest = sys.maxsize if file.is_packed else file.size - file.start_byte
    if not file.is_packed:
        content.seek(file.start_byte)
    is_first = file.start_byte == 0
    while rest > 0 and (block := content.read(min(BLOCK_BYTES, rest))):
        rest -= len(block)
        yield block.removeprefix(BOM) if is_first else block
        is_first = False


def _exactly(number: int, way: str) -> Count:
    return Count(number, number, way)
