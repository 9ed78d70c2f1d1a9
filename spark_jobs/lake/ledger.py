"""The ledger: what each run, table and batch did with its rows. Small Delta tables, written and read without
a JVM.

runs: one row when a run starts and one when it ends. states: how each table ended in each run (states.py).
tables: one row per table and run that brought it up to date, with the input versions it has consumed.
intents: one row per batch before its first write, with the versions that it reads. batches: one row per
batch, written last; its presence is what makes the batch done. definitions: which definition a table's rows
follow, and the generation of its checkpoint. evidence: batches whose sums did not balance.

progress: how each batch of a stream went, in Spark's own words (query_progress.py).

rules, expectations, gates and decisions tell how batches were judged: see verdicts.py. drift: fields that
came or went.

Which of two rows is the newer one is told by their sequence (sequence.py), never by a clock.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from deltalake import Schema, write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_commit import append_once
from spark_jobs.lake.delta_table import (
    DeltaTable,
    options_of,
)
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.lease import refuse_writes
from spark_jobs.lake.ledger_batches import BatchId, Intent, LedgerBatches
from spark_jobs.lake.ledger_tables import LIVE, SWAPPING, Definition
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.sequence import (
    SEQUENCE,
)

if TYPE_CHECKING:
    import pyarrow as pa


COMMITS_PER_COMPACTION, COMPACTED_BYTES = 20, 256 * 1024
"""Each increment reads these tables many times: one of 100 commits takes 0.3 CPU s to read and 0.04 to open,
one that was just compacted a fortieth of that. A file of so many bytes is left alone until `weir maintain`: a
long history is not written again and again.
"""
POINTLESS = ("definitions", "rules", "expectations", "decisions", "drift", "runs")
"""Tables whose rows are written without a failpoint of their own."""
NOTES = ("runs", "states", "evidence", "progress")
"""What only tells a story: a run that has lost its lease may still say so, beside another one that writes."""

_APPENDING = Lock()
"""Two ledgers of one process, that of a live query and that of an increment, may write at the same time."""


@dataclass
class Ledger(LedgerBatches):
    """The ledger of one pipeline, to be read and written. Whoever only reads has no guard."""

    guard: Callable[[], None] = refuse_writes
    """Asked before every row that others go by: it raises where the lease is lost."""

    def write_run(self, **row: Any) -> None:
        self.append("runs", [{"pipeline": self.lake.pipeline, **row}])

    def write_table(
        self,
        run_id: str,
        table: str,
        seconds: float,
        inputs: dict[str, Any],
        version: int | None,
        batches: int,
        counts: Counts,
    ) -> None:
        """Say that the table has consumed these versions of its inputs."""
        reach("consumed.before", table)
        row = {
            "run_id": run_id,
            "table": table,
            "ended_at": datetime.now(UTC),
            "seconds": seconds,
            "inputs": json.dumps(inputs, sort_keys=True),
        }
        self.append("tables", [{**row, "version": version, "batches": batches, **counts.as_dict()}])
        reach("consumed.after", table)

    def begin_batch(self, run_id: str, batch_id: BatchId, inputs: dict[str, Any]) -> Intent:
        """Write down what the batch reads; one that was begun before keeps what it began with."""
        intent, known = self.intent(batch_id), self._known_rows("intents")
        if intent is None:
            table, step = batch_id[:2]
            reach("intent.before", table, step)
            intent = Intent(datetime.now(UTC), inputs)
            row = {
                **batch_columns(run_id, batch_id),
                "begun_at": intent.begun_at,
                "inputs": json.dumps(inputs, sort_keys=True),
            }
            known.add(*self.append("intents", [row]))
            self._forgotten.discard(batch_id)
            reach("intent.after", table, step)
        return intent

    def forget_intent(self, batch_id: BatchId) -> None:
        """Let a batch that has written nothing start over, with what is there now."""
        self._forgotten.add(batch_id)

    def write_batch(
        self,
        run_id: str,
        batch_id: BatchId,
        started_at: datetime,
        version: int | None,
        counts: Counts,
        seen: Seen,
    ) -> None:
        """The batch's marker, written once, after everything else of it."""
        if self.has_batch(batch_id):
            return
        reach("marker.before", *batch_id[:2])
        row = {
            **batch_columns(run_id, batch_id),
            "started_at": started_at,
            "ended_at": datetime.now(UTC),
            "version": version,
        }
        row |= {
            **counts.as_dict(),
            "high": seen.high,
            "closed_until": seen.closed_until,
            "chunk": seen.chunk,
            "records": seen.records,
        }
        self._known_rows("batches").add(*self.append("batches", [row]))
        reach("marker.after", *batch_id[:2])

    def write_definitions(self, run_id: str, definitions: Mapping[str, Definition]) -> None:
        """Say what the rows of these tables follow from now on, in one commit."""
        until = (
            DeltaTable(self.lake.ledger("tables")).version()
            if DeltaTable.is_deltatable(self.lake.ledger("tables"))
            else -1
        )
        common = {"run_id": run_id, "noted_at": datetime.now(UTC), "tables_until": until}
        rows = [
            {**common, "table": table, "generation": known.generation,
             "definition": json.dumps(known.parts, sort_keys=True),
             "starts_after": json.dumps(known.starts_after, sort_keys=True), "state": known.state,
             "stage": None if known.stage is None else json.dumps(known.stage, sort_keys=True)} for table,
             known in definitions.items()
        ]  # fmt: skip
        is_swapping = any(known.state == SWAPPING for known in definitions.values())
        if rows:
            self.append("definitions", rows, SWAPPING if is_swapping else LIVE)

    def write_evidence(self, run_id: str, batch_id: BatchId, inputs: Mapping[str, Any], message: str) -> None:
        row = {
            "kept_at": datetime.now(UTC),
            "inputs": json.dumps(dict(inputs), sort_keys=True),
            "message": message,
        }
        self.append("evidence", [{**batch_columns(run_id, batch_id), **row}])

    def append(self, name: str, rows: Iterable[dict[str, Any]], step: str = "") -> list[dict[str, Any]]:
        """Append the rows to one ledger table, in one commit, and give them with their sequence. `step` is
        that of its failpoint.
        """
        if name in POINTLESS:
            reach("ledger.before", f"ledger.{name}", step)
        numbered = self._append(name, rows)
        if name in POINTLESS:
            reach("ledger.after", f"ledger.{name}", step)
        return numbered

    def _append(self, name: str, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        import pyarrow as pa  # with pandas it takes half a second: not for a run with nothing to do

        from spark_jobs.lake.ledger_schemas import SCHEMAS

        path = self.lake.ledger(name)
        if name not in NOTES:
            self.guard()
        with _APPENDING:
            table = DeltaTable(path) if DeltaTable.is_deltatable(path) else None
            number = 0 if table is None else table.version() + 1
            numbered = [{**row, SEQUENCE: number} for row in rows]
            new = pa.Table.from_pylist(numbered, schema=SCHEMAS[name])
            if table is not None:
                _add_columns(table, new.schema)
            place, options = (path, options_of(path)) if table is None else (table, None)
            if name in NOTES:
                write_deltalake(place, new, mode="append", storage_options=options)
            else:
                app_id = f"weir/{self.lake.pipeline}/ledger/{name}"
                append_once(place, new, app_id, number, storage_options=options)
            table = DeltaTable(path) if table is None else table
            if table.version() % COMMITS_PER_COMPACTION == COMMITS_PER_COMPACTION - 1:
                table.optimize.compact(target_size=COMPACTED_BYTES)
                table.create_checkpoint()
        return numbered


def _add_columns(table: DeltaTable, schema: "pa.Schema") -> None:
    """A ledger of an earlier version lacks columns that came later: its old rows have
    none of their values.
    """
    known = {field.name for field in table.schema().fields}
    if set(schema.names) - known:
        table.alter.add_columns(
            [field for field in Schema.from_arrow(schema).fields if field.name not in known]
        )


def batch_columns(run_id: str, batch_id: BatchId) -> dict[str, Any]:
    table, step, generation, number = batch_id
    return {"run_id": run_id, "table": table, "step": step, "generation": generation, "batch": number}
