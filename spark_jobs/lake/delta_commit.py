"""Commits to a Delta table by delta-rs, without a JVM: tables are created, and rows appended that the driver
has.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deltalake import CommitProperties, PostCommitHookProperties, Schema, Transaction, write_deltalake
from deltalake.exceptions import CommitFailedError

from spark_jobs.lake.delta_log import holds_transaction
from spark_jobs.lake.delta_table import DeltaTable, newest_entry, options_of
from spark_jobs.lake.storage import is_remote

if TYPE_CHECKING:
    import pyarrow as pa


MOST_COMMITS = 50
"""So far back a summary is looked for. Without one Spark reads the log, as it would without us."""
EMPTY: dict[str, Any] = {"tableSizeBytes": 0, "numFiles": 0, "numMetadata": 1, "numProtocol": 1}
KNOWN_OF_NONE: dict[str, Any] = {"setTransactions": [], "domainMetadata": [], "allFiles": []}
"""Of a new table all is known. Of a later version these are left out, which the protocol allows: Spark finds
them in the log.
"""


def create_table(path: str, schema_json: str, properties: dict[str, str]) -> None:
    """Create an empty table without a Spark job. One that is there gets the columns that it lacks, as it may
    be of an earlier version.
    """
    schema = Schema.from_json(schema_json)
    if not DeltaTable.is_deltatable(path):
        DeltaTable.create(
            path, schema=schema, configuration=dict(properties), storage_options=options_of(path)
        )
        write_checksum(path)
        return
    table = DeltaTable(path)
    known = {field.name for field in table.schema().fields}
    if lacking := [field for field in schema.fields if field.name not in known]:
        table.alter.add_columns(lacking)
        write_checksum(path)


def append_rows(path: str, rows: "pa.Table", app_id: str, number: int, note: str) -> None:
    """Append rows that the driver holds, without a Spark job, under a transaction id; a repeated write is
    skipped.
    """
    with committing(path, note, app_id, number) as commit:
        if commit is not None:
            write_deltalake(commit.table, rows, mode="append", **commit.said)


def append_once(place: DeltaTable | str, rows: "pa.Table", app_id: str, number: int, **said: Any) -> None:
    """Append rows under a number that they alone have. delta-rs takes a commit whose answer was lost for that
    of another writer, and would commit once more behind it: that is refused by the number, and what stands is
    our own.
    """
    once = CommitProperties(app_transactions=[Transaction(app_id, number)])
    try:
        write_deltalake(place, rows, mode="append", commit_properties=once, **said)
    except CommitFailedError:
        table = DeltaTable(place) if isinstance(place, str) else place
        table.update_incremental()
        if table.transaction_version(app_id) != number:
            raise


@dataclass(frozen=True)
class Commit:
    """A commit that is about to be made by delta-rs: its table, and what it says of itself. Streams read the
    log: it is not shortened.
    """

    table: DeltaTable
    properties: CommitProperties

    @property
    def said(self) -> dict[str, Any]:
        """As the writing functions of delta-rs take it."""
        return {
            "commit_properties": self.properties,
            "post_commithook_properties": PostCommitHookProperties(cleanup_expired_logs=False),
        }


@contextmanager
def committing(path: str, note: str, app_id: str | None = None, number: int = 0) -> Iterator[Commit | None]:
    """A commit, to be made in the block, and its summary after it. Under a transaction id it is made once:
    None where it is there.
    """
    table, transactions = DeltaTable(path), []
    if app_id is not None:
        if holds_transaction(table, app_id, number):
            yield None
            return
        transactions = [Transaction(app_id, number, int(datetime.now(UTC).timestamp() * 1000))]
    yield Commit(
        table, CommitProperties(custom_metadata={"userMetadata": note}, app_transactions=transactions)
    )
    forget_checksum(path)
    write_checksum(path)


# The checksums beside a log that both Spark and delta-rs write to. On an object store there are none, and
# Spark does without.
#
# Spark writes with every commit a summary of the version (`.crc` in Delta's protocol) and takes a table's
# columns and protocol from it. delta-rs writes none, and Spark would then start a job for each version that
# it opens.


def write_checksum(path: str) -> None:
    """Write the summary of the newest version: the last one there is, and what the commits since then have
    changed.
    """
    if is_remote(path):
        return
    log, entry = Path(path) / "_delta_log", newest_entry(path)
    newest = -1 if entry is None else entry.version
    if newest < 0 or _file(log, newest, "crc").exists() or (summary := _summarise(log, newest)) is None:
        return
    new = _file(log, newest, "crc.new")
    new.write_text(json.dumps(summary | (KNOWN_OF_NONE if newest == 0 and not summary["numFiles"] else {})))
    new.rename(_file(log, newest, "crc"))


def forget_checksum(path: str) -> None:
    """A commit by delta-rs may bring a checkpoint with it, and what names the last one changes: Spark's
    checksum of that would not fit, and Spark would do without it. A checksum that is not there is not looked
    at.
    """
    if not is_remote(path):
        Path(path, "_delta_log", "._last_checkpoint.crc").unlink(missing_ok=True)


def _summarise(log: Path, newest: int) -> dict[str, Any] | None:
    """None where the log does not tell: no summary near enough, or a commit that is gone or leaves the size
    of a removed file out.
    """
    oldest = max(newest - MOST_COMMITS, -1)
    base = next(
        (version for version in range(newest, oldest, -1) if _file(log, version, "crc").exists()), oldest
    )
    try:
        known = json.loads(_file(log, base, "crc").read_text()) if base >= 0 else {}
        summary = {name: known.get(name) for name in ("metadata", "protocol")} | {
            name: known.get(name, EMPTY[name]) for name in EMPTY
        }
        for version in range(base + 1, newest + 1):
            for line in _file(log, version, "json").read_text().splitlines():
                _apply(json.loads(line), summary)
    except (FileNotFoundError, KeyError, json.JSONDecodeError):
        return None
    return summary if summary["metadata"] and summary["protocol"] else None


def _apply(action: dict[str, Any], summary: dict[str, Any]) -> None:
    if add := action.get("add"):
        summary["tableSizeBytes"] += add["size"]
        summary["numFiles"] += 1
    if remove := action.get("remove"):
        summary["tableSizeBytes"] -= remove["size"]
        summary["numFiles"] -= 1
    summary["metadata"] = action.get("metaData") or summary["metadata"]
    summary["protocol"] = action.get("protocol") or summary["protocol"]


def _file(log: Path, version: int, ending: str) -> Path:
    return log / f"{version:020}.{ending}"
