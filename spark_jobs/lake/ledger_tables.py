"""The tables of the ledger, as far as they are rows: what runs and definitions say. ledger.py has what each
table is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

from spark_jobs.lake.delta_table import (
    TABLE,
    DeltaTable,
    answer,
    ask,
    names_of,
    read_rows,
)
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.sequence import (
    SEQUENCE,
    first_markers,
    sort_rows,
    sql_first,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.lake.known_rows import KnownRows


ANEW = "anew"
"""Of a definition, where it says what its table starts after: the table starts over, or a sink delivers
everything.
"""
UPKEEP_RUN = "maintain-"
"""How the id begins under which upkeep writes what tables have consumed by the versions that it has made."""
LIVE, SWAPPING = "live", "swapping"
"""Of a definition: its generation is what readers see; or it is built and about to take the place of the one
before.
"""


@dataclass(frozen=True)
class Definition:
    """What a table's rows follow: the parts of its definition, its checkpoint's generation, and the inputs it
    was rebuilt from.
    """

    generation: int
    parts: dict[str, Any]
    starts_after: dict[str, Any]
    state: str = LIVE
    stage: dict[str, Any] | None = None
    """While it is swapping: what was built of the table and beside it (run/stage.py)."""


@dataclass
class LedgerTables:
    """The tables of one pipeline's ledger: their rows, and what these say of runs and definitions. Its holder
    has the pipeline's lease, so what was read stays true but for its own writes.
    """

    lake: Lake
    _known: "dict[str, KnownRows]" = field(default_factory=dict, init=False)
    _loading: Lock = field(default_factory=Lock, init=False)
    """Two tables that begin at once must not each load what is known: what one of them has noted since would
    be forgotten.
    """

    def rows(self, name: str, columns: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """The rows of one ledger table; none where it was never written."""
        return read_rows(self.lake.ledger(name), columns)

    def ordered(self, name: str) -> list[dict[str, Any]]:
        """The same, the newest last."""
        return sort_rows(name, self.rows(name))

    def newest(self, name: str, per: Sequence[str] = ("table",)) -> list[dict[str, Any]]:
        """Of the rows of one ledger table the last one about each table, or about each value of these
        columns.
        """

        def read(table: DeltaTable) -> list[dict[str, Any]]:
            return ask(table, sql_first(name, names_of(table), per, "DESC"))

        return sort_rows(name, answer(self.lake.ledger(name), ("newest", *per), read))

    def read(self, name: str) -> "pa.Table":
        """All rows of one ledger table as columns. A ledger of an earlier version lacks columns that came
        later.
        """
        from spark_jobs.lake.ledger_schemas import SCHEMAS

        path = self.lake.ledger(name)
        return (
            DeltaTable(path).to_pyarrow_table()
            if DeltaTable.is_deltatable(path)
            else SCHEMAS[name].empty_table()
        )

    def _known_rows(self, name: str) -> "KnownRows":
        """The same, and what was added since: most questions of a run are about few of the rows."""
        from spark_jobs.lake.known_rows import KnownRows
        from spark_jobs.lake.ledger_schemas import SCHEMAS

        with self._loading:
            if name not in self._known:
                read = self.read(name)
                self._known[name] = KnownRows(
                    first_markers(read) if name == "batches" else read, SCHEMAS[name]
                )
            return self._known[name]

    def last_run(self) -> dict[str, Any] | None:
        """The run that ended last."""
        ended = sort_rows("runs", read_rows(self.lake.ledger("runs"), where="event = 'ended'"))
        return ended[-1] if ended else None

    def open_runs(self) -> list[dict[str, Any]]:
        """The runs that have not said how they ended: each is at work, or was killed."""
        ended = f"SELECT run_id FROM {TABLE} WHERE event LIKE '%ended'"
        rows = read_rows(self.lake.ledger("runs"), where=f"event LIKE '%started' AND run_id NOT IN ({ended})")
        return sort_rows("runs", rows)

    def definitions(self) -> dict[str, Definition]:
        """The newest definition per table."""
        return {row["table"]: _definition(row) for row in self.ordered("definitions")}

    def live_definitions(self) -> dict[str, Definition]:
        """The newest definition per table whose generation is the one that readers see."""
        return {row["table"]: _definition(row) for row in self.ordered("definitions") if row["state"] == LIVE}

    def consumed_inputs(self) -> dict[str, dict[str, Any]]:
        """Per table the inputs that its last complete run consumed, or that it was
        rebuilt from since then.
        """
        runs = {row["table"]: row for row in self.newest("tables")}
        live = (
            row for row in self.ordered("definitions") if row["state"] == LIVE and row["starts_after"] != "{}"
        )
        rebuilt = {row["table"]: row for row in live}
        known = {table: row["inputs"] for table, row in runs.items()}
        known |= {
            table: row["starts_after"]
            for table, row in rebuilt.items()
            if table not in runs or _is_newer(row, runs[table])
        }
        return {table: json.loads(inputs) for table, inputs in known.items()}


def _is_newer(definition: Mapping[str, Any], consumed: Mapping[str, Any]) -> bool:
    """Whether a rebuild came after a run of its table. Both are rows of different tables, so a definition
    says how far `tables` was.
    """
    number, until = consumed.get(SEQUENCE), definition.get("tables_until")
    if number is not None:
        return until is not None and int(number) <= int(until)
    return until is not None or bool(definition["noted_at"] >= consumed["ended_at"])


def _definition(row: Mapping[str, Any]) -> Definition:
    stage = row.get("stage")  # ledgers of earlier versions have none
    parts, starts_after = json.loads(row["definition"]), json.loads(row["starts_after"])
    return Definition(
        row["generation"], parts, starts_after, row["state"], json.loads(stage) if stage else None
    )
