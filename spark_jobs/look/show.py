"""What a table is: version, rows, columns, history, and its first rows, sensitive values masked."""

from dataclasses import dataclass
from typing import Any

from spark_jobs.config.loading import Project
from spark_jobs.config.names import SIDES
from spark_jobs.lake.delta_table import quoted
from spark_jobs.lake.snapshot import Commit, Snapshot, Version
from spark_jobs.look.engine import lock, open_engine, register_masked
from spark_jobs.look.masks import masked_columns
from spark_jobs.look.names import ARRIVALS, LEDGER, NotThere, TableRef, known_tables
from spark_jobs.look.query import telling
from spark_jobs.look.sql import Named


@dataclass(frozen=True)
class ShownColumn:
    name: str
    type: str
    is_sensitive: bool


@dataclass(frozen=True)
class Shown:
    table: str
    version: int
    rows: int
    files: int
    bytes: int
    columns: tuple[ShownColumn, ...]
    history: tuple[Commit, ...]
    first: tuple[tuple[Any, ...], ...]


@dataclass(frozen=True)
class Listed:
    """A table in the list of all; nothing is known of one that no run has made yet."""

    table: str
    version: int | None = None
    rows: int | None = None
    files: int | None = None
    bytes: int | None = None


def show_table(ref: TableRef, at: Version | None, rows: int, commits: int) -> Shown:
    """NotThere, UsageError for a version that is not there, QueryFailed where rows cannot be read."""
    snapshot = ref.open(at)
    files, size = snapshot.files()
    names = [column.name for column in snapshot.columns]
    masked = masked_columns(ref, names)
    return Shown(
        ref.full_name,
        snapshot.version,
        snapshot.rows(),
        files,
        size,
        tuple(ShownColumn(column.name, column.type, column.name in masked) for column in snapshot.columns),
        tuple(snapshot.history(commits) if commits else ()),
        _first_rows(ref, snapshot, names, rows) if rows else (),
    )


def list_tables(project: Project) -> list[Listed]:
    """All tables that pipelines declare, and of those beside them, of arrivals and of the ledger what is
    there.
    """
    found = [_listed(ref) for ref in known_tables(project).values()]
    return [listed for listed in found if listed is not None]


def _first_rows(
    ref: TableRef, snapshot: Snapshot, names: list[str], rows: int
) -> tuple[tuple[Any, ...], ...]:
    with open_engine() as engine, telling():
        register_masked(engine, [(Named(ref, None, ("shown", "of", "table")), snapshot)])
        lock(engine)
        columns = ", ".join(map(quoted, names))
        return tuple(engine.execute(f'SELECT {columns} FROM shown."of"."table" LIMIT {rows:d}').fetchall())


def _listed(ref: TableRef) -> Listed | None:
    try:
        snapshot = ref.open()
    except NotThere:
        return None if ref.layer in (LEDGER, ARRIVALS, *SIDES) else Listed(ref.full_name)
    files, size = snapshot.files()
    return Listed(ref.full_name, snapshot.version, snapshot.rows(), files, size)
