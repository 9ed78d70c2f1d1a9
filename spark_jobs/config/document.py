"""Reads one YAML file into plain data and remembers the line of every key, so that an error can say where it
is.

Stricter than YAML 1.1: only true and false are booleans (`on`, `yes` and `no` stay words), dates and times
stay text, a key stands once, and has a value.
"""

import errno
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import yaml
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from spark_jobs.config.errors import ConfigError, Problem
from spark_jobs.config.files import read_file
from spark_jobs.config.names import shorten

MAX_NODES = 100_000
MAX_DEPTH = 40
KeyPath = tuple[str | int, ...]

_SafeLoader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_TAG = "tag:yaml.org,2002:"
_PLAIN_WORDS = [
    ("bool", r"true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("null", r"~|null|Null|NULL|", "~nN"),
]


class _Loader(_SafeLoader):  # type: ignore[misc]
    """The safe loader without YAML 1.1's guesses at what a plain word means."""

    yaml_implicit_resolvers: ClassVar[dict[str, list[Any]]] = {}


for _name, _pattern, _first in _PLAIN_WORDS:
    _Loader.add_implicit_resolver(
        _TAG + _name, re.compile(f"^(?:{_pattern})$"), [*_first, ""] if _name == "null" else list(_first)
    )


@dataclass(frozen=True)
class Document:
    """A file's data and the line of each of its keys and list items."""

    file: str
    data: dict[str, Any]
    lines: dict[KeyPath, int] = field(repr=False)

    def line_of(self, path: Sequence[str | int]) -> int:
        """The line of the key, or of the nearest key above it that the file has."""
        for length in range(len(path), 0, -1):
            if (line := self.lines.get(tuple(path[:length]))) is not None:
                return line
        return 1


def read_document(path: Path, file: str) -> Document:
    """The data of a YAML file; `file` is its name in error messages. Raises ConfigError for what is not a
    plain mapping.
    """
    text = _read_text(path, file)
    try:
        _check_depth(text, file)
        root = yaml.compose(text, Loader=_Loader)
    except yaml.YAMLError as error:
        raise ConfigError([_syntax_problem(error, file, text)]) from error
    if not isinstance(root, MappingNode):
        found = "empty" if root is None else f"a {root.id}"
        raise ConfigError(
            [
                Problem(
                    file,
                    1,
                    "",
                    None,
                    f"the file is {found}, not a mapping",
                    "write 'key: value' lines at the top level",
                )
            ]
        )
    reader = _Reader(file)
    data = reader.read(root, ())
    if reader.problems:
        raise ConfigError(reader.problems)
    return Document(file, data, reader.lines)


def name_in_project(path: Path, root: Path) -> str:
    """A file as it is named in messages: relative to the project, where it lies in it."""
    absolute, base = Path(os.path.abspath(path)), Path(os.path.abspath(root))
    return absolute.relative_to(base).as_posix() if absolute.is_relative_to(base) else absolute.as_posix()


def _read_text(path: Path, file: str) -> str:
    try:
        content = read_file(path)
    except OSError as error:
        hint = (
            "split the pipeline into several"
            if error.errno == errno.EFBIG
            else "write a regular file, and allow reading it"
        )
        raise ConfigError(
            [Problem(file, 1, "", None, f"the file cannot be read: {error.strerror}", hint)]
        ) from error
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise ConfigError(
            [Problem(file, line, "", content[error.start], "the file is not UTF-8 text", "save it as UTF-8")]
        ) from error


def _check_depth(text: str, file: str) -> None:
    """Composing recurses in C: a file of many thousand brackets would end the process, so the depth is
    measured first.
    """
    depth = 0
    for event in yaml.parse(text, Loader=_Loader):
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ConfigError([_too_deep(file, event.start_mark.line + 1)])


def _syntax_problem(error: yaml.YAMLError, file: str, text: str) -> Problem:
    mark = getattr(error, "problem_mark", None) or getattr(error, "context_mark", None)
    line = mark.line + 1 if mark else 1
    rows = text.splitlines()
    row = rows[min(line, len(rows)) - 1] if rows else ""
    reason = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    hint = "check the indentation and the quotes of this line and the one above"
    if re.match(r"\s*\t", row):
        reason, hint = "a tab stands in the indentation", "YAML is indented with spaces; replace the tab"
    elif "*" in row and ("alias" in reason or "alias" in str(getattr(error, "context", ""))):
        hint = 'a value that starts with * stands in quotes, as in schedule: "*/15 * * * *"'
    elif "single document" in str(getattr(error, "context", "")):
        reason, hint = "a second document starts here", "a file holds one document; remove '---'"
    return Problem(file, line, "", row.strip(), f"not valid YAML: {reason}, at {shorten(row.strip())}", hint)


def _too_deep(file: str, line: int) -> Problem:
    return Problem(
        file,
        line,
        "",
        None,
        f"nested deeper than {MAX_DEPTH} levels, or an alias that contains itself",
        "write the values out",
    )


class _Reader:
    """Turns nodes into data, and keeps lines and problems on the way."""

    def __init__(self, file: str) -> None:
        self.file, self.lines, self.problems, self.nodes = (
            file,
            {},
            [],
            0,
        )  # type: tuple[str, dict[KeyPath, int], list[Problem], int]

    def read(self, node: Node, path: KeyPath) -> Any:
        self.nodes += 1
        line = node.start_mark.line + 1
        if self.nodes > MAX_NODES:
            hint = "aliases (*name) multiply what they name; write the values out"
            raise ConfigError(
                [
                    Problem(
                        self.file,
                        line,
                        _dotted(path),
                        None,
                        f"the file has more than {MAX_NODES:,} values",
                        hint,
                    )
                ]
            )
        if len(path) > MAX_DEPTH:
            raise ConfigError([_too_deep(self.file, line)])
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return self._sequence(node, path)
        return self._scalar(node, path)

    def _mapping(self, node: MappingNode, path: KeyPath) -> dict[str, Any]:
        data: dict[str, Any] = {}
        self._check_tag(node, path, "map")
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, ScalarNode) or key_node.tag != _TAG + "str":
                key = getattr(key_node, "value", None)
                self._add(
                    line,
                    path,
                    key,
                    f"the key {shorten(key)} is not a word",
                    "put it in quotes, or name it otherwise",
                )
            elif key_node.value in data:
                message = (
                    f"the key {key_node.value!r} stands here twice, first in line"
                    f" {self.lines[(*path, key_node.value)]}"
                )
                self._add(line, (*path, key_node.value), key_node.value, message, "keep one")
            elif key_node.value == "<<":
                self._add(
                    line,
                    path,
                    "<<",
                    "'<<' (merge) is not supported",
                    "write the keys out, or use an alias for a whole value",
                )
            else:
                self.lines[(*path, key_node.value)] = line
                self._check_given(
                    value_node, (*path, key_node.value), line, f"nothing stands behind {key_node.value!r}"
                )
                data[key_node.value] = self.read(value_node, (*path, key_node.value))
        return data

    def _sequence(self, node: SequenceNode, path: KeyPath) -> list[Any]:
        self._check_tag(node, path, "seq")
        items = []
        for index, item in enumerate(node.value):
            self.lines[(*path, index)] = item.start_mark.line + 1
            self._check_given(item, (*path, index), item.start_mark.line + 1, "an item of the list is empty")
            items.append(self.read(item, (*path, index)))
        return items

    def _scalar(self, node: Node, path: KeyPath) -> Any:
        kind = node.tag.removeprefix(_TAG)
        try:
            if kind == "bool":
                return {"true": True, "false": False}[node.value.lower()]
            if kind in ("int", "float"):
                return int(node.value) if kind == "int" else float(node.value)
        except (ValueError, KeyError):
            self._add(
                node.start_mark.line + 1,
                path,
                node.value,
                f"{shorten(node.value)} is not a value of !!{kind}",
                "remove the tag",
            )
            return None
        self._check_tag(node, path, "str", "null")
        return None if kind == "null" else node.value

    def _check_given(self, node: Node, path: KeyPath, line: int, message: str) -> None:
        """A key without a value would count as one that is not there, and so would `key:` whose value
        somebody forgot.
        """
        if isinstance(node, ScalarNode) and node.tag == _TAG + "null" and not node.value:
            self._add(
                line, path, None, message, "give it a value, or remove it; write null where none is meant"
            )

    def _check_tag(self, node: Node, path: KeyPath, *allowed: str) -> None:
        if node.tag not in [_TAG + name for name in allowed]:
            message = f"the tag {shorten(node.tag)} is not allowed"
            self._add(node.start_mark.line + 1, path, node.tag, message, "write plain values, without tags")

    def _add(self, line: int, path: KeyPath, value: object, message: str, hint: str) -> None:
        self.problems.append(Problem(self.file, line, _dotted(path), value, message, hint))


def _dotted(path: KeyPath) -> str:
    return ".".join(str(part) for part in path)
