"""Records of XML files: each element `row_tag` as a JSON object. Attributes and inner elements are its fields, by their names without
namespace; what occurs several times is a list, and the text of an element that has fields is its field `value`.

A file that declares entities is refused, because they can grow without end; so is an element without end, or nested too deeply.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from io import BufferedReader
from typing import Any
from xml.parsers import expat

from spark_jobs.bronze.arrived import ArrivedFile, UnreadableFile, unpack
from spark_jobs.bronze.batches import Record

BLOCK_BYTES = 64 * 1024
DEEPEST = 100
LONGEST_RECORD = 64 * 1024 * 1024
TEXT = "value"

Path = tuple[str, ...]


def read_xml(opened: BufferedReader, file: ArrivedFile, row_tag: str, lists: frozenset[Path]) -> Iterator[Record]:
    """The records in their order, numbered from 1."""
    reader = _Reader(row_tag, lists)
    parser = expat.ParserCreate(namespace_separator="}")
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler, parser.EntityDeclHandler = reader.text, _refuse_entity
    parser.buffer_text = True
    content, line, is_last = unpack(opened, file), 0, False
    while not is_last:
        block = content.read(BLOCK_BYTES)
        is_last = not block
        try:
            parser.Parse(block, is_last)
        except expat.ExpatError as error:
            raise UnreadableFile(f"not well-formed XML: {error}") from error
        for row in reader.take():
            line += 1
            yield line, json.dumps(row, ensure_ascii=False), None


def _refuse_entity(name: str, *_: Any) -> None:
    raise UnreadableFile(f"it declares the entity {name[:50]!r}; entities are not expanded: land the file without them")


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
        text = "".join(self.texts).strip()
        if text and (self.fields or is_row):
            self.add(TEXT, text, is_list=False)
        return self.fields if self.fields or is_row else text or None


class _Reader:
    """Builds rows from the parser's events, one open element of a row on top of the other."""

    def __init__(self, row_tag: str, lists: frozenset[Path]) -> None:
        self.row_tag, self.lists = row_tag, lists
        self.open: list[_Element] = []
        self.rows: list[dict[str, Any]] = []
        self.size = self.depth = 0

    def take(self) -> list[dict[str, Any]]:
        rows, self.rows = self.rows, []
        return rows

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        name = _local(tag)
        self.depth += 1
        if self.depth > DEEPEST:
            raise UnreadableFile(f"elements are nested more than {DEEPEST} deep")
        if not self.open and name != self.row_tag:
            return
        self.open.append(_Element((*self.open[-1].path, name) if self.open else ()))
        for key, value in attributes.items():
            self._measure(len(key) + len(value))
            self._add(self.open[-1], _local(key), value)

    def end(self, _: str) -> None:
        self.depth -= 1
        if not self.open:
            return
        element = self.open.pop()
        if self.open:
            self._add(self.open[-1], element.path[-1], element.value(is_row=False))
        else:
            self.rows.append(element.value(is_row=True))
            self.size = 0

    def text(self, text: str) -> None:
        if self.open:
            self._measure(len(text))
            self.open[-1].texts.append(text)

    def _add(self, element: _Element, name: str, value: Any) -> None:
        self._measure(len(name))
        element.add(name, value, is_list=(*element.path, name) in self.lists)

    def _measure(self, characters: int) -> None:
        self.size += characters
        if self.size > LONGEST_RECORD:
            raise UnreadableFile(f"an element {self.row_tag!r} is longer than {LONGEST_RECORD:,} characters")


def _local(name: str) -> str:
    return name.rpartition("}")[2]
