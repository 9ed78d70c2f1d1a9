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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING, Any

from deltalake import Schema, write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_table import (
    TABLE,
    DeltaTable,
    answer,
    ask,
    literal,
    names_of,
    options_of,
    quoted,
    read_rows,
)
from spark_jobs.lake.failpoints import reach
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import refuse_writes
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.sequence import (
    MARKER,
    SEQUENCE,
    first_markers,
    in_order,
    newest_per_table,
    sort_rows,
    sql_first,
    sql_order,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from spark_jobs.lake.known_rows import KnownRows

COMMITS_PER_COMPACTION, COMPACTED_BYTES = 20, 256 * 1024
"""Each increment reads these tables many times: one of 100 commits takes 0.3 CPU s to read and 0.04 to open,
one that was just compacted a fortieth of that. A file of so many bytes is left alone until `weir maintain`: a
long history is not written again and again.
"""
POINTLESS = ("definitions", "rules", "expectations", "decisions", "drift", "runs")
"""Tables whose rows are written without a failpoint of their own."""
NOTES = ("runs", "states", "evidence", "progress")
"""What only tells a story: a run that has lost its lease may still say so."""

_APPENDING = Lock()
"""Two ledgers of one process, that of a live query and that of an increment, may write at the same time."""

BatchId = tuple[str, str, int, int]
STREAM = "stream"
"""The step of a table that reads what is new of its input."""
AFTER = "after"
"""Among the inputs of a batch of changes: the version after which they begin; None for a batch of all that is
there.
"""
ANEW = "anew"
"""Of a definition, where it says what its table starts after: the table starts over, or a sink delivers
everything.
"""
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


@dataclass(frozen=True)
class Intent:
    """What a batch reads, and when it began: the same when it is done again."""

    begun_at: datetime
    inputs: dict[str, Any]


@dataclass
class Ledger:
    """The ledger of one pipeline. Its holder has the pipeline's lease, so what was read stays true but for
    its own writes.
    """

    lake: Lake
    guard: Callable[[], None] = refuse_writes
    """Asked before every row that others go by: it raises where the lease is lost. Whoever only reads has
    none, and cannot write.
    """
    _known: "dict[str, KnownRows]" = field(default_factory=dict)
    _steps: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict)
    """Of tables whose rows are not known: those of a step that was asked for."""
    _forgotten: set[BatchId] = field(default_factory=set)
    """Intents of batches that start over."""
    _loading: Lock = field(default_factory=Lock)
    """Two tables that begin at once must not each load what is known: what one of them has noted since would
    be forgotten.
    """

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

    def last_run(self) -> dict[str, Any] | None:
        """The run that ended last."""
        ended = sort_rows("runs", read_rows(self.lake.ledger("runs"), where="event = 'ended'"))
        return ended[-1] if ended else None

    def open_runs(self) -> list[dict[str, Any]]:
        """The runs that have not said how they ended: each is at work, or was killed."""
        ended = f"SELECT run_id FROM {TABLE} WHERE event LIKE '%ended'"
        rows = read_rows(self.lake.ledger("runs"), where=f"event LIKE '%started' AND run_id NOT IN ({ended})")
        return sort_rows("runs", rows)

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

    def intent(self, batch_id: BatchId) -> Intent | None:
        begun = sort_rows("intents", self._known_rows("intents").where(**id_columns(batch_id)).to_pylist())
        return _intent(begun[-1]) if begun and batch_id not in self._forgotten else None

    def open_batch(self, table: str, step: str, generation: int) -> int | None:
        """The number of the batch of this step that was begun and not ended."""
        begun, done = (self._numbers(name, table, step, generation) for name in ("intents", "batches"))
        return min(
            (number for number in begun - done if (table, step, generation, number) not in self._forgotten),
            default=None,
        )

    def _numbers(self, name: str, table: str, step: str, generation: int) -> set[int]:
        """Of the batches of a step. Whoever only looks asks for the few rows of this step, instead of loading
        them all.
        """
        if name in self._known:
            return set(
                self._known[name].where(table=table, step=step, generation=generation)["batch"].to_pylist()
            )
        if (name, step) not in self._steps:
            self._steps[name, step] = read_rows(self.lake.ledger(name), ID, f"step = {literal(step)}")
        return {
            row["batch"]
            for row in self._steps[name, step]
            if (row["table"], row["generation"]) == (table, generation)
        }

    def open_intents(self) -> dict[BatchId, Intent]:
        """Every batch that was begun and not ended, whatever its generation."""
        begun, done = (
            self._known_rows(name).where().select(list(ID)).to_pylist() for name in ("intents", "batches")
        )
        still_open = {batch_id_of(row) for row in begun} - {batch_id_of(row) for row in done}
        return {batch_id: intent for batch_id in sorted(still_open) if (intent := self.intent(batch_id))}

    def intents(self, table: str, step: str, generation: int) -> list[Intent]:
        return [
            _intent(row)
            for row in (
                self._known_rows("intents").where(table=table, step=step, generation=generation).to_pylist()
            )
        ]

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

    def has_batch(self, batch_id: BatchId) -> bool:
        return len(self._known_rows("batches").where(**id_columns(batch_id))) > 0

    def batches(self, table: str, generation: int) -> list[dict[str, Any]]:
        """The done batches of a table's generation, in the order in which they were done."""
        is_known = "batches" in self._known
        rows = (
            self._batches_of(table, generation).to_pylist()
            if is_known
            else self._ask_batches(table, generation, "*", "TRUE")
        )
        return sort_rows("batches", rows)

    def last_batch(self, table: str, generation: int) -> dict[str, Any] | None:
        """The one that was done last."""
        if "batches" not in self._known:
            return next(
                iter(
                    self._ask_batches(table, generation, "*", f"TRUE {sql_order('batches', 'DESC')} LIMIT 1")
                ),
                None,
            )
        return next(iter(newest_per_table("batches", self._batches_of(table, generation))), None)

    def newest_batches(self, table: str) -> Iterator[dict[str, Any]]:
        """The done batches of all generations of a table, the newest first."""
        rows = in_order("batches", self._known_rows("batches").where(table=table))
        for number in range(len(rows) - 1, -1, -1):
            yield from rows.slice(number, 1).to_pylist()

    def last_number(self, table: str, step: str, generation: int) -> int:
        """Of the done batches of a step; -1 where there is none."""
        from spark_jobs.lake.known_rows import greatest

        number = greatest(
            self._known_rows("batches").where(table=table, step=step, generation=generation), "batch"
        )
        return -1 if number is None else int(number)

    def last_version(self, table: str, generation: int) -> int | None:
        """Of the table that a batch has left; of a sink, that one has delivered."""
        from spark_jobs.lake.known_rows import greatest

        version: int | None = greatest(self._batches_of(table, generation), "version")
        return version

    def sums(self, table: str, generation: int, without: str | None = None) -> Counts:
        """What became of all rows that came, over all batches; `without` those of steps that begin so."""
        names = list(Counts().as_dict())
        if "batches" not in self._known:
            others = "TRUE" if without is None else f"NOT starts_with(step, {literal(without)})"
            return Counts(**self._ask_sums(table, generation, names, others))
        from spark_jobs.lake.known_rows import not_starting, total

        mine = self._batches_of(table, generation)
        if without is not None:
            mine = not_starting(mine, "step", without)
        return Counts(**{name: total(mine, name) for name in names})

    def records_read(self, table: str, generation: int, *, is_one_row_each: bool) -> int | None:
        """The records of bronze that all batches of a table have read. Earlier versions kept only the rows
        that these gave: None where that is another number.
        """
        of_stream = f"step = {literal(STREAM)}"
        known = self._ask_sums(table, generation, ["records"], of_stream)["records"]
        older = self._ask_batches(table, generation, "rows_in", f"{of_stream} AND records IS NULL")
        return known + sum(row["rows_in"] or 0 for row in older) if is_one_row_each or not older else None

    def records_until(self, table: str, generation: int, version: int) -> int:
        """The records that the batches of a bronze table have put into it up to this version."""
        return self._ask_sums(table, generation, ["inserted"], f"version <= {literal(version)}")["inserted"]

    def seen(self, table: str, generation: int, until: int | None = None) -> Seen:
        """What the table's batches have seen of its feed so far, or `until` a version: each only raises what
        the ones before it say.
        """
        if "batches" not in self._known:
            return Seen(*self._ask_greatest(table, generation, until, ("high", "closed_until", "chunk")))
        from spark_jobs.lake.known_rows import at_most, greatest

        mine = self._batches_of(table, generation)
        mine = mine if until is None else at_most(mine, "version", until)
        return Seen(*(greatest(mine, name) for name in ("high", "closed_until", "chunk")))

    def batch_of_high(self, table: str, generation: int) -> tuple[datetime, int | None, int] | None:
        """The greatest event time that a table has seen, and the chunks of arrivals among which it came: the
        last of its batch, and the last of the batch before.
        """
        rows = self._ask_batches(
            table, generation, "high, chunk", "high IS NOT NULL ORDER BY high DESC, chunk LIMIT 1"
        )
        if not rows:
            return None
        high, until = rows[0]["high"], rows[0]["chunk"]
        before = (
            self._ask_batches(table, generation, "max(chunk) AS chunk", f"chunk < {until}")
            if until is not None
            else []
        )
        after = next((row["chunk"] for row in before if row["chunk"] is not None), -1)
        return high, until, after

    def _ask_greatest(
        self, table: str, generation: int, until: int | None, columns: Sequence[str]
    ) -> list[Any]:
        is_old = "TRUE" if until is None else f"version <= {literal(until)}"
        found = self._ask_batches(table, generation, _each("max", columns), is_old)
        return [row.get(name) for row in found for name in columns] or [None for _ in columns]

    def _ask_sums(self, table: str, generation: int, columns: Sequence[str], where: str) -> dict[str, int]:
        found = self._ask_batches(table, generation, _each("sum", columns), where)
        return {name: int(row.get(name) or 0) for row in found for name in columns} or dict.fromkeys(
            columns, 0
        )

    def _ask_batches(self, table: str, generation: int, what: str, where: str) -> list[dict[str, Any]]:
        """A question about the done batches of a table, each by its first marker, while not all batches are
        known: whoever only looks does not load them.
        """

        def read(batches: DeltaTable) -> list[dict[str, Any]]:
            there = names_of(batches)
            lacking = "".join(
                f", CAST(NULL AS BIGINT) AS {quoted(name)}" for name in ASKED_OF_BATCHES if name not in there
            )
            mine = f"{quoted('table')} = {literal(table)} AND generation = {literal(generation)}"
            first = sql_first("batches", there, MARKER, "ASC", mine)
            return ask(batches, f"SELECT {what} FROM (SELECT *{lacking} FROM ({first})) WHERE {where}")

        return answer(self.lake.ledger("batches"), ("batches", table, generation, what, where), read)

    def definitions(self) -> dict[str, Definition]:
        """The newest definition per table."""
        return {row["table"]: _definition(row) for row in self.ordered("definitions")}

    def live_definitions(self) -> dict[str, Definition]:
        """The newest definition per table whose generation is the one that readers see."""
        return {row["table"]: _definition(row) for row in self.ordered("definitions") if row["state"] == LIVE}

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

    def _batches_of(self, table: str, generation: int) -> "pa.Table":
        return self._known_rows("batches").where(table=table, generation=generation)

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
                write_deltalake(table, new, mode="append")
            else:
                write_deltalake(path, new, mode="append", storage_options=options_of(path))
                table = DeltaTable(path)
            if table.version() % COMMITS_PER_COMPACTION == COMMITS_PER_COMPACTION - 1:
                table.optimize.compact(target_size=COMPACTED_BYTES)
                table.create_checkpoint()
        return numbered


def _each(function: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{function}({quoted(name)}) AS {quoted(name)}" for name in columns)


def _add_columns(table: DeltaTable, schema: "pa.Schema") -> None:
    """A ledger of an earlier version lacks columns that came later: its old rows have
    none of their values.
    """
    known = {field.name for field in table.schema().fields}
    if set(schema.names) - known:
        table.alter.add_columns(
            [field for field in Schema.from_arrow(schema).fields if field.name not in known]
        )


ID = ("table", "step", "generation", "batch")
ASKED_OF_BATCHES = (*Counts().as_dict(), "records", "high", "closed_until", "chunk", SEQUENCE)
"""Columns of batches that a ledger of an earlier version may lack."""


def id_columns(batch_id: BatchId) -> dict[str, Any]:
    return dict(zip(ID, batch_id, strict=True))


def _intent(row: Mapping[str, Any]) -> Intent:
    return Intent(row["begun_at"], json.loads(row["inputs"]))


def batch_id_of(row: Mapping[str, Any]) -> BatchId:
    return (row["table"], row["step"], row["generation"], row["batch"])


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


def batch_columns(run_id: str, batch_id: BatchId) -> dict[str, Any]:
    table, step, generation, number = batch_id
    return {"run_id": run_id, "table": table, "step": step, "generation": generation, "batch": number}
