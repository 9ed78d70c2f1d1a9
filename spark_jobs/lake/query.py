"""Questions to a Delta table in SQL, answered by delta-rs alone: neither a JVM nor Arrow's Python library is loaded for them.

pyarrow, with the pandas that it loads for the first value that it converts, takes half a second, as long as all else together of a command
that finds nothing to do.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any

from deltalake import QueryBuilder

from spark_jobs.lake.delta_table import DeltaTable, Newest, newest_entry
from spark_jobs.lake.storage import is_remote

Row = dict[str, Any]
TABLE = "asked"
"""What the table is called in the SQL of a question."""
MOST_ROWS, MOST_TABLES = 1_000, 100
"""So many rows of an answer, and of so many tables, are kept."""


@dataclass
class _Known:
    """What a table has answered while this was the newest entry of its log."""

    newest: Newest
    answers: dict[Hashable, list[Row]] = field(default_factory=dict)


_known: dict[str, _Known] = {}


def read_rows(path: str, columns: Sequence[str] | None = None, where: str = "TRUE") -> list[Row]:
    """The rows of a table that meet a condition, with these columns as far as it has them; none where there is no table."""

    def read(table: DeltaTable) -> list[Row]:
        there = names_of(table)
        shown = there if columns is None else [name for name in columns if name in there]
        return ask(table, f"SELECT {', '.join(map(quoted, shown))} FROM {TABLE} WHERE {where}") if shown else []

    return answer(path, ("rows", None if columns is None else tuple(columns), where), read)


def answer(path: str, key: Hashable, question: Callable[[DeltaTable], list[Row]]) -> list[Row]:
    """The answer of a table to a question, known by its key; none where there is no table. While the table is as it was, a few rows are not
    read again: an increment asks the same of the ledger several times, and a stream that waits asks every second.
    """
    newest = None if is_remote(path) else newest_entry(path)
    known = _known.get(path)
    if known is not None and known.newest == newest and key in known.answers:
        return [dict(row) for row in known.answers[key]]
    if not DeltaTable.is_deltatable(path):
        return []
    rows = question(DeltaTable(path))
    if newest is not None and newest == newest_entry(path) and len(rows) <= MOST_ROWS:
        if known is None or known.newest != newest:
            known = _known[path] = _Known(newest)
        known.answers[key] = [dict(row) for row in rows]
        while len(_known) > MOST_TABLES:
            _known.pop(next(iter(_known)), None)
    return rows


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
