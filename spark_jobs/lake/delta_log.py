"""What a table's Delta log says, read without a JVM."""

import json
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from spark_jobs.config.table_name import TableName
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_table import DeltaTable, count_where, names_of, newest_entry
from spark_jobs.lake.storage import exists, is_remote, read_text, sizes_below

if TYPE_CHECKING:
    pass

COMMITS_TO_SEARCH = 100
CHANGES = "delta.enableChangeDataFeed"
FEW_FILES, FEW_BYTES = 32, 64 * 1024 * 1024
"""Of more files Spark looks at each in a job; of more bytes it is worth one to leave out those without a
wanted row.
"""
FEW_COMMITS = 20
GLOB = re.compile(r"[*?\[\]{}\\\\]")
"""Spark takes a path with one of these for a pattern."""
OWN_FILE = re.compile(r"[\w.-]+")
"""A file in the table's own folder, under a name that is written in the log as it is."""


def table_version(path: str) -> int | None:
    """The newest version, or None where there is no table."""
    if is_remote(path):
        return DeltaTable(path).version() if DeltaTable.is_deltatable(path) else None
    newest = newest_entry(path)
    return newest.version if newest else None


def table_id(path: str) -> str | None:
    """What makes a table another one than that which stood in its place before; None where there is none."""
    return str(DeltaTable(path).metadata().id) if DeltaTable.is_deltatable(path) else None


def keeps_changes(path: str, after: int, now: datetime) -> bool:
    """Whether the change feed can still be read from the version after this one on: its files are kept for a
    time, a week as a rule.
    """
    table = DeltaTable(path)
    kept = re.search(
        r"(\d+) (hour|day|week)",
        table.metadata().configuration.get("delta.deletedFileRetentionDuration", "") or "7 days",
    )
    retention = timedelta(**{f"{kept[2]}s": int(kept[1])}) if kept else timedelta(days=7)
    commits = [
        commit
        for commit in table.history(max(1, table.version() - after))
        if commit.get("version") == after + 1
    ]
    return bool(commits) and now - datetime.fromtimestamp(commits[0]["timestamp"] / 1000, UTC) < retention


def table_bytes(path: str) -> int:
    """The size of the files of the newest version; 0 where there is no table."""
    if not DeltaTable.is_deltatable(path):
        return 0
    return sum(DeltaTable(path).get_add_actions(flatten=True).column("size_bytes").to_pylist())


@dataclass(frozen=True)
class PlainFiles:
    """A version of a table that is nothing but its Parquet files: their columns, where they are, and their
    bytes.
    """

    schema_json: str
    files: list[str]
    size: int


def plain_files(path: str, version: int | None = None) -> PlainFiles | None:
    """The files of a version, or of the newest, where they are few and their rows are all there is to it;
    else None.
    """
    if is_remote(path) or GLOB.search(path):
        return None
    table = DeltaTable(path, version=version)
    if not _is_plain(table):
        return None
    actions = table.get_add_actions(flatten=True)
    names, size = actions.column("path").to_pylist(), sum(actions.column("size_bytes").to_pylist())
    if len(names) > FEW_FILES or size > FEW_BYTES or not all(map(OWN_FILE.fullmatch, names)):
        return None
    return PlainFiles(str(table.schema().to_json()), [f"{path}/{name}" for name in names], size)


def plain_schema(path: str) -> str | None:
    """The columns of the newest version, where its rows are nothing but those of its Parquet files; else
    None.
    """
    table = DeltaTable(path)
    return str(table.schema().to_json()) if _is_plain(table) else None


def _is_plain(table: DeltaTable) -> bool:
    """By Delta's protocol a reader of version 1 knows no deletion vectors, no renamed columns and no types
    that change.
    """
    return bool(table.protocol().min_reader_version == 1 and not table.metadata().partition_columns)


def lost_files(path: str) -> list[str]:
    """The data files of the newest version that are not there, or not as long as the log says."""
    actions, there = DeltaTable(path).get_add_actions(flatten=True), sizes_below(path)
    files = zip(actions.column("path").to_pylist(), actions.column("size_bytes").to_pylist(), strict=True)
    return [name for name, size in files if size not in (there.get(name), there.get(unquote(name)))]


def table_properties(path: str) -> dict[str, str]:
    found: dict[str, str] = DeltaTable(path).metadata().configuration
    return found


def schema_json(path: str) -> str:
    """The columns of the newest version, as create_table takes them."""
    return str(DeltaTable(path).schema().to_json())


def has_transaction(path: str, app_id: str, number: int) -> bool:
    """Whether the table holds the write of this transaction id."""
    return DeltaTable.is_deltatable(path) and holds_transaction(DeltaTable(path), app_id, number)


def holds_transaction(table: DeltaTable, app_id: str, number: int) -> bool:
    last = table.transaction_version(app_id)
    return last is not None and last >= number


def noted_counts(path: str, step: str, number: int) -> Counts:
    """What the commit of a batch says of itself, among the newest ones: for a write that cannot be counted a
    second time.
    """
    for commit in DeltaTable(path).history(COMMITS_TO_SEARCH):
        note = note_of(commit)
        if (note.get("step"), note.get("batch")) == (step, number):
            return Counts.of_row(note)
    return Counts()


def written_rows(path: str, step: str, number: int) -> int | None:
    """How many rows the append of a batch wrote, by its commit's own metrics; None where the newest commits
    do not tell of it.
    """
    for commit in DeltaTable(path).history(COMMITS_TO_SEARCH):
        note, metrics = note_of(commit), commit.get("operationMetrics") or {}
        if (note.get("step"), note.get("batch")) == (step, number):
            # Spark's name, and delta-rs's
            found = metrics.get("numOutputRows", metrics.get("num_added_rows"))
            return None if found is None else int(found)
    return None


def note_of(commit: dict[str, Any]) -> dict[str, Any]:
    """What a commit of Weir says of itself; nothing of others."""
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


def count_records(path: str) -> int:
    """The records of a bronze table: its rows but for those at line 0, which say that a file could not be
    read.
    """
    if not DeltaTable.is_deltatable(path):
        return 0
    table = DeltaTable(path)
    actions = table.get_add_actions(flatten=True)
    firsts = actions.column("min._line").to_pylist() if "min._line" in actions.schema.names else [None]
    if all(first for first in firsts):
        return count_rows(path)
    return count_where(table, "_line > 0")


def count_standing(name: str, path: str) -> int:
    """The rows that a table holds by the law. Of quarantine those that are in it still: replayed ones went on
    to the table, and are kept with their state only for a person to look at.
    """
    if not TableName(name).is_in("quarantine") or not DeltaTable.is_deltatable(path):
        return count_rows(path)
    table = DeltaTable(path)
    return (
        count_where(table, "state IS NULL OR state <> 'replayed'")
        if "state" in names_of(table)
        else count_rows(path)
    )


def oldest(path: str, column: str) -> datetime | None:
    """The least value of a time column in the newest version, as its log says; None where
    there are no rows.
    """
    if not count_rows(path):
        return None
    actions = DeltaTable(path).get_add_actions(flatten=True)
    found = actions.column(f"min.{column}").to_pylist() if f"min.{column}" in actions.schema.names else [None]
    if None in found:
        found = DeltaTable(path).to_pyarrow_table(columns=[column]).column(column).to_pylist()
    least: datetime = min(found)
    return least if least.tzinfo else least.replace(tzinfo=UTC)


def count_chunks(path: str, chunks: Collection[int]) -> Counts:
    """What chunks of arrivals left in a bronze table: their records, and at line 0 the files that could not
    be read.
    """
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    rows = DeltaTable(path).to_pyarrow_dataset()
    in_chunks = ds.field("_chunk").isin(list(chunks))
    records = rows.count_rows(filter=in_chunks & (ds.field("_line") > 0))
    unreadable = rows.count_rows(filter=in_chunks & (ds.field("_line") == 0))
    return Counts(
        rows_in=records + unreadable, inserted=records, quarantined=unreadable, grown=records + unreadable
    )


def count_places(path: str, chunk: int) -> dict[str, tuple[int, int, int, int]]:
    """Of a chunk of a bronze table, per file or partition: its rows, the places that these have, the least
    and the greatest of them.
    """
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    rows = (
        DeltaTable(path)
        .to_pyarrow_dataset()
        .to_table(columns=["_file", "_line"], filter=ds.field("_chunk") == chunk)
    )
    kinds = [("_line", kind) for kind in ("count", "count_distinct", "min", "max")]
    found = rows.group_by("_file").aggregate(kinds).to_pylist()
    return {row["_file"]: tuple(row[f"_line_{kind}"] for _, kind in kinds) for row in found}


def only_grew(path: str) -> bool:
    """Whether the log still has every commit from the first on, few enough to look at, and each but the first
    only adds rows: read from there, the commits give what the table holds.
    """
    newest = table_version(path)
    if newest is None or newest > FEW_COMMITS or is_remote(path):
        return False
    for version in range(newest + 1):
        if not has_version(path, version):
            return False
        actions = {
            kind
            for line in read_text(f"{path}/_delta_log/{version:020}.json").splitlines()
            for kind in json.loads(line)
        }
        if not actions <= (
            {"commitInfo", "protocol", "metaData"} if version == 0 else {"commitInfo", "txn", "add"}
        ):
            return False
    return True


def newest(path: str, column: str) -> datetime | None:
    """The greatest value of a time column in the newest version, where its log keeps one. No row is read for
    it.
    """
    if not DeltaTable.is_deltatable(path):
        return None
    actions = DeltaTable(path).get_add_actions(flatten=True)
    found: Any = (
        actions.column(f"max.{column}").to_pylist() if f"max.{column}" in actions.schema.names else []
    )
    greatest: datetime | None = max((value for value in found if isinstance(value, datetime)), default=None)
    return greatest.replace(tzinfo=UTC) if greatest and not greatest.tzinfo else greatest
