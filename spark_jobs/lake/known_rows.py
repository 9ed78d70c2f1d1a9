"""The rows of a ledger table that a process has read, as columns, and those that it has written since.

An always-on stream adds to the ledger with every increment and asks it all the time. As columns, 200,000 rows are asked in milliseconds;
objects are made only of the few rows that are wanted.
"""

from collections.abc import Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


class KnownRows:
    def __init__(self, read: pa.Table, schema: pa.Schema) -> None:
        self._read, self._schema = read, schema
        self._new: list[dict[str, Any]] = []

    def add(self, row: Mapping[str, Any]) -> None:
        self._new.append(dict(row))

    def where(self, **values: object) -> pa.Table:
        """The rows with these values, those that were added last."""
        new = pa.Table.from_pylist(list(self._new), schema=self._schema)  # other tables' threads add to it meanwhile
        return pa.concat_tables([_where(rows, values) for rows in (self._read, new)], promote_options="default")


def newest_per_table(rows: pa.Table, time: str) -> list[dict[str, Any]]:
    """Of many rows the last one of each table, by a column of times."""
    numbered = rows.sort_by(time).append_column("_number", pa.array(range(len(rows)), pa.int64()))
    last = numbered.group_by("table").aggregate([("_number", "max")])["_number_max"]
    found: list[dict[str, Any]] = numbered.take(last).drop_columns("_number").to_pylist()
    return found


def greatest(rows: pa.Table, column: str) -> Any:
    """None where no row has a value."""
    return pc.max(rows[column]).as_py() if column in rows.column_names else None


def total(rows: pa.Table, column: str) -> int:
    return int(pc.sum(rows[column]).as_py() or 0) if column in rows.column_names else 0


def _where(rows: pa.Table, values: Mapping[str, object]) -> pa.Table:
    if not values or not len(rows):
        return rows
    return rows.filter(reduce(pc.and_, (pc.equal(rows[name], value) for name, value in values.items())))
