"""Writes a new silver table into the text of a pipeline file. Every other character of it stays as it is, comments included."""

import re
from collections.abc import Mapping

import yaml

from spark_jobs.config.errors import Hinted
from spark_jobs.config.names import shorten

PLAIN_TYPE = re.compile(r"[a-z]+")
NEEDS_QUOTES = re.compile(r"[^\w. ]")


class NotInsertable(Hinted):
    """The file has no place where the table can be put without changing anything else: why, and what to do."""


def spell_table(name: str, source: str, columns: Mapping[str, tuple[str, str]], indent: str = "  ") -> str:
    """The lines of a silver table."""
    lines = [f"{indent}{name}:", f"{indent * 2}from: {source}", f"{indent * 2}columns:"]
    for column, (kind, path) in columns.items():
        spelt = kind if PLAIN_TYPE.fullmatch(kind) else f'"{kind}"'
        lines.append(f"{indent * 3}{column}: {spelt if path == column else f'{{type: {spelt}, from: {_quoted(path)}}}'}")
    return "\n".join(lines) + "\n"


def insert_table(text: str, name: str, table: str) -> str:
    """The text with the table at the end of `silver`, which is made where there is none."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    entries = {key.value: (key, value) for key, value in root.value} if isinstance(root, yaml.MappingNode) else {}
    end = "" if text.endswith("\n") or not text else "\n"
    if "silver" not in entries:
        return f"{text}{end}\nsilver:\n{table}"
    _, silver = entries["silver"]
    if not isinstance(silver, yaml.MappingNode) or silver.flow_style:
        raise NotInsertable("silver is written in braces, or empty", "write it as lines, or copy what --dry-run shows")
    if any(key.value == name for key, _ in silver.value):
        raise NotInsertable(f"silver has a table {shorten(name)} already", "choose another name by --table, or remove that one first")
    indent = " " * silver.value[0][0].start_mark.column
    last = max(_last_line(value) for _, value in silver.value)
    lines = text.splitlines(keepends=True)
    if last < len(lines) and not lines[last - 1].endswith("\n"):
        raise NotInsertable("the last line of silver has no end", "end it")
    own = table if indent == "  " else re.sub(r"^((?:  )+)", lambda match: indent * (len(match[1]) // 2), table, flags=re.MULTILINE)
    before = "".join(lines[:last])
    return before + ("" if before.endswith("\n") else "\n") + own + "".join(lines[last:])


def _last_line(node: yaml.Node) -> int:
    """How many lines of the text end with this node; a block ends where its last scalar does, not at the comment below it."""
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return max(_last_line(value) for _, value in node.value)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return max(map(_last_line, node.value))
    mark = node.end_mark
    return mark.line + (1 if mark.column else 0)


def _quoted(path: str) -> str:
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"' if NEEDS_QUOTES.search(path) or path != path.strip() else path
