"""`weir propose`: columns for fields that landed and that no table has, and the text that adds them to a
pipeline file.
"""

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import islice
from typing import Any

import yaml

from spark_jobs.bronze.arrived import ArrivedFile
from spark_jobs.bronze.records import read_records
from spark_jobs.config.errors import Hinted
from spark_jobs.config.loading import Project
from spark_jobs.config.names import shorten
from spark_jobs.config.regexes import group_names
from spark_jobs.config.sensitive import sensitive_paths
from spark_jobs.config.sources import AnySource, FileSource
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.scan import read_first_records
from spark_jobs.landing.arrivals import TAKEN, read_arrivals
from spark_jobs.landing.content import Content, read_content
from spark_jobs.landing.folder import list_folder
from spark_jobs.landing.look import is_hidden
from spark_jobs.operations.guessing import guess_columns, guess_parts
from spark_jobs.quality.masking import mask_problem

# Writes a new silver table into the text of a pipeline file. Every other character of it stays as it is,
# comments included.

PLAIN_TYPE = re.compile(r"[a-z]+")
NEEDS_QUOTES = re.compile(r"[^\w. ]")


class NotInsertable(Hinted):
    """The file has no place where the table can be put without changing anything else:
    why, and what to do.
    """


def spell_table(name: str, source: str, columns: Mapping[str, tuple[str, str]], indent: str = "  ") -> str:
    """The lines of a silver table."""
    lines = [f"{indent}{name}:", f"{indent * 2}from: {source}", f"{indent * 2}columns:"]
    for column, (kind, path) in columns.items():
        spelt = kind if PLAIN_TYPE.fullmatch(kind) else f'"{kind}"'
        lines.append(
            f"{indent * 3}{_quoted(column)}:"
            f" {spelt if path == column else f'{{type: {spelt}, from: {_quoted(path)}}}'}"
        )
    return "\n".join(lines) + "\n"


def insert_table(text: str, name: str, table: str) -> str:
    """The text with the table at the end of `silver`, which is made where there is none."""
    root = yaml.compose(text, Loader=yaml.SafeLoader)
    entries = (
        {key.value: (key, value) for key, value in root.value} if isinstance(root, yaml.MappingNode) else {}
    )
    end = "" if text.endswith("\n") or not text else "\n"
    if "silver" not in entries:
        return f"{text}{end}\nsilver:\n{table}"
    _, silver = entries["silver"]
    if not isinstance(silver, yaml.MappingNode) or silver.flow_style:
        raise NotInsertable(
            "silver is written in braces, or empty", "write it as lines, or copy what --dry-run shows"
        )
    if any(key.value == name for key, _ in silver.value):
        raise NotInsertable(
            f"silver has a table {shorten(name)} already",
            "choose another name by --table, or remove that one first",
        )
    indent = " " * silver.value[0][0].start_mark.column
    last = max(_last_line(value) for _, value in silver.value)
    lines = text.splitlines(keepends=True)
    if last < len(lines) and not lines[last - 1].endswith("\n"):
        raise NotInsertable("the last line of silver has no end", "end it")
    own = (
        table
        if indent == "  "
        else re.sub(r"^((?:  )+)", lambda match: indent * (len(match[1]) // 2), table, flags=re.MULTILINE)
    )
    before = "".join(lines[:last])
    return before + ("" if before.endswith("\n") else "\n") + own + "".join(lines[last:])


def _last_line(node: yaml.Node) -> int:
    """How many lines of the text end with this node; a block ends where its last scalar does, not at the
    comment below it.
    """
    if isinstance(node, yaml.MappingNode) and not node.flow_style and node.value:
        return max(_last_line(value) for _, value in node.value)
    if isinstance(node, yaml.SequenceNode) and not node.flow_style and node.value:
        return max(map(_last_line, node.value))
    mark = node.end_mark
    return mark.line + (1 if mark.column else 0)


def _quoted(path: str) -> str:
    is_other = bool(NEEDS_QUOTES.search(path)) or path != path.strip() or yaml.safe_load(path) != path
    return '"' + path.replace("\\", "\\\\").replace('"', '\\"') + '"' if is_other else path


# Looks at what has landed for a source and proposes the columns of a silver table. Reads files and bronze,
# without a JVM.

FILES, RECORDS_PER_FILE = 50, 1_000
SEED = 7
NOT_AN_OBJECT = "it is not one JSON object"
NO_MATCH = "it does not match `fields` of its source"


@dataclass(frozen=True)
class Proposal:
    """`columns`: by name their type and path. `files` and `records`: what was looked at and could be read.
    `unreadable`: how many records and whole files could not, and `problem` says what is wrong with the first.
    """

    columns: dict[str, tuple[str, str]]
    files: int
    records: int
    unreadable: int = 0
    problem: str | None = None


@dataclass(frozen=True)
class _Looked:
    """A record, or what is wrong with it; line 0 is a whole file."""

    file: str
    line: int
    text: str | None
    problem: str | None

    @property
    def place(self) -> str:
        return f"{self.file!r}{f' line {self.line:,}' if self.line else ''}"


def propose_columns(project: Project, pipeline: str, source: str) -> Proposal:
    """From some of the landed files, the same ones each time; of a stream from what bronze has of it."""
    known = project.pipelines[pipeline].sources[source]
    looked = list(
        _landed(project, known)
        if isinstance(known, FileSource)
        else _read_of_bronze(project, pipeline, source)
    )
    read = [(one, _fields(one.text, known)) for one in looked if one.text is not None and one.problem is None]
    good = [(one.file, fields) for one, fields in read if fields is not None]
    wrong = [one for one in looked if one.problem is not None]
    wrong += [replace(one, problem=_why_none(known)) for one, fields in read if fields is None]
    values = [
        {name: value for name, value in fields.items() if name not in known.own_fields} for _, fields in good
    ]
    is_line = known.record_format == "text" and not known.fields
    columns = (
        {"line": ("string", "value")}
        if is_line and good
        else guess_columns(values, is_flat=known.record_format in ("csv", "text"))
    )
    if isinstance(known, FileSource) and known.path_fields:
        paths = [known.parts_of_path(file) or {} for file in sorted({file for file, _ in good})]
        columns = guess_parts(paths, columns) if columns else columns
    hidden = {()} if sensitive_paths(project.pipelines[pipeline], source) else ()
    first = min(wrong, key=lambda one: (one.file, one.line), default=None)
    problem = f"{first.place}: {mask_problem(first.problem, hidden)}" if first else None
    return Proposal(columns, len({file for file, _ in good}), len(good), len(wrong), problem)


def _fields(text: str, source: AnySource) -> dict[str, Any] | None:
    """What a record names; of a line the groups of its source's expression, whose values are text. None where
    it cannot be told.
    """
    if source.record_format == "text":
        return _groups(text, source.fields) if source.fields else {"line": text}
    found = _parse(text)
    return found if isinstance(found, dict) else None


def _groups(line: str, pattern: str) -> dict[str, Any] | None:
    import pyarrow as pa
    import pyarrow.compute as pc  # RE2's expressions, as silver/fields.py reads them

    found = pc.extract_regex(pa.scalar(line), f"^(?:{pattern})$").as_py()
    return None if found is None else {name: found[name] or None for name in group_names(pattern)}


def _why_none(source: AnySource) -> str:
    return NO_MATCH if source.record_format == "text" else NOT_AN_OBJECT


def _landed(project: Project, source: FileSource) -> Iterator[_Looked]:
    files = [
        file
        for file in list_folder(project.landing, source.path, source.pattern).files
        if not is_hidden(file.path)
    ]
    chosen = (
        files
        if len(files) <= FILES
        else sorted(random.Random(SEED).sample(files, FILES), key=lambda file: file.path)
    )
    for file in chosen:
        content = read_content(project.landing, file, source, None)
        if isinstance(content, Content):
            arrived = ArrivedFile(
                f"{project.landing}/{file.path}",
                file.size,
                file.modified_at,
                content.content_hash,
                landing=project.landing,
            )
            rows = (row for batch in read_records(arrived, source) for row in batch.to_pylist())
            yield from (
                _Looked(file.path, row["line"], row["record"], row["problem"])
                for row in islice(rows, RECORDS_PER_FILE)
                if not source.is_passed_over(row["line"], row["record"])
            )


def _read_of_bronze(project: Project, pipeline: str, source: str) -> Iterator[_Looked]:
    lake = Lake(project.lake, pipeline)
    arrivals = [row for row in read_arrivals(lake.arrivals(source)) if row["verdict"] == TAKEN][-FILES:]
    if arrivals:
        for file, record in read_first_records(lake.table(f"bronze.{source}"), arrivals, RECORDS_PER_FILE):
            yield _Looked(file, 0, record, None)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_float=Decimal)
    except (ValueError, RecursionError):
        return None
