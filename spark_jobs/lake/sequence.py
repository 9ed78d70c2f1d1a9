"""The order in which rows came to a table of the ledger: by a number that every write raises, never by a
clock, which may be wrong or step back.

The number is the version that the write gives to its ledger table. Rows of earlier versions of Weir have
none: they came before all others, and among themselves their times decide.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from spark_jobs.lake.delta_table import TABLE, quoted
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.scan import Wanted, read_where

if TYPE_CHECKING:
    import pyarrow as pa  # loaded where rows are columns: not by a command that finds nothing to do

SEQUENCE = "sequence"
TIMES = {
    "runs": "at",
    "tables": "ended_at",
    "states": "ended_at",
    "intents": "begun_at",
    "batches": "ended_at",
    "definitions": "noted_at",
    "evidence": "kept_at",
    "progress": "at",
    "rules": "noted_at",
    "expectations": "judged_at",
    "gates": "judged_at",
    "decisions": "decided_at",
    "drift": "seen_at",
}
"""When a row was written, as a person may want to know it."""
MARKER = ("table", "step", "generation", "batch")
"""What a batch is known by. It is done once, so its first marker counts, and a second one, after an answer
that was lost, says nothing.
"""


def sort_rows(name: str, rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows of a ledger table, the newest last."""
    time = TIMES[name]

    def place(row: Mapping[str, Any]) -> tuple[int, float]:
        number, at = row.get(SEQUENCE), row.get(time)
        return (-1 if number is None else number, at.timestamp() if at else 0.0)

    return sorted(map(dict, rows), key=place)


def in_order(name: str, rows: "pa.Table") -> "pa.Table":
    """The same of rows as columns."""
    import pyarrow.compute as pc

    keys = [(key, "ascending", "at_start") for key in (SEQUENCE, TIMES[name]) if key in rows.column_names]
    return rows.take(pc.sort_indices(rows, sort_keys=keys)) if keys else rows


def sql_order(name: str, order: str, there: Collection[str] | None = None) -> str:
    """The same in SQL. Rows of earlier versions have no sequence: they came before all others."""
    nulls = "FIRST" if order == "ASC" else "LAST"
    keys = [key for key in (SEQUENCE, TIMES[name]) if there is None or key in there]
    return "ORDER BY " + ", ".join(f"{quoted(key)} {order} NULLS {nulls}" for key in keys)


def sql_first(name: str, there: Collection[str], per: Sequence[str], order: str, where: str = "TRUE") -> str:
    """A query for one row of a ledger table for each value of these columns, the first or the last by its
    sequence.
    """
    number = (
        f"row_number() OVER (PARTITION BY {', '.join(map(quoted, per))} {sql_order(name, order, there)}) AS"
        " number"
    )
    columns = ", ".join(map(quoted, there))
    return f"SELECT {columns} FROM (SELECT {columns}, {number} FROM {TABLE} WHERE {where}) WHERE number = 1"


def read_ordered(
    lake: Lake, name: str, columns: Collection[str], wanted: Wanted | None = None
) -> list[dict[str, Any]]:
    """A few columns of a ledger table, the newest row last; none where it was never written."""
    return sort_rows(
        name, read_where(lake.ledger(name), list(dict.fromkeys([*columns, TIMES[name], SEQUENCE])), wanted)
    )


def newest_per_table(name: str, rows: "pa.Table") -> list[dict[str, Any]]:
    """Of many rows of a ledger table the last one about each table."""
    found: list[dict[str, Any]] = _pick(in_order(name, rows), ["table"], "max").to_pylist()
    return found


def first_markers(rows: "pa.Table") -> "pa.Table":
    """Of the ledger's batches one row for each batch, the first."""
    # mostly so, and ordering 200,000 rows takes longer than counting them
    if len(rows.group_by(list(MARKER)).aggregate([])) == len(rows):
        return rows
    return _pick(in_order("batches", rows), list(MARKER), "min")


def read_markers(lake: Lake, columns: Collection[str], wanted: Wanted | None = None) -> list[dict[str, Any]]:
    """Of the ledger's batches a few columns of one row for each batch, the first."""
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in read_ordered(lake, "batches", [*MARKER, *columns], wanted):
        first.setdefault(tuple(row[name] for name in MARKER), row)
    return list(first.values())


def _pick(rows: "pa.Table", columns: list[str], which: str) -> "pa.Table":
    import pyarrow as pa
    import pyarrow.compute as pc

    numbered = rows.append_column("_number", pa.array(range(len(rows)), pa.int64()))
    chosen = numbered.group_by(columns).aggregate([("_number", which)])[f"_number_{which}"]
    return rows.take(chosen.take(pc.sort_indices(chosen)))
