"""What a table's Delta log says, read without a JVM."""

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from deltalake import DeltaTable, Schema

from spark_jobs.lake.counts import Counts

COMMITS_TO_SEARCH = 100
"""A batch whose marker is missing was published by one of the last commits; each run adds a handful at most."""


@dataclass(frozen=True)
class Published:
    """A batch that is in its table already."""

    version: int
    counts: Counts


def table_version(path: str) -> int | None:
    """The newest version, or None where there is no table."""
    return DeltaTable(path).version() if DeltaTable.is_deltatable(path) else None


def table_bytes(path: str) -> int:
    """The size of the files of the newest version; 0 where there is no table."""
    if not DeltaTable.is_deltatable(path):
        return 0
    return sum(DeltaTable(path).get_add_actions(flatten=True).column("size_bytes").to_pylist())


def find_published(path: str, app_id: str, number: int) -> Published | None:
    """The commit that published this batch, found by its transaction id; its counts stand in its metadata."""
    if not DeltaTable.is_deltatable(path):
        return None
    table = DeltaTable(path)
    last = table.transaction_version(app_id)
    if last is None or last < number:
        return None
    for commit in table.history(COMMITS_TO_SEARCH):
        note = _note(commit)
        if note.get("app_id") == app_id and note.get("batch") == number:
            return Published(commit["version"], Counts(**note["counts"]))
    searched = f"none of its last {COMMITS_TO_SEARCH} commits carries its counts"
    raise LookupError(f"{path}: transaction {app_id} says that batch {number} is published, but {searched}")


def count_chunks(path: str, chunks: Collection[int]) -> Counts:
    """What chunks of arrivals left in a bronze table: their records, and at line 0 the files that could not be read."""
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    rows = DeltaTable(path).to_pyarrow_dataset()
    in_chunks = ds.field("_chunk").isin(list(chunks))
    records = rows.count_rows(filter=in_chunks & (ds.field("_line") > 0))
    unreadable = rows.count_rows(filter=in_chunks & (ds.field("_line") == 0))
    return Counts(rows_in=records + unreadable, inserted=records, quarantined=unreadable)


def _note(commit: dict[str, Any]) -> dict[str, Any]:
    try:
        note = json.loads(commit.get("userMetadata") or "{}")
    except json.JSONDecodeError:
        return {}
    return note if isinstance(note, dict) else {}


def create_table(path: str, schema_json: str, properties: dict[str, str]) -> None:
    """Create an empty table unless it is there, without a Spark job."""
    if not DeltaTable.is_deltatable(path):
        DeltaTable.create(path, schema=Schema.from_json(schema_json), configuration=dict(properties))
