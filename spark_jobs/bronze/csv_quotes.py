"""What quotes and escapes of CSV mean, where Python's reader does not say."""

import re

from spark_jobs.config.sources import FileSource


class Quotes:
    """Whether the text so far ends within a quoted value. It follows rows that are too long for a reader: a
    quote opens a value only where it is the first of it (`5" pipe` has none).
    """

    def __init__(self, source: FileSource) -> None:
        self.delimiter = source.delimiter.encode()
        self.quote = (source.quotes or "").encode()
        self.escape = (source.escape or "").encode()
        self.escaped = re.compile(re.escape(self.escape) + b".", re.DOTALL) if self.escape else None
        self.begin(is_quoted=False)

    def begin(self, *, is_quoted: bool) -> None:
        """The text begins in the middle of a quoted value, or as a row does."""
        self.is_quoted, self.rest, self.open_escape = is_quoted, b"" if is_quoted else self.delimiter, b""

    def follow(self, piece: bytes) -> None:
        if not self.quote:
            return
        text, at = self.rest + self._without_escaped(piece), 0
        self.rest = b""
        while at < len(text):
            at = self._find_close(text, at) if self.is_quoted else self._find_open(text, at)

    def ends_within(self) -> bool:
        return self.is_quoted and self.rest != self.quote

    def _without_escaped(self, piece: bytes) -> bytes:
        """What an escape stands before opens and closes nothing."""
        if self.escaped is None:
            return piece
        plain = self.escaped.sub(b"\0\0", self.open_escape + piece)
        self.open_escape = self.escape if plain.endswith(self.escape) else b""
        return plain.removesuffix(self.escape)

    def _find_open(self, text: bytes, at: int) -> int:
        found = text.find(self.delimiter + self.quote, at)
        self.is_quoted = found >= 0
        if not self.is_quoted:  # its quote may be the next byte
            self.rest = text[max(at, len(text) - len(self.delimiter)) :]
            return len(text)
        return found + len(self.delimiter) + 1

    def _find_close(self, text: bytes, at: int) -> int:
        found = text.find(self.quote, at)
        if found < 0:
            return len(text)
        if found + 1 == len(text):  # it closes the value unless another one follows
            self.rest = self.quote
            return len(text)
        self.is_quoted = text.startswith(self.quote, found + 1)
        return found + 1 + self.is_quoted


class Escapes:
    """Makes plain text of escapes that stand before anything but a quote, a delimiter or another escape:
    Python's reader would take them away.
    """

    def __init__(self, source: FileSource) -> None:
        self.escape = source.escape or ""
        self.meant = {source.delimiter, source.quotes or source.delimiter, self.escape}
        self.pairs = re.compile(re.escape(self.escape) + "(.?)", re.DOTALL)

    def settle(self, line: str) -> str:
        if not self.escape or self.escape not in line:
            return line
        return self.pairs.sub(lambda pair: pair[0] if pair[1] in self.meant else self.escape + pair[0], line)
