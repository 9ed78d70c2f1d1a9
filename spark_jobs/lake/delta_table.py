"""Tables by delta-rs, without a JVM, and questions to them in SQL."""

import os
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

import deltalake
from deltalake import QueryBuilder

from spark_jobs.lake.storage import OUTAGE_SECONDS, first_below, is_remote

if TYPE_CHECKING:
    import pyarrow.dataset as ds  # loaded where rows are read: not by a command that finds nothing to do

# Tables by delta-rs, without a JVM. On an object store its requests have more patience than by default, when
# a second decides.

PATIENCE = {
    "max_retries": "100",
    "retry_timeout": f"{OUTAGE_SECONDS}s",
    "backoff_config.init_backoff": "100ms",
    "backoff_config.max_backoff": "2s",
}


COMMIT = re.compile(r"([0-9]{20})\.(?:json|checkpoint\.parquet)")


class Newest(NamedTuple):
    """The newest entry of a table's log. A table in the place of another one has another, whatever its
    version.
    """

    version: int
    file: int
    changed_at: int
    size: int


class DeltaTable(deltalake.DeltaTable):
    """A table at a place of the lake."""

    def __init__(
        self, table_uri: Any, version: Any = None, storage_options: dict[str, str] | None = None, **more: Any
    ) -> None:
        super().__init__(table_uri, version, storage_options or options_of(str(table_uri)), **more)

    @staticmethod
    def is_deltatable(table_uri: Any, storage_options: dict[str, str] | None = None) -> bool:  # noqa: ARG004 - delta-rs' own signature
        """On an object store by a look at its log: delta-rs would stop all threads of this process while it
        waits for an answer.
        """
        if is_remote(str(table_uri)):
            return any(
                name.endswith((".json", ".parquet")) for name in first_below(f"{table_uri}/_delta_log")
            )
        return deltalake.DeltaTable.is_deltatable(table_uri)


def options_of(place: str) -> dict[str, str] | None:
    """What delta-rs is told of where a table is; its keys it finds in the environment."""
    return dict(PATIENCE) if is_remote(place) else None


def newest_entry(path: str) -> Newest | None:
    """By the names in the log of a table on a file system; None where there is none. To open a table takes a
    hundred times as long.
    """
    try:
        names = [name for name in os.listdir(f"{path}/_delta_log") if COMMIT.fullmatch(name)]
        if not names:
            return None
        last = max(names)
        found = os.stat(f"{path}/_delta_log/{last}")
    except (FileNotFoundError, NotADirectoryError):
        return None
    return Newest(int(last[:20]), found.st_ino, found.st_mtime_ns, found.st_size)


# Questions to a Delta table in SQL, answered by delta-rs alone: neither a JVM nor Arrow's Python library is
# loaded for them. pyarrow, with the pandas that it loads for the first value that it converts, takes half a
# second, as long as all else together of a command that finds nothing to do.

Row = dict[str, Any]
T = TypeVar("T")
TABLE = "asked"
"""What the table is called in the SQL of a question."""
MOST_ROWS, MOST_FILES, MOST_TABLES = 1_000, 200, 100
"""So many rows of an answer, or files of a table, and of so many tables, are kept."""


@dataclass
class _Known:
    """What was found in a table while this was the newest entry of its log."""

    newest: Newest
    found: dict[Hashable, Any] = field(default_factory=dict)


_known: dict[str, _Known] = {}


def read_rows(path: str, columns: Sequence[str] | None = None, where: str = "TRUE") -> list[Row]:
    """The rows of a table that meet a condition, with these columns as far as it has them; none where there
    is no table.
    """

    def read(table: DeltaTable) -> list[Row]:
        there = names_of(table)
        shown = there if columns is None else [name for name in columns if name in there]
        return (
            ask(table, f"SELECT {', '.join(map(quoted, shown))} FROM {TABLE} WHERE {where}") if shown else []
        )

    return answer(path, ("rows", None if columns is None else tuple(columns), where), read)


def answer(path: str, key: Hashable, question: Callable[[DeltaTable], list[Row]]) -> list[Row]:
    """The answer of a table to a question, known by its key; none where there is no table. A few rows are not
    read again: an increment asks the same of the ledger several times, and a stream that waits asks every
    second.
    """
    rows = _find(path, key, question, lambda rows: len(rows) <= MOST_ROWS)
    return [dict(row) for row in rows or ()]


def open_dataset(path: str) -> "ds.Dataset | None":
    """A table as Arrow reads it; None where there is none. One of a few files is not opened again: a report
    reads the tables of the ledger several times, and to open one takes longer than to read it.
    """
    found = _find(path, "dataset", _dataset, lambda found: found[1] <= MOST_FILES)
    return found and found[0]


def _dataset(table: DeltaTable) -> "tuple[ds.Dataset, int]":
    return table.to_pyarrow_dataset(), len(table.file_uris())


def _find(
    path: str, key: Hashable, find: Callable[[DeltaTable], T], is_small: Callable[[T], bool]
) -> T | None:
    """What is found in a table, which is kept where it is small, and not looked for again while the table is
    as it was; None where there is no table.
    """
    newest = None if is_remote(path) else newest_entry(path)
    known = _known.get(path)
    if known is not None and known.newest == newest and key in known.found:
        return cast("T", known.found[key])
    if not DeltaTable.is_deltatable(path):
        return None
    found = find(DeltaTable(path))
    if newest is not None and newest == newest_entry(path) and is_small(found):
        if known is None or known.newest != newest:
            known = _known[path] = _Known(newest)
        known.found[key] = found
        while len(_known) > MOST_TABLES:
            _known.pop(next(iter(_known)), None)
    return found


def ask(table: DeltaTable, sql: str) -> list[Row]:
    """The answer of a query over `asked`, as objects."""
    found = QueryBuilder().register(TABLE, table).execute(sql).read_all()
    columns = [found.column(name).to_pylist() for name in found.column_names]
    return [dict(zip(found.column_names, values, strict=True)) for values in zip(*columns, strict=True)]


def count_where(table: DeltaTable, condition: str) -> int:
    [found] = ask(table, f"SELECT count(*) AS rows FROM {TABLE} WHERE {condition}")
    return int(found["rows"])


def names_of(table: DeltaTable) -> list[str]:
    return [field.name for field in table.schema().fields]


def quoted(name: str) -> str:
    """A column as SQL names it, whatever its letters."""
    return '"' + name.replace('"', '""') + '"'


def literal(value: str | int) -> str:
    return "'" + value.replace("'", "''") + "'" if isinstance(value, str) else str(value)
