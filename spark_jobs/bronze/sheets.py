"""Records of CSV files: each row as a JSON object by the names of its fields, which its header or its source
says.

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
from itertools import islice

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile
from spark_jobs.bronze.batches import NOT_UTF8, OTHER_NUMBER, OTHER_WIDTH, TOO_LONG, Record, Tally, set_aside
from spark_jobs.bronze.csv_quotes import Escapes, Quotes
from spark_jobs.bronze.lines import LongLine, line_blocks, line_end, read_start
from spark_jobs.config.sources import FileSource
from spark_jobs.config.text import count

csv.field_size_limit(2**31 - 1)  # for the whole process: how long a record may be is counted here, per source
as_json = json.JSONEncoder(ensure_ascii=False).encode
LINE_ENDS = (b"\n", b"\r")
NEVER_CLOSED = "a quote is opened and never closed"
WRONG = {
    "unexpected end of data": NEVER_CLOSED,
    "expected after": (
        "text follows a closing quote; a quote within a quoted value is written twice, unless the source has"
        " an `escape`"
    ),
    "new-line character": (
        "a line end of another kind than the file's stands within a row; a value that has one is quoted"
    ),
}
"""What Python's reader says, and what it means."""
TRAILING = "; where each line ends with a delimiter, write trailing_delimiter: true in its source"


class _TooLong(Exception):
    """The row is longer than a record may be; the reader is in the middle of it."""


class _Lines:
    """The lines of a file as the CSV reader asks for them, with where it is. It goes on after an error, as a
    generator could not. Comments are lines, and no part of a row.
    """

    def __init__(self, lines: Iterator[bytes | LongLine], quotes: Quotes, source: FileSource) -> None:
        self.lines, self.quotes, self.longest = lines, quotes, source.bytes_per_record
        self.comment, self.escapes = (source.comment or "").encode(), Escapes(source)
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
        while not self.is_quoted and self._is_comment(line):
            self.begin()
            line = self._next_line()
        if self.size > self.longest or isinstance(line, LongLine):
            self._follow_quotes(line)
            raise _TooLong
        try:
            text = line.decode()
        except UnicodeDecodeError:
            self.is_utf8 = False
            text = line.decode(errors="surrogateescape")
        return self.escapes.settle(text)

    def skip(self, number: int) -> None:
        """Pass over lines before the first row, whatever they say."""
        self.number += sum(1 for _ in islice(self.lines, number))

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

    def _is_comment(self, line: bytes | LongLine) -> bool:
        start = line.start if isinstance(line, LongLine) else line
        return bool(self.comment) and start.startswith(self.comment)

    def _follow_quotes(self, line: bytes | LongLine) -> None:
        """Whether the row goes on behind this line."""
        if isinstance(line, bytes):
            self.quotes.follow(line)
        self.is_quoted = self.quotes.ends_within()


class _Fields:
    """What the fields of a row are called. Without a header and without names it is their numbers, as many as
    the first row has.
    """

    def __init__(self, names: list[str] | None, width: int, place: str, source: FileSource) -> None:
        self.names, self.width, self.place = names, width, place
        self.is_trailing = source.trailing_delimiter

    def values_of(self, row: list[str]) -> list[str] | None:
        """One for each name; None where the row has more or fewer."""
        if self.names is None:
            self.width = len(row) - (self.is_trailing and not row[-1])
            self.names = [str(number) for number in range(1, self.width + 1)]
        values, rest = row[: len(self.names)], row[len(self.names) :]
        if self.is_trailing:
            return values if len(row) >= self.width and not any(rest) else None
        return values if len(row) == self.width else None

    def say_other(self, row: list[str]) -> str:
        names = len(self.names or ())
        more = " and a delimiter behind them" if self.width > names else ""
        return f"{count(len(row), 'field')}, {self.place} {names}{more}"


def check_sheet(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> None:
    """Read it to its end, so that what cannot be read is known before the first record."""
    lines = _open_lines(opened, file, source)
    rows = _csv_rows(lines, source)
    fields, tally = _read_header(rows, lines, source), Tally()
    for line, row in rows:
        tally.total += 1
        if row is None:
            tally.add(TOO_LONG, line)
        elif fields.values_of(row) is None:
            tally.add(OTHER_WIDTH if source.header is True else OTHER_NUMBER, line)
        elif not lines.is_utf8:
            tally.add(NOT_UTF8, line)
    tally.check()


def read_sheet(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> Iterator[Record]:
    """Each row as a JSON object by the names of its fields, so that it can be read alone, whatever the order
    of columns in its file.
    """
    lines = _open_lines(opened, file, source)
    rows = _csv_rows(lines, source)
    fields = _read_header(rows, lines, source)
    for line, row in rows:
        yield (
            _csv_record(line, fields, row) if row is not None else set_aside(line, lines.size, lines.longest)
        )


def _open_lines(opened: BufferedReader, file: ArrivedFile, source: FileSource) -> _Lines:
    end, quotes = line_end(read_start(opened, file)), Quotes(source)
    blocks = line_blocks(opened, file, source.bytes_per_record, end, quotes.follow)
    lines = _Lines(_each_line(blocks, end), quotes, source)
    lines.skip(source.skip_lines)
    return lines


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


def _csv_rows(lines: _Lines, source: FileSource) -> Iterator[tuple[int, list[str] | None]]:
    """Each row with the number of its last line; None for one that is too long."""
    rows = csv.reader(
        lines,
        delimiter=source.delimiter,
        quotechar=source.quotes,
        escapechar=source.escape,
        quoting=csv.QUOTE_MINIMAL if source.quotes else csv.QUOTE_NONE,
        strict=True,
    )
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


def _read_header(rows: Iterator[tuple[int, list[str] | None]], lines: _Lines, source: FileSource) -> _Fields:
    if source.header is False:
        return _Fields(None, 0, "the first row has", source)
    if source.header is not True:
        return _Fields(source.header, len(source.header), "its source names", source)
    line, names = next(rows, (0, []))
    if names is None:
        raise UnreadableFile(
            f"line {line:,}: the header has {lines.size:,} bytes, more than bytes_per_record allows:"
            f" {lines.longest:,}"
        )
    if not lines.is_utf8:
        raise UnreadableFile(f"line {line:,}: the header is not UTF-8 text; land the file as UTF-8")
    header = [name.strip() for name in names]
    while source.trailing_delimiter and len(header) > 1 and not header[-1]:
        header.pop()
    repeated = sorted(name for name, count in Counter(header).items() if count > 1)
    if "" in header or repeated:
        hint = TRAILING if header[-1:] == [""] and header.count("") == 1 else ""
        raise UnreadableFile(f"the header has an empty or repeated name: {repeated or header}{hint}")
    return _Fields(header, len(names), "the header has", source)


def _csv_record(line: int, fields: _Fields, row: list[str]) -> Record:
    values = fields.values_of(row)
    if values is None:
        return line, _clean(as_json(row)), fields.say_other(row)
    text = as_json(dict(zip(fields.names or (), values, strict=True)))
    clean = _clean(text)
    return line, clean, None if clean is text else "not UTF-8 text"


def _clean(text: str) -> str:
    """The text itself, or with its undecodable bytes written out as \\xNN."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="surrogateescape").decode(errors="backslashreplace")
    return text
