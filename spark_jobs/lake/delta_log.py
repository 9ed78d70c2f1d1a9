"""What a table's Delta log says, read without a JVM."""

import json
import re
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from deltalake import Schema

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_table import DeltaTable, options_of
from spark_jobs.lake.storage import exists, is_remote

COMMITS_TO_SEARCH = 100
CHANGES = "delta.enableChangeDataFeed"


def table_version(path: str) -> int | None:
    """The newest version, or None where there is no table."""
    return DeltaTable(path).version() if DeltaTable.is_deltatable(path) else None


def table_id(path: str) -> str | None:
    """What makes a table another one than that which stood in its place before; None where there is none."""
    return str(DeltaTable(path).metadata().id) if DeltaTable.is_deltatable(path) else None


def keeps_changes(path: str, after: int, now: datetime) -> bool:
    """Whether the change feed can still be read from the version after this one on: its files are kept for a time, a week as a rule."""
    table = DeltaTable(path)
    kept = re.search(r"(\d+) (hour|day|week)", table.metadata().configuration.get("delta.deletedFileRetentionDuration", "") or "7 days")
    retention = timedelta(**{f"{kept[2]}s": int(kept[1])}) if kept else timedelta(days=7)
    commits = [commit for commit in table.history(max(1, table.version() - after)) if commit.get("version") == after + 1]
    return bool(commits) and now - datetime.fromtimestamp(commits[0]["timestamp"] / 1000, UTC) < retention


def table_bytes(path: str) -> int:
    """The size of the files of the newest version; 0 where there is no table."""
    if not DeltaTable.is_deltatable(path):
        return 0
    return sum(DeltaTable(path).get_add_actions(flatten=True).column("size_bytes").to_pylist())


def has_transaction(path: str, app_id: str, number: int) -> bool:
    """Whether the table holds the write of this transaction id."""
    last = DeltaTable(path).transaction_version(app_id) if DeltaTable.is_deltatable(path) else None
    return last is not None and last >= number


def noted_counts(path: str, step: str, number: int) -> Counts:
    """What the commit of a batch says of itself, among the newest ones: for a write that cannot be counted a second time."""
    for commit in DeltaTable(path).history(COMMITS_TO_SEARCH):
        note = _note(commit)
        if (note.get("step"), note.get("batch")) == (step, number):
            return Counts.of_row(note)
    return Counts()


def _note(commit: dict[str, Any]) -> dict[str, Any]:
    try:
        note = json.loads(commit.get("userMetadata") or "{}")
    except json.JSONDecodeError:
        return {}
    return note if isinstance(note, dict) else {}


def has_version(path: str, version: int) -> bool:
    """Whether the log still tells of this version."""
    return exists(f"{path}/_delta_log/{version:020}.json")


def keep_changes(path: str) -> None:
    """Let a table keep its changes from its next version on, where it does not yet."""
    table = DeltaTable(path)
    if table.metadata().configuration.get(CHANGES) != "true":
        table.alter.set_table_properties({CHANGES: "true"})


def count_rows(path: str, version: int | None = None) -> int:
    """The rows of a version, or of the newest, as its log says; 0 where there is no table."""
    if not DeltaTable.is_deltatable(path):
        return 0
    table = DeltaTable(path, version=version)
    counts = table.get_add_actions(flatten=True).column("num_records").to_pylist()
    return sum(counts) if None not in counts else table.to_pyarrow_dataset().count_rows()


def count_standing(name: str, path: str) -> int:
    """The rows that a table holds by the law. Of quarantine those that are in it still: replayed ones went on to the table, and are kept
    with their state only for a person to look at.
    """
    if not name.startswith("quarantine.") or not DeltaTable.is_deltatable(path):
        return count_rows(path)
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    rows = DeltaTable(path).to_pyarrow_dataset()
    if "state" not in rows.schema.names:
        return count_rows(path)
    count: int = rows.count_rows(filter=ds.field("state").is_null() | (ds.field("state") != "replayed"))
    return count


def oldest(path: str, column: str) -> datetime | None:
    """The least value of a time column in the newest version, as its log says; None where there are no rows."""
    if not count_rows(path):
        return None
    actions = DeltaTable(path).get_add_actions(flatten=True)
    found = actions.column(f"min.{column}").to_pylist() if f"min.{column}" in actions.schema.names else [None]
    if None in found:
        found = DeltaTable(path).to_pyarrow_table(columns=[column]).column(column).to_pylist()
    least: datetime = min(found)
    return least if least.tzinfo else least.replace(tzinfo=UTC)


def count_chunks(path: str, chunks: Collection[int]) -> Counts:
    """What chunks of arrivals left in a bronze table: their records, and at line 0 the files that could not be read."""
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    rows = DeltaTable(path).to_pyarrow_dataset()
    in_chunks = ds.field("_chunk").isin(list(chunks))
    records = rows.count_rows(filter=in_chunks & (ds.field("_line") > 0))
    unreadable = rows.count_rows(filter=in_chunks & (ds.field("_line") == 0))
    return Counts(rows_in=records + unreadable, inserted=records, quarantined=unreadable, grown=records + unreadable)


def create_table(path: str, schema_json: str, properties: dict[str, str]) -> None:
    """Create an empty table without a Spark job. One that is there gets the columns that it lacks, as it may be of an earlier version."""
    schema = Schema.from_json(schema_json)
    if not DeltaTable.is_deltatable(path):
        DeltaTable.create(path, schema=schema, configuration=dict(properties), storage_options=options_of(path))
        _write_first_checksum(path)
        return
    table = DeltaTable(path)
    known = {field.name for field in table.schema().fields}
    if lacking := [field for field in schema.fields if field.name not in known]:
        table.alter.add_columns(lacking)


def _write_first_checksum(path: str) -> None:
    """Delta's own summary of a version, beside it in the log. Without one, Spark's first write to the table starts two jobs to find it;
    on other storage than a file system it does.
    """
    if is_remote(path):
        return
    version = Path(path) / "_delta_log" / f"{0:020}"
    actions = {name: action for line in version.with_suffix(".json").read_text().splitlines() for name, action in json.loads(line).items()}
    is_empty: dict[str, Any] = {"tableSizeBytes": 0, "numFiles": 0, "setTransactions": [], "domainMetadata": [], "allFiles": []}
    described = {"numMetadata": 1, "numProtocol": 1, "metadata": actions["metaData"], "protocol": actions["protocol"]}
    new = version.with_suffix(".crc.new")
    new.write_text(json.dumps(is_empty | described))
    new.rename(version.with_suffix(".crc"))


def newest(path: str, column: str) -> datetime | None:
    """The greatest value of a time column in the newest version, where its log keeps one. No row is read for it."""
    if not DeltaTable.is_deltatable(path):
        return None
    actions = DeltaTable(path).get_add_actions(flatten=True)
    found: Any = actions.column(f"max.{column}").to_pylist() if f"max.{column}" in actions.schema.names else []
    greatest: datetime | None = max((value for value in found if isinstance(value, datetime)), default=None)
    return greatest.replace(tzinfo=UTC) if greatest and not greatest.tzinfo else greatest
