"""Records of XML files: each element `row_tag` as a JSON object. Attributes and inner elements are its
fields, by their names without namespace; what occurs several times is a list, and the text of an element that
has fields is its field `value`.

A file that declares entities is refused, because they can grow without end; so is a tag without end, or what
is nested too deeply. A record that is too long is set aside alone.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any
from xml.parsers import expat

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile, unpack
from spark_jobs.bronze.batches import Record, set_aside

BLOCK_BYTES = 64 * 1024
DEEPEST = 100
ENCODINGS = ("UTF-8", "UTF-16", "UTF-16LE", "UTF-16BE", "ISO-8859-1", "US-ASCII")
TEXT = "value"
AROUND_ELEMENT, AROUND_ATTRIBUTE = len("</>"), len(' =""')
"""What they take in a file at least, beside names and values: millions of empty ones are millions of objects.
"""
BLANKS = " \t\r\n"
"""Those of XML; others, such as a blank that does not break, are the sender's."""
TAG = re.compile(rb"""\0?<(?:[^"'>]|"[^"]*"|'[^']*')*>""")
UNKNOWN = re.compile(rb"&(?!(?:amp|lt|gt|apos|quot);|#)[^;\s]*;")

Path = tuple[str, ...]


def read_xml(
    opened: BufferedReader, file: ArrivedFile, row_tag: str, lists: frozenset[Path], longest: int
) -> Iterator[Record]:
    """The records in their order, numbered from 1."""
    reader = _Reader(row_tag, lists, longest)
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.text, _refuse_entity
    parser.XmlDeclHandler, parser.DefaultHandlerExpand = reader.declare, reader.pass_over
    unread = _Unread(parser)
    parser.StartDoctypeDeclHandler = lambda *_: _look_at_tags(parser, reader, unread)
    parser.buffer_text = True
    content, size, line, is_last = unpack(opened, file), 0, 0, False
    while not is_last:
        block = content.read(_next_block(size - parser.CurrentByteIndex, longest))
        is_last, size = not block, size + len(block)
        unread.add(block)
        try:
            parser.Parse(block, is_last)
        except expat.ExpatError as error:
            raise UnreadableFile(f"not well-formed XML{reader.in_encoding()}: {error}") from error
        except (
            LookupError,
            ValueError,
        ) as error:  # the parser asks Python for encodings that it does not know itself
            if isinstance(error, UnreadableFile):
                raise
            encoding = (reader.encoding or "its own")[:50]
            raise UnreadableFile(
                f"XML in the encoding {encoding!r}, which cannot be read; land it as UTF-8"
            ) from error
        if size - parser.CurrentByteIndex > longest + BLOCK_BYTES:
            raise UnreadableFile(f"a tag or a comment is longer than bytes_per_record allows: {longest:,}")
        for row in reader.take():
            line += 1
            yield (
                set_aside(line, row, longest)
                if isinstance(row, int)
                else (line, json.dumps(row, ensure_ascii=False), None)
            )
    if not line and reader.alike:
        raise UnreadableFile(
            f"it has no element {row_tag!r}, but elements {reader.alike!r}: names are compared with their"
            " case"
        )


def _next_block(waiting: int, longest: int) -> int:
    """How much to read, with so many bytes of a tag or comment without its end: the parser begins it again
    with every block, so that blocks grow with it. No more is read than is allowed.
    """
    return max(BLOCK_BYTES, min(waiting, longest + BLOCK_BYTES - waiting))


def _refuse_entity(name: str, *_: Any) -> None:
    raise UnreadableFile(
        f"it declares the entity {name[:50]!r}; entities are not expanded: land the file without them"
    )


def _refuse_unknown_entity(markup: str) -> None:
    """Of a file whose DTD lies elsewhere the parser passes over what that might declare: `A&nbsp;B` would be
    `AB` without a word. All that tells of it is the handler of markup that no other one gets.
    """
    if markup.startswith("&"):
        shown = markup[:50]
        raise UnreadableFile(
            f"it has the entity {shown!r}, which it does not declare; entities are not expanded: land the"
            " file without them"
        )


class _Unread:
    """What the parser has not come past yet. It would copy all of it for every tag that is asked for."""

    def __init__(self, parser: expat.XMLParserType) -> None:
        self.parser, self.content, self.start = parser, b"", 0

    def add(self, block: bytes) -> None:
        at = max(0, self.parser.CurrentByteIndex)
        self.content, self.start = self.content[at - self.start :] + block, at

    def tag(self) -> bytes:
        """The tag that the parser is at, as it is written; in UTF-16 without its zeros."""
        written = TAG.match(self.content, self.parser.CurrentByteIndex - self.start)
        return written[0].replace(b"\0", b"") if written else b""


def _look_at_tags(parser: expat.XMLParserType, reader: "_Reader", unread: _Unread) -> None:
    """From a DTD on: of an entity in an attribute no handler is told, so tags with attributes are looked at
    as they are written.
    """

    def start(tag: str, attributes: dict[str, str]) -> None:
        for entity in UNKNOWN.findall(unread.tag()) if attributes else ():
            _refuse_unknown_entity(entity.decode(errors="replace"))
        reader.start(tag, attributes)

    parser.StartElementHandler = start


@dataclass
class _Element:
    path: Path
    fields: dict[str, Any] = field(default_factory=dict)
    texts: list[str] = field(default_factory=list)

    def add(self, name: str, value: Any, *, is_list: bool) -> None:
        if name not in self.fields:
            self.fields[name] = [value] if is_list else value
        elif isinstance(self.fields[name], list):
            self.fields[name].append(value)
        else:
            self.fields[name] = [self.fields[name], value]

    def value(self, *, is_row: bool) -> Any:
        """An object, or the text of an element that has nothing else; None where it is empty."""
        text = "".join(self.texts).strip(BLANKS)
        if text and (self.fields or is_row):
            self.add(TEXT, text, is_list=False)
        return self.fields if self.fields or is_row else text or None


class _Reader:
    """Builds rows from the parser's events, one open element of a row on top of the other. Of one that is too
    long its size is kept.
    """

    def __init__(self, row_tag: str, lists: frozenset[Path], longest: int) -> None:
        self.row_tag, self.lists, self.longest = row_tag, lists, longest
        self.open: list[_Element] = []
        self.rows: list[dict[str, Any] | int] = []
        self.size = self.depth = self.row_depth = 0
        self.encoding: str | None = None
        self.alike: str | None = None

    def declare(self, _: str, encoding: str | None, __: int) -> None:
        self.encoding = encoding

    def in_encoding(self) -> str:
        """Of one that the parser has by itself nothing need be said; in others it takes ASCII at least."""
        is_usual = self.encoding is None or self.encoding.upper() in ENCODINGS
        return "" if is_usual else f" in the encoding {str(self.encoding)[:50]!r}"

    def take(self) -> list[dict[str, Any] | int]:
        rows, self.rows = self.rows, []
        return rows

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnreadableFile(f"elements are nested more than {DEEPEST} deep")
        if not self.row_depth:
            if name != self.row_tag:
                self.alike = name if name.lower() == self.row_tag.lower() else self.alike
                return
            self.row_depth = self.depth
        self._measure(len(name) + AROUND_ELEMENT)
        self._measure(sum(len(key) + len(value) + AROUND_ATTRIBUTE for key, value in attributes.items()))
        if self.is_too_long:
            return
        self.open.append(_Element((*self.open[-1].path, name) if self.open else ()))
        for key, value in attributes.items():
            self._add(self.open[-1], _local(key), value)

    def end(self, _: str) -> None:
        self.depth -= 1
        if not self.row_depth:
            return
        is_row = self.depth < self.row_depth
        if not self.is_too_long:
            element = self.open.pop()
            if is_row:
                self.rows.append(element.value(is_row=True))
            else:
                self._add(self.open[-1], element.path[-1], element.value(is_row=False))
        elif is_row:
            self.rows.append(self.size)
        if is_row:
            self.size = self.row_depth = 0

    def text(self, text: str) -> None:
        if self.row_depth:
            self._measure(len(text))
            if not self.is_too_long:
                self.open[-1].texts.append(text)

    def pass_over(self, markup: str) -> None:
        """Comments and the like: no part of a record, but they may part its text into millions of pieces."""
        _refuse_unknown_entity(markup)
        if self.row_depth:
            self._measure(len(markup))

    def _add(self, element: _Element, name: str, value: Any) -> None:
        element.add(name, value, is_list=(*element.path, name) in self.lists)

    @property
    def is_too_long(self) -> bool:
        return self.size > self.longest

    def _measure(self, characters: int) -> None:
        self.size += characters
        if self.is_too_long:
            self.open.clear()


def _local(name: str) -> str:
    return name.rpartition("}")[2]
