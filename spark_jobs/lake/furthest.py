"""Which record moved a watermark: the one with the greatest event time that a silver table has seen. No JVM.

It is looked for in the table. One that is quarantined, parked or superseded is not there: then the ledger names the files among which it
came.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.lake.delta_table import DeltaTable
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.query import TABLE, ask, literal, names_of, read_rows

NAMED = 3
"""Files that are named, of those among which the record came."""


@dataclass(frozen=True)
class Furthest:
    """`line` is known where the record is in the table; else `files` are some of those among which it came, of `file_count`."""

    event_at: datetime
    file: str | None = None
    line: int | None = None
    files: tuple[str, ...] = ()
    file_count: int = 0

    def as_dict(self) -> dict[str, Any]:
        return {**vars(self), "event_at": self.event_at.isoformat(), "files": list(self.files)}


def find_furthest(ledger: Ledger, lake: Lake, table: str, generation: int, source: str) -> Furthest | None:
    """Of a silver table that reads this source; None where it has seen no event time."""
    found = ledger.batch_of_high(table, generation)
    if found is None:
        return None
    high, until, after = found
    row = _row_at(lake.table(table), high)
    if row is not None:
        return Furthest(high, str(row["_file"]), int(row["_line"]))
    where = f"verdict = 'taken' AND chunk <= {until} AND chunk > {after}" if until is not None else "FALSE"
    files = sorted({str(row["path"]) for row in read_rows(lake.arrivals(source), ["path"], where)})
    return Furthest(high, files=tuple(files[:NAMED]), file_count=len(files))


def _row_at(path: str, at: datetime) -> dict[str, Any] | None:
    if not DeltaTable.is_deltatable(path):
        return None
    table = DeltaTable(path)
    if not {"_event_at", "_file", "_line"} <= {*names_of(table)}:
        return None
    moment = f"arrow_cast({literal(at.isoformat())}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
    found = ask(table, f"SELECT _file, _line FROM {TABLE} WHERE _event_at = {moment} ORDER BY _file, _line LIMIT 1")
    return found[0] if found else None
