"""Drift: fields of a feed that no table declares, and declared fields that a file lacks. What enters: the
first records of new files.

An added field loses nothing, because bronze keeps whole records. A missing one is told only of files and
tables that name all their fields, such as CSV, Parquet and Delta; a JSON record may leave out what it has no
value for. It is told once, and again where it has returned in between.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any, Literal

from spark_jobs.config.names import shorten
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.text import count
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.scan import read_first_records

FIRST_LINES = 50
RECORDS_PER_LOOK = 20_000
"""Of a great many files only the first lines of each are looked at: reading must not take longer for the
looking.
"""
ELEMENTS = 50
DEEPEST = 20
LONGEST_FIELD = 200
NEW_FIELDS_PER_SOURCE = 500
"""A feed that uses values as names has a new field in every record. Missing fields are never more than those
declared: all are kept.
"""
LINES_SHOWN = 5

NAMES_ALL = ("csv", "parquet", "avro", "orc", "delta")
"""The formats whose records name all their fields."""

Kind = Literal["added", "missing", "returned"]
Path = tuple[str, ...]


@dataclass(frozen=True)
class Drift:
    source: str
    field: str
    kind: Kind
    file: str

    def __str__(self) -> str:
        what = f"{self.source}: field {shorten(self.field)} is"
        if self.kind == "added":
            return (
                f"{what} new in {shorten(self.file)}: kept in bronze; declare it and rebuild the table to"
                " take it in"
            )
        if self.kind == "returned":
            return f"{what} there again in {shorten(self.file)}; rows without it stay NULL"
        return (
            f"{what} missing in {shorten(self.file)}: NULL in all its rows; if it has a new name, set `from`"
            " to it"
        )


@dataclass(frozen=True)
class Declared:
    """The fields that tables take from a source, and those that lead to them."""

    fields: frozenset[Path]
    parents: frozenset[Path]

    def covers(self, path: Path) -> bool:
        """A declared column covers all that is below its field."""
        return path in self.parents or any(path[:length] in self.fields for length in range(1, len(path) + 1))


def note_drift(
    ledger: Ledger,
    pipeline: Pipeline,
    source: str,
    files: Sequence[Mapping[str, Any]],
    run_id: str,
    seen_at: datetime,
) -> list[Drift]:
    """Look into the files that bronze has read (rows of the arrivals), write new drift to the ledger, and
    return it, missing fields first.

    New fields beyond those that a source may have are returned with the first that are too many, and written
    nowhere.
    """
    if not files:
        return []
    lines = min(FIRST_LINES, max(1, RECORDS_PER_LOOK // len(files)))
    found, there = _look(
        pipeline, source, read_first_records(ledger.lake.table(f"bronze.{source}"), files, lines)
    )
    known = [row for row in ledger.ordered("drift") if row["source"] == source] if found or there else []
    added_before = {row["field"] for row in known if row["kind"] == "added"}
    newest = {row["field"]: row["kind"] for row in known if row["kind"] != "added"}
    was_missing = {field for field, kind in newest.items() if kind == "missing"}
    missing = [drift for drift in found if drift.kind == "missing" and drift.field not in was_missing]
    missing += [drift for drift in there if drift.field in was_missing]
    added = [drift for drift in found if drift.kind == "added" and drift.field not in added_before]
    room = max(0, NEW_FIELDS_PER_SOURCE - len(added_before))
    written = missing + added[:room]
    if written:
        rows = [
            {
                "source": source,
                "field": d.field,
                "kind": d.kind,
                "file": d.file,
                "run_id": run_id,
                "seen_at": seen_at,
            }
            for d in written
        ]
        ledger.append("drift", rows)
    return missing + (added if room else [])


def describe_drift(found: Sequence[Drift], pipeline: str) -> Iterator[str]:
    """The first fields of each kind in a line each, and how many there are more."""
    for kind, what in (("missing", "missing"), ("returned", "there again"), ("added", "new")):
        of_kind = [drift for drift in found if drift.kind == kind]
        yield from map(str, of_kind[:LINES_SHOWN])
        if more := len(of_kind) - LINES_SHOWN if len(of_kind) > LINES_SHOWN else 0:
            named = f"and {count(more, 'more field is', 'more fields are')} {what}"
            kept = (
                f"; the ledger keeps the first {NEW_FIELDS_PER_SOURCE} new ones of a source"
                if kind == "added"
                else ""
            )
            yield f"{of_kind[0].source}: {named}: `weir account {pipeline} --json` lists them{kept}"


def find_drift(pipeline: Pipeline, source: str, records: Iterable[tuple[str, str]]) -> list[Drift]:
    """The drift in these records, given as (file, record): each field once, with the first file that shows
    it.
    """
    return _look(pipeline, source, records)[0]


def _look(
    pipeline: Pipeline, source: str, records: Iterable[tuple[str, str]]
) -> tuple[list[Drift], list[Drift]]:
    """The drift in these records, and the declared fields that no file lacks: those of them that were missing
    have returned.
    """
    record_format, declared = pipeline.sources[source].record_format, declared_fields(pipeline, source)
    if record_format == "text" or not declared.fields:
        return [], []
    own = pipeline.sources[source].own_fields
    added: dict[str, str] = {}
    seen: dict[str, dict[Path, bool]] = defaultdict(dict)
    for file, record in records:
        fields = _parse(record)
        for path in _leaf_paths(fields):
            if path and path[0] not in own and not declared.covers(path):
                name = _field_name(path)
                # records come in no order, and files were registered in that of their paths
                added[name] = min(file, added.get(name, file))
        if pipeline.sources[source].format in NAMES_ALL:
            _look_for(declared.fields, fields, seen[file])
    by_file = [
        (_field_name(path), is_there, file)
        for file in sorted(seen, reverse=True)
        for path, is_there in seen[file].items()
    ]
    missing = {field: file for field, is_there, file in by_file if not is_there}
    there = {field: file for field, is_there, file in by_file if is_there and field not in missing}
    found = [Drift(source, field, "added", added[field]) for field in sorted(added)]
    found += [Drift(source, field, "missing", missing[field]) for field in sorted(missing)]
    return found, [Drift(source, field, "returned", there[field]) for field in sorted(there)]


def declared_fields(pipeline: Pipeline, source: str) -> Declared:
    """What the dimensions and silver tables of a source take from its records."""
    is_csv = pipeline.sources[source].record_format == "csv"
    silver = [table for table in pipeline.silver.values() if table.from_ == source]
    tables: list[Dimension | Silver] = [
        *(table for table in pipeline.dimensions.values() if table.from_ == source),
        *silver,
    ]
    origins = [
        column.from_ or name
        for table in tables
        for name, column in table.columns.items()
        if column.has_path and not pipeline.sources[source].origin_of(column.from_)
    ]
    fields = frozenset((origin,) if is_csv else tuple(origin.split(".")) for origin in origins)
    arrays = [tuple(table.explode.split(".")) for table in silver if table.explode]
    parents = {path[:length] for path in fields for length in range(1, len(path))}
    return Declared(
        fields, frozenset(parents | {path[:length] for path in arrays for length in range(1, len(path) + 1)})
    )


def _parse(record: str) -> dict[str, Any]:
    """The record's fields; none where it is no JSON object: such a record is quarantined anyway."""
    try:
        fields = json.loads(record)
    except (ValueError, RecursionError):
        return {}
    return fields if isinstance(fields, dict) else {}


def _leaf_paths(value: object, path: Path = (), depth: int = 0) -> Iterator[Path]:
    """The paths of all values: dots lead into objects, and into the objects of arrays."""
    if depth < DEEPEST and isinstance(value, dict) and value:
        for name, inner in value.items():
            yield from _leaf_paths(inner, (*path, name), depth + 1)
        return
    nested = (
        [inner for inner in islice(value, ELEMENTS) if isinstance(inner, dict | list)]
        if isinstance(value, list)
        else []
    )
    if depth < DEEPEST and nested:
        for inner in nested:
            yield from _leaf_paths(inner, path, depth + 1)
        return
    yield path


def _look_for(declared: Iterable[Path], fields: dict[str, Any], seen: dict[Path, bool]) -> None:
    """Note for each declared field whether the record has it; a record that cannot tell, by a NULL on the
    way, says nothing.
    """
    if not fields:
        return
    for path in declared:
        is_there = _is_there(fields, path)
        if is_there is not None:
            seen[path] = seen.get(path, False) or is_there


def _is_there(value: object, path: Path) -> bool | None:
    if not path:
        return True
    if isinstance(value, list):
        answers = [_is_there(inner, path) for inner in value[:ELEMENTS]]
        return True if True in answers else False if False in answers else None
    if not isinstance(value, dict):
        return None
    return _is_there(value[path[0]], path[1:]) if path[0] in value else False


def _field_name(path: Path) -> str:
    """As text that any table can hold: names are input, and may be endless or half a character."""
    return ".".join(path)[:LONGEST_FIELD].encode(errors="backslashreplace").decode()
