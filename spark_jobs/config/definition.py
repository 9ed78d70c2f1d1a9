"""What the rows of a table follow: the parts of its definition. A change of most of them makes the rows wrong
that are there already.
"""

import hashlib
import json
from pathlib import Path
from typing import Any

from spark_jobs.config.files import read_file
from spark_jobs.config.lookups import Lookups
from spark_jobs.config.names import other_pipeline
from spark_jobs.config.path_template import is_part
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import BYTES_PER_RECORD, AnySource, FileSource
from spark_jobs.config.table_name import TableName

HARMLESS = {
    "bronze": {
        "path",
        "path_fields",
        "pattern",
        "files_per_batch",
        "bytes_per_batch",
        "bytes_per_record",
        "fields",
        "settle",
        "same_content",
        "changed",
        "idle_after",
        "schema",
        "offsets_per_batch",
        "connection",
        "host",
        "port",
        "rows_per_second",
    },
    "dimension": set[str](),
    "silver": {"give_up_after"},
    "gold": set[str](),
    "sink": {"compact_after", "rows", "servers", "options", "connection", "function", "per"},
}
"""Parts that concern only what comes next."""
LATER = {
    "bytes_per_record": BYTES_PER_RECORD,
    "header": True,
    "skip_lines": 0,
    "quote": '"',
    "trailing_delimiter": False,
}
"""Keys of sources that came later and have a default."""
PASSED_OVER = ("skip_lines", "comment")
"""Which lines of a text source are none of the records of its tables."""


def definition_parts(pipeline: Pipeline, table: str, conf: Path) -> dict[str, Any]:
    """All that the table's rows depend on, by the keys of the pipeline file; what other places say of it
    stands in parentheses.
    """
    layer, name = TableName(table).parts
    definition: Any = next(
        found for kind, known_as, found in pipeline.nodes() if (kind, known_as) == (layer, name)
    )
    parts: dict[str, Any] = definition.model_dump(mode="json", by_alias=True)
    if layer == "bronze":  # keys that came later leave the definitions of tables without them as they were
        parts = {
            key: value
            for key, value in parts.items()
            if value not in (None, []) and not (key in LATER and LATER[key] == value)
            if parts["format"] != "text" or key not in PASSED_OVER  # bronze has these lines
        }
    if layer in ("dimension", "silver"):
        _of_records(parts, pipeline.sources[definition.from_])
    if layer == "dimension":
        _of_dimension(parts, definition.lookup, pipeline)
    if layer == "silver":
        if parts["event_time"] and parts["event_time"]["past"] is None:  # came later, as above
            del parts["event_time"]["past"]
        parts["give_up_after"] = {
            dimension: lookup.pop("give_up_after") for dimension, lookup in parts["lookup"].items()
        }
        parts["(history of its dimensions)"] = {
            dimension: pipeline.dimensions[dimension].history for dimension in definition.lookup
        }
        parts["(a gold table has a watermark on it)"] = pipeline.is_watermarked(name)
    if layer == "gold":
        _without_later_keys(parts)
    if layer == "gold" and (
        file := definition.sql or (definition.python or definition.state or "").partition(":")[0]
    ):
        parts["(content of its file)"] = hashlib.sha256(read_file(conf / file)).hexdigest()
    if (
        layer == "gold"
        and other_pipeline(definition.from_ or "")
        and definition.window
        and not definition.window.column
    ):
        silver = pipeline.silver_named(definition.from_)
        parts["(event time of its table)"] = (
            silver.event_time.column if silver and silver.event_time else None
        )
    return parts


def _of_dimension(parts: dict[str, Any], lookups: Lookups, pipeline: Pipeline) -> None:
    """What dimensions have got later stands in their definitions only where it is given."""
    for part in ("delete_when", "snapshot", "lookup"):
        if not parts[part]:
            del parts[part]
    if "snapshot" in parts:  # how much one may end concerns only what comes next
        parts["snapshot"] = True
    if lookups:
        parts["(history of its dimensions)"] = {name: pipeline.dimensions[name].history for name in lookups}


def _without_later_keys(parts: dict[str, Any]) -> None:
    """What a gold table is, said as it was before there were further keys."""
    for key in ("calendar", "zone"):
        if parts["window"] and parts["window"][key] is None:
            del parts["window"][key]
    if not parts["running"]:
        del parts["running"]


def _of_records(parts: dict[str, Any], source: AnySource) -> None:
    """What a table makes of records, said as it was before there were further keys."""
    for column in parts["columns"].values():
        del column["sensitive"]  # concerns what is shown of a row, not the row
        if not column["rest"]:
            del column["rest"]
    if parts["ties"] == "hash":
        del parts["ties"]
    if len(parts["sequence_by"] or ()) == 1:
        parts["sequence_by"] = parts["sequence_by"][0]
    parts["(format of its source)"] = source.record_format
    parts["(fields of its source)"] = source.fields
    origins = {name: source.origin_of(column["from"]) for name, column in parts["columns"].items()}
    if taken := {name: origin for name, origin in origins.items() if origin}:
        parts["(where its rows came from)"] = taken  # to earlier versions it was a field of the record
    if isinstance(source, FileSource) and any(map(is_part, taken.values())):
        parts["(parts of the paths of its source)"] = source.path_fields
    if isinstance(source, FileSource) and source.format == "text" and (source.skip_lines or source.comment):
        parts["(lines of its source that are no records)"] = [source.skip_lines, source.comment]


def harmful_changes(table: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    """The parts whose change makes old rows wrong. A table by SQL or Python is made as a
    whole in any case.
    """
    layer = TableName(table).layer
    if layer == "gold" and not any(parts.get(key) for parts in (old, new) for key in ("from", "join")):
        return []
    has_place = new.get("format") == "delta" or (new.get("path_fields") and old.get("path_fields"))
    harmless = HARMLESS[layer] - ({"path"} if has_place else set())
    changed = [part for part in {**old, **new} if old.get(part) != new.get(part) and part not in harmless]
    if layer == "bronze" and _are_of_one_cluster(old, new):
        changed = [part for part in changed if part != "servers"]
    return [deeper for part in changed for deeper in _within(part, old.get(part), new.get(part))]


def harmless_changes(table: str, old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    harmful = harmful_changes(table, old, new)
    return [part for part in {**old, **new} if old.get(part) != new.get(part)] if not harmful else []


def _are_of_one_cluster(old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Whether both lists of brokers name one of them: offsets count the messages of one cluster, and are of
    no use in another.
    """
    before, now = (
        {server.strip().lower() for server in str(parts.get("servers", "")).split(",")}
        for parts in (old, new)
    )
    return bool(before & now)


def fingerprint(parts: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def _within(part: str, old: Any, new: Any) -> list[str]:
    """`columns.amount` rather than `columns`."""
    if isinstance(old, dict) and isinstance(new, dict):
        return [f"{part}.{name}" for name in {**old, **new} if old.get(name) != new.get(name)]
    return [part]
