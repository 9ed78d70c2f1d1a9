"""The rows of a ledger table that a process has read, as columns, and those that it has written since.

An always-on stream adds to the ledger with every increment and asks it all the time. As columns, 200,000 rows
are asked in milliseconds; objects are made only of the few rows that are wanted.
"""

from collections.abc import Mapping
from functools import reduce
from threading import Lock
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

FEW = 50
"""Rows that are kept as they were added: more of them are made columns."""


class KnownRows:
    """Tables at work at the same time add to it and ask it."""

    def __init__(self, read: pa.Table, schema: pa.Schema) -> None:
        self._columns, self._schema, self._lock = read, schema, Lock()
        self._new: list[dict[str, Any]] = []

    def add(self, *rows: Mapping[str, Any]) -> None:
        with self._lock:
            self._new += map(dict, rows)
            if len(self._new) > FEW:
                self._columns, self._new = _together(self._columns, self._made(self._new)), []

    def where(self, **values: object) -> pa.Table:
        """The rows with these values, those that were added last."""
        with self._lock:
            columns, new = self._columns, self._made(self._new)
        return _together(_where(columns, values), _where(new, values))

    def _made(self, rows: list[dict[str, Any]]) -> pa.Table:
        return pa.Table.from_pylist(rows, schema=self._schema)


def greatest(rows: pa.Table, column: str) -> Any:
    """None where no row has a value."""
    return pc.max(rows[column]).as_py() if column in rows.column_names else None


def total(rows: pa.Table, column: str) -> int:
    return int(pc.sum(rows[column]).as_py() or 0) if column in rows.column_names else 0


def at_most(rows: pa.Table, column: str, value: int) -> pa.Table:
    return rows.filter(pc.less_equal(rows[column], value))


def not_starting(rows: pa.Table, column: str, start: str) -> pa.Table:
    return rows.filter(pc.invert(pc.starts_with(rows[column], start)))


def _together(*tables: pa.Table) -> pa.Table:
    """A ledger of an earlier version lacks columns that came later."""
    return pa.concat_tables(tables, promote_options="default")


def _where(rows: pa.Table, values: Mapping[str, object]) -> pa.Table:
    if not values or not len(rows):
        return rows
    return rows.filter(reduce(pc.and_, (pc.equal(rows[name], value) for name, value in values.items())))
