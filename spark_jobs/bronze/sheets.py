"""Records of CSV files: each row as a JSON object by the header's names.

Quotes are read strictly. One that is never closed, or that has text behind it, leaves in doubt where each row
of the file begins and ends: such a file is refused as a whole, with the line, and so is one with a line end
inside a row that is not quoted.
"""

import csv
import io
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from io import BufferedReader

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile
from spark_jobs.bronze.batches import NOT_UTF8, OTHER_WIDTH, TOO_LONG, Record, Tally, set_aside
from spark_jobs.bronze.lines import LongLine, line_blocks, read_start
from spark_jobs.config.text import count

csv.field_size_limit(2**31 - 1)  # for the whole process: how long a record may be is counted here, per source
as_json = json.JSONEncoder(ensure_ascii=False).encode
LINE_ENDS, QUOTE = (b"\n", b"\r"), b'"'
NEVER_CLOSED = "a quote is opened and never closed"
WRONG = {
    "unexpected end of data": NEVER_CLOSED,
    "expected after": "text follows a closing quote; a quote within a quoted value is written twice",
    "new-line character": (
        "a line end of another kind than the file's stands within a row; a value that has one is quoted"
    ),
}
"""What Python's reader says, and what it means."""


class _TooLong(Exception):
    """The row is longer than a record may be; the reader is in the middle of it."""


class _Quotes:
    """Whether the text so far ends within a quoted value. It follows rows that are too long for a reader: a
    quote opens a value only where it is the first of it (`5" pipe` has none).
    """

    def __init__(self, delimiter: str) -> None:
        self.delimiter = delimiter.encode()

    def begin(self, *, is_quoted: bool) -> None:
        """The text begins in the middle of a quoted value, or as a row does."""
        self.is_quoted, self.rest = is_quoted, b"" if is_quoted else self.delimiter

    def follow(self, piece: bytes) -> None:
        text, at = self.rest + piece, 0
        self.rest = b""
        while at < len(text):
            at = self._find_close(text, at) if self.is_quoted else self._find_open(text, at)

    def _find_open(self, text: bytes, at: int) -> int:
        found = text.find(self.delimiter + QUOTE, at)
        self.is_quoted = found >= 0
        if not self.is_quoted:  # its quote may be the next byte
            self.rest = text[max(at, len(text) - len(self.delimiter)) :]
            return len(text)
        return found + len(self.delimiter) + 1

    def _find_close(self, text: bytes, at: int) -> int:
        found = text.find(QUOTE, at)
        if found < 0:
            return len(text)
        if found + 1 == len(text):  # it closes the value unless another one follows
            self.rest = QUOTE
            return len(text)
        self.is_quoted = text.startswith(QUOTE, found + 1)
        return found + 1 + self.is_quoted

    def ends_within(self) -> bool:
        return self.is_quoted and self.rest != QUOTE


class _Lines:
    """The lines of a file as the CSV reader asks for them, with where it is. It goes on after an error, as a
    generator could not.
    """

    def __init__(self, lines: Iterator[bytes | LongLine], quotes: _Quotes, longest: int) -> None:
        self.lines, self.quotes, self.longest = lines, quotes, longest
        self.number = self.first = self.size = 0
        self.is_utf8 = self.is_quoted = True

    def begin(self) -> None:
        """A row begins with the next line."""
        self.first, self.size, self.is_utf8, self.is_quoted = self.number + 1, 0, True, False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        # a reader that wants a second line for its row is within a quoted value
        self.is_quoted = self.number >= self.first
        line = self._next_line()
        if self.size > self.longest or isinstance(line, LongLine):
            self._follow_quotes(line)
            raise _TooLong
        try:
            return line.decode()
        except UnicodeDecodeError:
            self.is_utf8 = False
            return line.decode(errors="surrogateescape")

    def skip_row(self) -> None:
        """Pass over the rest of a row that is too long: as far as the line that closes its quoted value."""
        try:
            while self.is_quoted:
                self._follow_quotes(self._next_line())
        except StopIteration:
            raise UnreadableFile(f"line {self.first:,}: {NEVER_CLOSED}") from None

    def _next_line(self) -> bytes | LongLine:
        """One that is long is followed while it is passed over."""
        self.quotes.begin(is_quoted=self.is_quoted)
        line = next(self.lines)
        self.number += 1
        self.size += line.size if isinstance(line, LongLine) else len(line) - line.endswith(LINE_ENDS)
        return line

    def _follow_quotes(self, line: bytes | LongLine) -> None:
        """Whether the row goes on behind this line."""
        if isinstance(line, bytes):
            self.quotes.follow(line)
        self.is_quoted = self.quotes.ends_within()


def check_sheet(opened: BufferedReader, file: ArrivedFile, delimiter: str, longest: int) -> None:
    """Read it to its end, so that what cannot be read is known before the first record."""
    lines = _open_lines(opened, file, delimiter, longest)
    rows = _csv_rows(lines, delimiter)
    header, tally = _read_header(rows, lines), Tally()
    for line, row in rows:
        tally.total += 1
        if row is None:
            tally.add(TOO_LONG, line)
        elif len(row) != len(header):
            tally.add(OTHER_WIDTH, line)
        elif not lines.is_utf8:
            tally.add(NOT_UTF8, line)
    tally.check()


def read_sheet(opened: BufferedReader, file: ArrivedFile, delimiter: str, longest: int) -> Iterator[Record]:
    """Each row as a JSON object by the header's names, so that it can be read alone, whatever the order of
    columns in its file.
    """
    lines = _open_lines(opened, file, delimiter, longest)
    rows = _csv_rows(lines, delimiter)
    header = _read_header(rows, lines)
    for line, row in rows:
        yield _csv_record(line, header, row) if row is not None else set_aside(line, lines.size, longest)


def _open_lines(opened: BufferedReader, file: ArrivedFile, delimiter: str, longest: int) -> _Lines:
    """Lines end as the first ones do: with a carriage return alone only where the file begins without any
    line feed; what stands behind the last byte of it is not known.
    """
    start = read_start(opened, file)
    end = b"\r" if b"\r" in start[:-1] and b"\n" not in start else b"\n"
    quotes = _Quotes(delimiter)
    blocks = line_blocks(opened, file, longest, end, quotes.follow)
    return _Lines(_each_line(blocks, end), quotes, longest)


def _each_line(blocks: Iterable[bytes | LongLine], end: bytes) -> Iterator[bytes | LongLine]:
    for block in blocks:
        if isinstance(block, LongLine):
            yield block
        elif end == b"\n":
            yield from io.BytesIO(block)
        else:
            texts = block.split(end)
            yield from (text + end for text in texts[:-1])
            yield from texts[-1:] if texts[-1] else ()


def _csv_rows(lines: _Lines, delimiter: str) -> Iterator[tuple[int, list[str] | None]]:
    """Each row with the number of its last line; None for one that is too long."""
    rows = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        lines.begin()
        try:
            row = next(rows, None)
        except _TooLong:
            lines.skip_row()
            yield lines.number, None
            continue
        except csv.Error as error:
            meaning = next((meaning for said, meaning in WRONG.items() if said in str(error)), str(error))
            raise UnreadableFile(f"{_place(lines)}: {meaning}") from error
        if row is None:
            return
        if row:
            yield lines.number, row


def _place(lines: _Lines) -> str:
    return f"line {lines.first:,}" + (f" to {lines.number:,}" if lines.number > lines.first else "")


def _read_header(rows: Iterator[tuple[int, list[str] | None]], lines: _Lines) -> list[str]:
    line, names = next(rows, (0, []))
    if names is None:
        raise UnreadableFile(
            f"line {line:,}: the header has {lines.size:,} bytes, more than bytes_per_record allows:"
            f" {lines.longest:,}"
        )
    if not lines.is_utf8:
        raise UnreadableFile(f"line {line:,}: the header is not UTF-8 text; land the file as UTF-8")
    header = [name.strip() for name in names]
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if "" in header or repeated:
        raise UnreadableFile(f"the header has an empty or repeated name: {repeated or header}")
    return header


def _csv_record(line: int, header: list[str], row: list[str]) -> Record:
    if len(row) != len(header):
        return line, _clean(as_json(row)), f"{count(len(row), 'field')}, the header has {len(header)}"
    text = as_json(dict(zip(header, row, strict=True)))
    clean = _clean(text)
    return line, clean, None if clean is text else "not UTF-8 text"


def _clean(text: str) -> str:
    """The text itself, or with its undecodable bytes written out as \\xNN."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return text
