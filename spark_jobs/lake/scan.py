"""Reads a few rows or columns of a table that may be large, or not be there, or lack columns that came later. No JVM.

What enters: a table's path and what is wanted of it. What leaves: plain rows; a column that the table does not have is None.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

ROWS_PER_READ = 8_192
Wanted = Mapping[str, Collection[Any]]
"""Per column the values that are wanted. A column that the table lacks rules nothing out."""


def read_where(path: str, columns: list[str], wanted: Wanted | None = None) -> list[dict[str, Any]]:
    """The rows that have one of the wanted values in each of these columns; none where there is no table."""
    found = (row for batch in scan(path, columns, wanted) for row in batch.to_pylist())
    return [{name: row.get(name) for name in columns} for row in found]


def scan(path: str, columns: list[str], wanted: Wanted | None = None) -> Iterator[pa.RecordBatch]:
    """The same as batches, of which only a few are in memory at a time."""
    if not DeltaTable.is_deltatable(path):
        return
    rows = DeltaTable(path).to_pyarrow_dataset()
    there = [name for name in columns if name in rows.schema.names]
    if not there:
        return
    scanner = rows.scanner(columns=there, filter=_condition(rows.schema, wanted or {}), batch_size=ROWS_PER_READ, batch_readahead=2)
    yield from scanner.to_batches()


def count_where(path: str, wanted: Wanted) -> int:
    if not DeltaTable.is_deltatable(path):
        return 0
    rows = DeltaTable(path).to_pyarrow_dataset()
    return int(rows.count_rows(filter=_condition(rows.schema, wanted)))


def column_names(path: str) -> list[str]:
    """The columns of a table; none where it is not there."""
    return [field.name for field in DeltaTable(path).schema().fields] if DeltaTable.is_deltatable(path) else []


def _condition(schema: pa.Schema, wanted: Wanted) -> Any:
    import pyarrow.dataset as ds  # takes a third of a second: not for a run with nothing to do

    condition = None
    for name, values in wanted.items():
        if name in schema.names:
            one = ds.field(name).isin(pa.array(list(values), schema.field(name).type))
            condition = one if condition is None else condition & one
    return condition
