"""Commits to a Delta table by delta-rs, without a JVM: tables are created, and rows appended that the driver
has.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from deltalake import CommitProperties, PostCommitHookProperties, Schema, Transaction, write_deltalake

from spark_jobs.lake.checksums import forget_checksum, write_checksum
from spark_jobs.lake.delta_table import DeltaTable, options_of

if TYPE_CHECKING:
    import pyarrow as pa
from spark_jobs.lake.delta_log import holds_transaction


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
