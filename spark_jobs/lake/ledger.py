"""The ledger: what each run, table and batch did with its rows. Small Delta tables, written and read without a JVM.

runs: one row when a run starts and one when it ends. tables: one row per table and run, with the input versions it has consumed.
batches: one row per batch, written last; its presence is what makes the batch done.
"""

import json
from dataclasses import dataclass, field
from datetime import datetime
from threading import Lock
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake

COMMITS_PER_COMPACTION = 100

_TIME = pa.timestamp("us", "UTC")
_COUNTS = [(name, pa.int64()) for name in Counts().as_dict()]
RUNS = pa.schema(
    [("run_id", pa.string()), ("pipeline", pa.string()), ("at", _TIME), ("event", pa.string()), ("status", pa.string()),
     ("host", pa.string()), ("pid", pa.int64()), ("message", pa.string())]
)  # fmt: skip
TABLES = pa.schema(
    [("run_id", pa.string()), ("table", pa.string()), ("ended_at", _TIME), ("seconds", pa.float64()),
     ("inputs", pa.string()), ("version", pa.int64()), ("batches", pa.int64()), *_COUNTS]
)  # fmt: skip
BATCHES = pa.schema(
    [("run_id", pa.string()), ("table", pa.string()), ("step", pa.string()), ("generation", pa.int64()), ("batch", pa.int64()),
     ("started_at", _TIME), ("ended_at", _TIME), ("version", pa.int64()), *_COUNTS]
)  # fmt: skip

BatchId = tuple[str, str, int, int]


@dataclass
class Ledger:
    """The ledger of one pipeline. Its holder has the pipeline's lease, so what was read stays true but for its own writes."""

    lake: Lake
    _done: set[BatchId] | None = None
    _lock: Lock = field(default_factory=Lock)

    def write_run(self, **row: Any) -> None:
        self._append("runs", RUNS, {"pipeline": self.lake.pipeline, **row})

    def write_table(
        self,
        run_id: str,
        table: str,
        ended_at: datetime,
        seconds: float,
        inputs: dict[str, Any],
        version: int | None,
        batches: int,
        counts: Counts,
    ) -> None:
        """Say that the table has consumed these versions of its inputs."""
        row = {"run_id": run_id, "table": table, "ended_at": ended_at, "seconds": seconds, "inputs": json.dumps(inputs, sort_keys=True)}
        self._append("tables", TABLES, {**row, "version": version, "batches": batches, **counts.as_dict()})

    def write_batch(
        self, run_id: str, batch_id: BatchId, started_at: datetime, ended_at: datetime, version: int | None, counts: Counts
    ) -> None:
        """The batch's marker, written after everything else of it."""
        table, step, generation, number = batch_id
        row = {"run_id": run_id, "table": table, "step": step, "generation": generation, "batch": number}
        self._append("batches", BATCHES, {**row, "started_at": started_at, "ended_at": ended_at, "version": version, **counts.as_dict()})
        self._known_batches().add(batch_id)

    def has_batch(self, batch_id: BatchId) -> bool:
        return batch_id in self._known_batches()

    def has_any_batch(self, table: str, step: str) -> bool:
        return any(known[:2] == (table, step) for known in self._known_batches())

    def consumed_inputs(self) -> dict[str, dict[str, Any]]:
        """Per table the inputs that its last complete run consumed."""
        rows = sorted(self.rows("tables", ["table", "ended_at", "inputs"]), key=lambda row: row["ended_at"])
        return {row["table"]: json.loads(row["inputs"]) for row in rows}

    def rows(self, name: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """The rows of one ledger table; none where it was never written."""
        path = self.lake.ledger(name)
        if not DeltaTable.is_deltatable(path):
            return []
        found: list[dict[str, Any]] = DeltaTable(path).to_pyarrow_table(columns=columns).to_pylist()
        return found

    def _known_batches(self) -> set[BatchId]:
        if self._done is None:
            rows = self.rows("batches", ["table", "step", "generation", "batch"])
            self._done = {(row["table"], row["step"], row["generation"], row["batch"]) for row in rows}
        return self._done

    def _append(self, name: str, schema: pa.Schema, row: dict[str, Any]) -> None:
        path = self.lake.ledger(name)
        with self._lock:
            write_deltalake(path, pa.Table.from_pylist([row], schema=schema), mode="append")
            table = DeltaTable(path)
            if table.version() % COMMITS_PER_COMPACTION == COMMITS_PER_COMPACTION - 1:
                table.optimize.compact()
                table.create_checkpoint()
