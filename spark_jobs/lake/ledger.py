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
import pyarrow.compute as pc
from deltalake import Schema, write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_table import DeltaTable, options_of
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.known_rows import KnownRows, greatest, newest_per_table, total
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
    _known: dict[str, KnownRows] = field(default_factory=dict)
    _forgotten: set[BatchId] = field(default_factory=set)
    """Intents of batches that begin anew."""
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

    def last_run(self) -> dict[str, Any] | None:
        """The run that ended last."""
        runs = self.read("runs")
        ended = runs.filter(pc.equal(runs["event"], "ended"))
        found: list[dict[str, Any]] = ended.take(pc.select_k_unstable(ended, 1, [("at", "descending")])).to_pylist()
        return found[0] if found else None

    def begin_batch(self, run_id: str, batch_id: BatchId, inputs: dict[str, Any]) -> Intent:
        """Write down what the batch reads; one that was begun before keeps what it began with."""
        intent, known = self.intent(batch_id), self._known_rows("intents")
        if intent is None:
            table, step = batch_id[:2]
            reach("intent.before", table, step)
            intent = Intent(datetime.now(UTC), inputs)
            row = {**batch_columns(run_id, batch_id), "begun_at": intent.begun_at, "inputs": json.dumps(inputs, sort_keys=True)}
            self.append("intents", [row])
            known.add(row)
            self._forgotten.discard(batch_id)
            reach("intent.after", table, step)
        return intent

    def forget_intent(self, batch_id: BatchId) -> None:
        """Let a batch that has written nothing begin anew, with what is there now."""
        self._forgotten.add(batch_id)

    def intent(self, batch_id: BatchId) -> Intent | None:
        begun = self._known_rows("intents").where(**id_columns(batch_id)).sort_by("begun_at").to_pylist()
        return _intent(begun[-1]) if begun and batch_id not in self._forgotten else None

    def open_batch(self, table: str, step: str, generation: int) -> int | None:
        """The number of the batch of this step that was begun and not ended."""
        mine = {"table": table, "step": step, "generation": generation}
        begun, done = (set(self._known_rows(name).where(**mine)["batch"].to_pylist()) for name in ("intents", "batches"))
        return min((number for number in begun - done if (table, step, generation, number) not in self._forgotten), default=None)

    def open_intents(self) -> dict[BatchId, Intent]:
        """Every batch that was begun and not ended, whatever its generation."""
        begun, done = (self._known_rows(name).where().select(list(ID)).to_pylist() for name in ("intents", "batches"))
        still_open = {batch_id_of(row) for row in begun} - {batch_id_of(row) for row in done}
        return {batch_id: intent for batch_id in sorted(still_open) if (intent := self.intent(batch_id))}

    def intents(self, table: str, step: str, generation: int) -> list[Intent]:
        return [_intent(row) for row in self._known_rows("intents").where(table=table, step=step, generation=generation).to_pylist()]

    def write_batch(self, run_id: str, batch_id: BatchId, started_at: datetime, version: int | None, counts: Counts, seen: Seen) -> None:
        """The batch's marker, written after everything else of it."""
        reach("marker.before", *batch_id[:2])
        row = {**batch_columns(run_id, batch_id), "started_at": started_at, "ended_at": datetime.now(UTC), "version": version}
        row |= {**counts.as_dict(), "high": seen.high, "closed_until": seen.closed_until, "chunk": seen.chunk}
        known = self._known_rows("batches")
        self.append("batches", [row])
        known.add(row)
        reach("marker.after", *batch_id[:2])

    def has_batch(self, batch_id: BatchId) -> bool:
        return len(self._known_rows("batches").where(**id_columns(batch_id))) > 0

    def batches(self, table: str, generation: int) -> list[dict[str, Any]]:
        """The done batches of a table's generation, in the order in which they were done."""
        found: list[dict[str, Any]] = self._batches_of(table, generation).sort_by("ended_at").to_pylist()
        return found

    def last_batch(self, table: str, generation: int) -> dict[str, Any] | None:
        """The one that was done last."""
        return next(iter(newest_per_table(self._batches_of(table, generation), "ended_at")), None)

    def last_number(self, table: str, step: str, generation: int) -> int:
        """Of the done batches of a step; -1 where there is none."""
        number = greatest(self._known_rows("batches").where(table=table, step=step, generation=generation), "batch")
        return -1 if number is None else int(number)

    def last_version(self, table: str, generation: int) -> int | None:
        """Of the table that a batch has left; of a sink, that one has delivered."""
        version: int | None = greatest(self._batches_of(table, generation), "version")
        return version

    def sums(self, table: str, generation: int, without: str | None = None) -> Counts:
        """What became of all rows that came, over all batches; `without` those of steps that begin so."""
        mine = self._batches_of(table, generation)
        if without is not None:
            mine = mine.filter(pc.invert(pc.starts_with(mine["step"], without)))
        return Counts(**{name: total(mine, name) for name in Counts().as_dict()})

    def seen(self, table: str, generation: int) -> Seen:
        """What the table's batches have seen of its feed so far: each only ever raises what the ones before it say."""
        mine = self._batches_of(table, generation)
        return Seen(*(greatest(mine, name) for name in ("high", "closed_until", "chunk")))

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
        last = newest_per_table(self.read("tables", ["table", "ended_at", "inputs"]), "ended_at")
        runs = [(row["ended_at"], row["table"], row["inputs"]) for row in last]
        rebuilt = [(row["noted_at"], row["table"], row["starts_after"]) for row in self.rows("definitions") if row["state"] == LIVE]
        known = sorted([*runs, *(row for row in rebuilt if row[2] != "{}")])
        return {table: json.loads(inputs) for _, table, inputs in known}

    def rows(self, name: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        """The rows of one ledger table; none where it was never written."""
        found: list[dict[str, Any]] = self.read(name, columns).to_pylist()
        return found

    def read(self, name: str, columns: list[str] | None = None) -> pa.Table:
        """The same as columns: most questions are about few of the rows."""
        path = self.lake.ledger(name)
        if not DeltaTable.is_deltatable(path):
            schema = SCHEMAS.get(name, pa.schema([]))  # drift.py has its own
            wanted = [field for field in schema if columns is None or field.name in columns]
            return pa.schema(wanted).empty_table()
        return DeltaTable(path).to_pyarrow_table(columns=columns)

    def _known_rows(self, name: str) -> KnownRows:
        with self._loading:
            if name not in self._known:
                self._known[name] = KnownRows(self.read(name), SCHEMAS[name])
            return self._known[name]

    def _batches_of(self, table: str, generation: int) -> pa.Table:
        return self._known_rows("batches").where(table=table, generation=generation)

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


ID = ("table", "step", "generation", "batch")


def id_columns(batch_id: BatchId) -> dict[str, Any]:
    return dict(zip(ID, batch_id, strict=True))


def _intent(row: Mapping[str, Any]) -> Intent:
    return Intent(row["begun_at"], json.loads(row["inputs"]))


def batch_id_of(row: Mapping[str, Any]) -> BatchId:
    return (row["table"], row["step"], row["generation"], row["batch"])


def _definition(row: Mapping[str, Any]) -> Definition:
    return Definition(row["generation"], json.loads(row["definition"]), json.loads(row["starts_after"]), row["state"])


def batch_columns(run_id: str, batch_id: BatchId) -> dict[str, Any]:
    table, step, generation, number = batch_id
    return {"run_id": run_id, "table": table, "step": step, "generation": generation, "batch": number}
