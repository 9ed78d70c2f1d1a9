"""Questions to a Delta table in SQL, answered by delta-rs alone: neither a JVM nor Arrow's Python library is loaded for them.

pyarrow, with the pandas that it loads for the first value that it converts, takes half a second, as long as all else together of a command
that finds nothing to do.
"""

from collections.abc import Sequence
from typing import Any

from deltalake import QueryBuilder

from spark_jobs.lake.delta_table import DeltaTable

Row = dict[str, Any]
TABLE = "asked"
"""What the table is called in the SQL of a question."""


def read_rows(path: str, columns: Sequence[str] | None = None, where: str = "TRUE") -> list[Row]:
    """The rows of a table that meet a condition, with these columns as far as it has them; none where there is no table."""
    if not DeltaTable.is_deltatable(path):
        return []
    table = DeltaTable(path)
    there = names_of(table)
    shown = there if columns is None else [name for name in columns if name in there]
    return ask(table, f"SELECT {', '.join(map(quoted, shown))} FROM {TABLE} WHERE {where}") if shown else []


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
