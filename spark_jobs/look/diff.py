"""Two versions of a table beside each other, row by row: by its key, or where rows have none as bags of rows.

Values are compared as they are, also sensitive ones; these are masked where rows are shown.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import duckdb

from spark_jobs.config.columns import row_keys
from spark_jobs.config.sensitive import MASK
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.delta_table import literal, quoted
from spark_jobs.lake.snapshot import Snapshot, Version
from spark_jobs.look.engine import lock, open_engine, register
from spark_jobs.look.masks import Masked, masked_columns
from spark_jobs.look.names import TableRef
from spark_jobs.look.query import telling

OF_RUNS = (
    "_processed_at", "_revision", "_arrived_at", "_seen_until", "_closed_until", "_file", "_file_id", "_line",
    "_chunk", "_element", "_confirmed_by", "_content",
)  # fmt: skip
"""What tells of runs and of arrival, and not what a row says (docs/tables.md, What may be compared)."""
OF_RUNS_ASIDE = ("set_aside_at", "run_id", "batch", "arrived_at", "chunk", "seen_until", "closed_until")
ADDED, REMOVED, CHANGED = "added", "removed", "changed"
HERE = "weir here"
"""A column that no table can have."""
N = quoted(HERE)
"""The same as a number: how often a row is there more than before."""


@dataclass(frozen=True)
class DiffRow:
    """`values` are those of the row where it is there in one version alone; of a changed one, by column, what
    was and what is.
    """

    kind: str
    key: dict[str, Any]
    values: dict[str, Any]


@dataclass(frozen=True)
class Diff:
    """`unchanged` rows are equal in all `compared` columns. `columns`: in how many rows each has changed.
    `notes` tell of columns that are in one version alone, or of another type.
    """

    table: str
    before: int
    after: int
    key: tuple[str, ...]
    compared: tuple[str, ...]
    added: int
    removed: int
    changed: int
    unchanged: int
    columns: dict[str, int]
    notes: tuple[str, ...]
    first: tuple[DiffRow, ...]

    @property
    def differing(self) -> int:
        return self.added + self.removed + self.changed


@dataclass(frozen=True)
class _Sides:
    """Both versions as DuckDB knows them, with the columns that are compared beside the key."""

    engine: duckdb.DuckDBPyConnection
    old: str
    new: str
    key: tuple[str, ...]
    columns: tuple[str, ...]
    masks: dict[str, Masked]

    def ask(self, sql: str) -> list[tuple[Any, ...]]:
        return self.engine.execute(sql).fetchall()

    def shown(self, name: str, value: Any) -> Any:
        if value is None or name not in self.masks:
            return value
        part = self.masks[name]
        return MASK if part is None else part.mask(value)


def diff_table(ref: TableRef, before: Version, after: Version | None, rows: int) -> Diff:
    """NotThere, UsageError for a version that is not there, QueryFailed where its files are gone."""
    old, new = ref.open(before), ref.open(after)
    common, notes = _common_columns(old, new)
    with open_engine() as engine, telling():
        places = _side(engine, old, common, new), _side(engine, new, common, old)
        lock(engine)
        key = _key(engine, ref, common, places)
        left_out = OF_RUNS_ASIDE if ref.layer in ("quarantine", "parked", "late") else ()
        columns = tuple(name for name in common if name not in (*OF_RUNS, *left_out, *key))
        sides = _Sides(engine, *places, key, columns, masked_columns(ref, common))
        counts, by_column = _count(sides)
        first = tuple(_first(sides, rows)) if rows else ()
    return Diff(
        ref.full_name,
        old.version,
        new.version,
        key,
        columns,
        *counts,
        columns=by_column,
        notes=notes,
        first=first,
    )


def _common_columns(old: Snapshot, new: Snapshot) -> tuple[list[str], tuple[str, ...]]:
    was = {column.name: column.type for column in old.columns}
    now = {column.name: column.type for column in new.columns}
    notes = [f"version {new.version} has a column {name} more" for name in now if name not in was]
    notes += [f"version {new.version} has no column {name} any more" for name in was if name not in now]
    notes += [
        f"the column {name} was {was[name]} and is {now[name]}; compared as text"
        for name in now
        if name in was and was[name] != now[name]
    ]
    return [name for name in now if name in was], tuple(notes)


def _side(
    engine: duckdb.DuckDBPyConnection, snapshot: Snapshot, columns: Sequence[str], other: Snapshot
) -> str:
    """A version with the columns that both have; as text, those whose types differ."""
    types = {column.name: column.type for column in other.columns}
    mine = {column.name: column.type for column in snapshot.columns}
    shown = (
        quoted(name) if mine[name] == types[name] else f"CAST({quoted(name)} AS VARCHAR) AS {quoted(name)}"
        for name in columns
    )
    return f"(SELECT {', '.join(shown)} FROM {register(engine, snapshot)})"


def _key(
    engine: duckdb.DuckDBPyConnection, ref: TableRef, columns: list[str], places: Sequence[str]
) -> tuple[str, ...]:
    """What tells rows apart in both versions; none where the definition says nothing, or was another one."""
    key = _declared_key(ref)
    if not key or any(name not in columns for name in key):
        return ()
    names = ", ".join(map(quoted, key))
    for place in places:
        [(twice,)] = engine.execute(
            f"SELECT EXISTS (SELECT 1 FROM {place} GROUP BY {names} HAVING count(*) > 1)"
        ).fetchall()
        if twice:
            return ()
    return tuple(key)


def _declared_key(ref: TableRef) -> Sequence[str]:
    if ref.layer == "bronze":
        return ("_file_id", "_line")
    if ref.layer in ("quarantine", "parked"):
        return ("file_id", "line", "element")
    name = TableName(ref.name).name if ref.layer == "deleted" else ref.name
    return row_keys(ref.pipeline).get(name, ())


def _count(sides: _Sides) -> tuple[tuple[int, int, int, int], dict[str, int]]:
    """Rows added, removed, changed and unchanged; and changed values by column."""
    if not sides.key:
        found = sides.ask(
            f"SELECT coalesce(sum({N}) FILTER ({N} > 0), 0), coalesce(-sum({N}) FILTER ({N} < 0), 0)"
            f" FROM ({_bag(sides)})"
        )
        added, removed = (int(number) for number in found[0])
        [(rows,)] = sides.ask(f"SELECT count(*) FROM {sides.new}")
        return (added, removed, 0, rows - added), {}
    both = f"o.{quoted(HERE)} AND n.{quoted(HERE)}"
    is_changed = " OR ".join(map(_differs, sides.columns)) or "FALSE"
    counts = [
        f"count(*) FILTER (o.{quoted(HERE)} IS NULL)",
        f"count(*) FILTER (n.{quoted(HERE)} IS NULL)",
        f"count(*) FILTER ({both} AND ({is_changed}))",
        f"count(*) FILTER ({both} AND NOT ({is_changed}))",
        *(f"count(*) FILTER ({both} AND {_differs(name)})" for name in sides.columns),
    ]
    [numbers] = sides.ask(f"SELECT {', '.join(counts)} FROM {_pairs(sides)}")
    by_column = {name: number for name, number in zip(sides.columns, numbers[4:], strict=True) if number}
    added, removed, changed, unchanged = numbers[:4]
    return (added, removed, changed, unchanged), by_column


def _first(sides: _Sides, rows: int) -> list[DiffRow]:
    if not sides.key:
        names = ", ".join(map(quoted, sides.columns))
        found = sides.ask(f"SELECT {N}, {names} FROM ({_bag(sides)}) ORDER BY {names} LIMIT {rows:d}")
        return [
            DiffRow(ADDED if number > 0 else REMOVED, {}, _values(sides, sides.columns, values))
            for number, *values in found
        ]
    kind = (
        f"CASE WHEN o.{quoted(HERE)} IS NULL THEN {literal(ADDED)} WHEN n.{quoted(HERE)} IS NULL THEN"
        f" {literal(REMOVED)} ELSE {literal(CHANGED)} END"
    )
    keys = [f"coalesce(n.{quoted(name)}, o.{quoted(name)})" for name in sides.key]
    is_changed = " OR ".join(map(_differs, sides.columns)) or "FALSE"
    wanted = [*keys, *(f"{side}.{quoted(name)}" for side in "on" for name in sides.columns)]
    found = sides.ask(
        f"SELECT {', '.join([kind, *wanted, *(_differs(name) for name in sides.columns)])}"
        f" FROM {_pairs(sides)} WHERE o.{quoted(HERE)} IS NULL OR n.{quoted(HERE)} IS NULL OR {is_changed}"
        f" ORDER BY {', '.join(keys)} LIMIT {rows:d}"
    )
    return [_row(sides, row) for row in found]


def _row(sides: _Sides, row: tuple[Any, ...]) -> DiffRow:
    kind, number = row[0], len(sides.columns)
    start = 1 + len(sides.key)
    key = _values(sides, sides.key, row[1:start])
    old = _values(sides, sides.columns, row[start : start + number])
    new = _values(sides, sides.columns, row[start + number : start + 2 * number])
    if kind == ADDED:
        return DiffRow(kind, key, new)
    if kind == REMOVED:
        return DiffRow(kind, key, old)
    differs = dict(zip(sides.columns, row[start + 2 * number :], strict=True))
    return DiffRow(kind, key, {name: (old[name], new[name]) for name in sides.columns if differs[name]})


def _values(sides: _Sides, names: Sequence[str], values: Sequence[Any]) -> dict[str, Any]:
    return {name: sides.shown(name, value) for name, value in zip(names, values, strict=True)}


def _pairs(sides: _Sides) -> str:
    old, new = (f"(SELECT *, TRUE AS {quoted(HERE)} FROM {place})" for place in (sides.old, sides.new))
    same = " AND ".join(f"o.{quoted(name)} IS NOT DISTINCT FROM n.{quoted(name)}" for name in sides.key)
    return f"{old} o FULL JOIN {new} n ON {same}"


def _bag(sides: _Sides) -> str:
    """Each distinct row that is there more, or less, often than before, with the difference."""
    names = ", ".join(map(quoted, sides.columns))
    return (
        f"SELECT {names}, sum({N}) AS {N} FROM (SELECT {names}, 1 AS {N} FROM {sides.new}"
        f" UNION ALL SELECT {names}, -1 FROM {sides.old}) GROUP BY ALL HAVING sum({N}) <> 0"
    )


def _differs(name: str) -> str:
    return f"(o.{quoted(name)} IS DISTINCT FROM n.{quoted(name)})"
