"""The ledger: what each run, table and batch did with its rows. Small Delta tables, written and read without a JVM.

runs: one row when a run starts and one when it ends. tables: one row per table and run, with the input versions it has consumed.
intents: one row per batch before its first write, with the versions that it reads. batches: one row per batch, written last; its presence
is what makes the batch done. definitions: which definition a table's rows follow, and the generation of its checkpoint.
evidence: batches whose sums did not balance.

progress: how each batch of a stream went, in Spark's own words (query_progress.py).

rules, expectations, gates and decisions tell how batches were judged: see verdicts.py.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any

import pyarrow as pa
from deltalake import Schema, write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_table import DeltaTable, options_of
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.seen import Seen

COMMITS_PER_COMPACTION = 100
NOTES = ("runs", "evidence", "progress")
"""What only tells a story: a run that has lost its lease may still say so."""

_TIME = pa.timestamp("us", "UTC")
_COUNTS = [(name, pa.int64()) for name in Counts().as_dict()]
_BATCH = [("run_id", pa.string()), ("table", pa.string()), ("step", pa.string()), ("generation", pa.int64()), ("batch", pa.int64())]
SCHEMAS = {
    "runs": pa.schema(
        [("run_id", pa.string()), ("pipeline", pa.string()), ("at", _TIME), ("event", pa.string()), ("status", pa.string()),
         ("host", pa.string()), ("pid", pa.int64()), ("message", pa.string()), ("origin", pa.string())]
    ),
    "tables": pa.schema(
        [("run_id", pa.string()), ("table", pa.string()), ("ended_at", _TIME), ("seconds", pa.float64()),
         ("inputs", pa.string()), ("version", pa.int64()), ("batches", pa.int64()), *_COUNTS]
    ),
    "intents": pa.schema([*_BATCH, ("begun_at", _TIME), ("inputs", pa.string())]),
    "batches": pa.schema(
        [*_BATCH, ("started_at", _TIME), ("ended_at", _TIME), ("version", pa.int64()), *_COUNTS,
         ("high", _TIME), ("closed_until", _TIME), ("chunk", pa.int64())]
    ),
    "definitions": pa.schema(
        [("run_id", pa.string()), ("table", pa.string()), ("generation", pa.int64()), ("noted_at", _TIME), ("definition", pa.string()),
         ("starts_after", pa.string()), ("state", pa.string())]
    ),
    "evidence": pa.schema([*_BATCH, ("kept_at", _TIME), ("inputs", pa.string()), ("message", pa.string())]),
    "progress": pa.schema(
        [*_BATCH, ("at", _TIME), ("rows", pa.int64()), ("seconds", pa.float64()), ("input_rate", pa.float64()),
         ("processed_rate", pa.float64()), ("lag_seconds", pa.float64()), ("backlog_files", pa.int64()), ("backlog_bytes", pa.int64()),
         ("watermark", _TIME), ("state_rows", pa.int64()), ("state_bytes", pa.int64()), ("dropped_by_watermark", pa.int64()),
         ("durations", pa.string()), ("offsets", pa.string()), ("backlog_messages", pa.int64()), ("max_partition_lag", pa.int64())]
    ),
    "rules": pa.schema([("rules", pa.string()), ("table", pa.string()), ("noted_at", _TIME), ("definition", pa.string())]),
    "expectations": pa.schema(
        [*_BATCH, ("judged_at", _TIME), ("rules", pa.string()), ("rule", pa.string()), ("type", pa.string()), ("columns", pa.string()),
         ("on_fail", pa.string()), ("severity", pa.string()), ("reason", pa.string()), ("scope", pa.string()), ("is_met", pa.bool_()),
         ("rows", pa.int64()), ("failed", pa.int64()), ("observed", pa.string()), ("problem", pa.string())]
    ),
    "gates": pa.schema(
        [*_BATCH, ("judged_at", _TIME), ("begun_at", _TIME), ("rules", pa.string()), ("verdict", pa.string()), ("rows", pa.int64()),
         ("failed", pa.string())]
    ),
    "decisions": pa.schema(
        [*_BATCH, ("decided_at", _TIME), ("action", pa.string()), ("rules", pa.string()), ("decided_by", pa.string()),
         ("reason", pa.string())]
    ),
}  # fmt: skip

BatchId = tuple[str, str, int, int]
AFTER = "after"
"""Among the inputs of a batch of changes: the version after which they begin; None for a batch of all that is there."""
ANEW = "anew"
"""Of a definition, where it says what its table starts after: the table begins anew, or a sink delivers everything."""
LIVE, SWAPPING = "live", "swapping"
"""Of a definition: its generation is what readers see; or it is built and about to take the place of the one before."""


@dataclass(frozen=True)
class Definition:
    """What a table's rows follow: the parts of its definition, its checkpoint's generation, and the inputs it was rebuilt from."""

    generation: int
    parts: dict[str, Any]
    starts_after: dict[str, Any]
    state: str = LIVE


@dataclass(frozen=True)
class Intent:
    """What a batch reads, and when it began: the same when it is done again."""

    begun_at: datetime
    inputs: dict[str, Any]


@dataclass
class Ledger:
    """The ledger of one pipeline. Its holder has the pipeline's lease, so what was read stays true but for its own writes."""

    lake: Lake
    guard: Callable[[], None] = lambda: None
    """Asked before every row that others go by: it raises where the lease is lost."""
    _batches: dict[BatchId, dict[str, Any]] | None = None
    _intents: dict[BatchId, Intent] | None = None
    _lock: Lock = field(default_factory=Lock)
    _loading: Lock = field(default_factory=Lock)
    """Two tables that begin at once must not each load what is known: what one of them has noted since would be forgotten."""

    def write_run(self, **row: Any) -> None:
        self.append("runs", [{"pipeline": self.lake.pipeline, **row}])

    def write_table(
        self, run_id: str, table: str, seconds: float, inputs: dict[str, Any], version: int | None, batches: int, counts: Counts
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
        known = self._known_intents()
        if batch_id not in known:
            table, step = batch_id[:2]
            reach("intent.before", table, step)
            intent = Intent(datetime.now(UTC), inputs)
            row = {**batch_columns(run_id, batch_id), "begun_at": intent.begun_at, "inputs": json.dumps(inputs, sort_keys=True)}
            self.append("intents", [row])
            known[batch_id] = intent
            reach("intent.after", table, step)
        return known[batch_id]

    def forget_intent(self, batch_id: BatchId) -> None:
        """Let a batch that has written nothing begin anew, with what is there now."""
        self._known_intents().pop(batch_id, None)

    def intent(self, batch_id: BatchId) -> Intent | None:
        return self._known_intents().get(batch_id)

    def open_batch(self, table: str, step: str, generation: int) -> int | None:
        """The number of the batch of this step that was begun and not ended."""
        begun = [known for known in list(self._known_intents()) if known[:3] == (table, step, generation)]
        return next((known[3] for known in begun if not self.has_batch(known)), None)

    def open_intents(self) -> dict[BatchId, Intent]:
        """Every batch that was begun and not ended, whatever its generation."""
        return {batch_id: intent for batch_id, intent in list(self._known_intents().items()) if not self.has_batch(batch_id)}

    def intents(self, table: str, step: str, generation: int) -> list[Intent]:
        known = list(self._known_intents().items())  # other tables' threads add to it meanwhile
        return [intent for batch_id, intent in known if batch_id[:3] == (table, step, generation)]

    def write_batch(self, run_id: str, batch_id: BatchId, started_at: datetime, version: int | None, counts: Counts, seen: Seen) -> None:
        """The batch's marker, written after everything else of it."""
        reach("marker.before", *batch_id[:2])
        row = {**batch_columns(run_id, batch_id), "started_at": started_at, "ended_at": datetime.now(UTC), "version": version}
        row |= {**counts.as_dict(), "high": seen.high, "closed_until": seen.closed_until, "chunk": seen.chunk}
        self.append("batches", [row])
        self._known_batches()[batch_id] = row
        reach("marker.after", *batch_id[:2])

    def has_batch(self, batch_id: BatchId) -> bool:
        return batch_id in self._known_batches()

    def batches(self, table: str, generation: int) -> list[dict[str, Any]]:
        """The done batches of a table's generation, in the order in which they were done."""
        known = list(self._known_batches().values())  # other tables' threads add to it meanwhile
        mine = (row for row in known if (row["table"], row["generation"]) == (table, generation))
        return sorted(mine, key=lambda row: row["ended_at"])

    def seen(self, table: str, generation: int) -> Seen:
        """What the table's batches have seen of its feed so far."""
        return Seen.latest(self.batches(table, generation))

    def definitions(self) -> dict[str, Definition]:
        """The newest definition per table."""
        rows = sorted(self.rows("definitions"), key=lambda row: row["noted_at"])
        return {row["table"]: _definition(row) for row in rows}

    def live_definitions(self) -> dict[str, Definition]:
        """The newest definition per table whose generation is the one that readers see."""
        rows = sorted(self.rows("definitions"), key=lambda row: row["noted_at"])
        return {row["table"]: _definition(row) for row in rows if row["state"] == LIVE}

    def write_definitions(self, run_id: str, definitions: Mapping[str, Definition]) -> None:
        """Say what the rows of these tables follow from now on, in one commit."""
        common = {"run_id": run_id, "noted_at": datetime.now(UTC)}
        rows = [
            {**common, "table": table, "generation": known.generation, "definition": json.dumps(known.parts, sort_keys=True),
             "starts_after": json.dumps(known.starts_after, sort_keys=True), "state": known.state}
            for table, known in definitions.items()
        ]  # fmt: skip
        if rows:
            self.append("definitions", rows)

    def write_evidence(self, run_id: str, batch_id: BatchId, inputs: Mapping[str, Any], message: str) -> None:
        row = {"kept_at": datetime.now(UTC), "inputs": json.dumps(dict(inputs), sort_keys=True), "message": message}
        self.append("evidence", [{**batch_columns(run_id, batch_id), **row}])

    def consumed_inputs(self) -> dict[str, dict[str, Any]]:
        """Per table the inputs that its last complete run consumed, or that it was rebuilt from since then."""
        runs = [(row["ended_at"], row["table"], row["inputs"]) for row in self.rows("tables", ["table", "ended_at", "inputs"])]
        rebuilt = [(row["noted_at"], row["table"], row["starts_after"]) for row in self.rows("definitions") if row["state"] == LIVE]
        known = sorted([*runs, *(row for row in rebuilt if row[2] != "{}")])
        return {table: json.loads(inputs) for _, table, inputs in known}

    def rows(self, name: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """The rows of one ledger table; none where it was never written."""
        path = self.lake.ledger(name)
        if not DeltaTable.is_deltatable(path):
            return []
        found: list[dict[str, Any]] = DeltaTable(path).to_pyarrow_table(columns=columns).to_pylist()
        return found

    def _known_batches(self) -> dict[BatchId, dict[str, Any]]:
        with self._loading:
            if self._batches is None:
                self._batches = {batch_id_of(row): row for row in self.rows("batches")}
            return self._batches

    def _known_intents(self) -> dict[BatchId, Intent]:
        with self._loading:
            if self._intents is None:
                rows = sorted(self.rows("intents"), key=lambda row: row["begun_at"])
                self._intents = {batch_id_of(row): Intent(row["begun_at"], json.loads(row["inputs"])) for row in rows}
            return self._intents

    def append(self, name: str, rows: Iterable[dict[str, Any]]) -> None:
        path = self.lake.ledger(name)
        if name not in NOTES:
            self.guard()
        with self._lock:
            new = pa.Table.from_pylist(list(rows), schema=SCHEMAS[name])
            if DeltaTable.is_deltatable(path):
                table = DeltaTable(path)
                _add_columns(table, new.schema)
                write_deltalake(table, new, mode="append")
            else:
                write_deltalake(path, new, mode="append", storage_options=options_of(path))
                table = DeltaTable(path)
            if table.version() % COMMITS_PER_COMPACTION == COMMITS_PER_COMPACTION - 1:
                table.optimize.compact()
                table.create_checkpoint()


def _add_columns(table: DeltaTable, schema: pa.Schema) -> None:
    """A ledger of an earlier version lacks columns that came later: its old rows have none of their values."""
    known = {field.name for field in table.schema().fields}
    if set(schema.names) - known:
        table.alter.add_columns([field for field in Schema.from_arrow(schema).fields if field.name not in known])


def batch_id_of(row: Mapping[str, Any]) -> BatchId:
    return (row["table"], row["step"], row["generation"], row["batch"])


def _definition(row: Mapping[str, Any]) -> Definition:
    return Definition(row["generation"], json.loads(row["definition"]), json.loads(row["starts_after"]), row["state"])


def batch_columns(run_id: str, batch_id: BatchId) -> dict[str, Any]:
    table, step, generation, number = batch_id
    return {"run_id": run_id, "table": table, "step": step, "generation": generation, "batch": number}
