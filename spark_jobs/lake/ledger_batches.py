"""Batches as the ledger knows them: begun (intents), done (markers), and what the done ones add up to. A run
asks its own process; whoever only looks asks the tables for the few rows that it needs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_table import (
    DeltaTable,
    answer,
    ask,
    literal,
    names_of,
    quoted,
    read_rows,
)
from spark_jobs.lake.ledger_tables import LedgerTables
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.sequence import (
    MARKER,
    SEQUENCE,
    in_order,
    newest_per_table,
    sort_rows,
    sql_first,
    sql_order,
)

if TYPE_CHECKING:
    import pyarrow as pa


BatchId = tuple[str, str, int, int]
STREAM = "stream"
"""The step of a table that reads what is new of its input."""
UNPARK, OLDER_UNPARK = "unpark", "release"
"""The step of a table that looks again at rows that wait for a member, and what it was called before. A batch
that was begun as the latter is ended as such: its transactions bear that name.
"""
CORRECTION, WHOLE = "reenrich.", "complete"
"""How the step begins in which facts follow a dimension, whose name comes next; and the step in which a table
is computed as a whole. Their batches are numbered by the version of the dimension, or of the table: one that
is not done may be done under a greater number.
"""
AFTER = "after"
"""Among the inputs of a batch of changes: the version after which they begin; None for a batch of all that is
there.
"""


@dataclass(frozen=True)
class Intent:
    """What a batch reads, and when it began: the same when it is done again."""

    begun_at: datetime
    inputs: dict[str, Any]


@dataclass
class LedgerBatches(LedgerTables):
    """What was begun and done: the intents and markers of batches, and what they add up to."""

    _steps: dict[tuple[str, str], list[dict[str, Any]]] = field(default_factory=dict, init=False)
    """Of tables whose rows are not known: those of a step that was asked for."""
    _forgotten: set[BatchId] = field(default_factory=set, init=False)
    """Intents of batches that start over."""

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
        """Every batch that was begun and not ended, whatever its generation, nor was a later one in its
        place.
        """
        begun, done = (
            self._known_rows(name).where().select(list(ID)).to_pylist() for name in ("intents", "batches")
        )
        still_open = {batch_id_of(row) for row in begun} - {batch_id_of(row) for row in done}
        return {
            batch_id: intent
            for batch_id in sorted(still_open)
            if not self.is_over(batch_id) and (intent := self.intent(batch_id))
        }

    def intents(self, table: str, step: str, generation: int) -> list[Intent]:
        return [
            _intent(row)
            for row in (
                self._known_rows("intents").where(table=table, step=step, generation=generation).to_pylist()
            )
        ]

    def has_batch(self, batch_id: BatchId) -> bool:
        return len(self._known_rows("batches").where(**id_columns(batch_id))) > 0

    def is_over(self, batch_id: BatchId) -> bool:
        """Whether a batch was done, or a later one that takes its place."""
        table, step, generation, number = batch_id
        if is_numbered_by_version(step):
            return self.last_number(table, step, generation) >= number
        return self.has_batch(batch_id)

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

    def _batches_of(self, table: str, generation: int) -> "pa.Table":
        return self._known_rows("batches").where(table=table, generation=generation)


def names_of_step(step: str) -> tuple[str, ...]:
    """What the step is called in the ledger, also by an older Weir."""
    return (UNPARK, OLDER_UNPARK) if step in (UNPARK, OLDER_UNPARK) else (step,)


def is_numbered_by_version(step: str) -> bool:
    return step == WHOLE or step.startswith(CORRECTION)


def _each(function: str, columns: Sequence[str]) -> str:
    return ", ".join(f"{function}({quoted(name)}) AS {quoted(name)}" for name in columns)


ID = ("table", "step", "generation", "batch")
ASKED_OF_BATCHES = (*Counts().as_dict(), "records", "high", "closed_until", "chunk", SEQUENCE)
"""Columns of batches that a ledger of an earlier version may lack."""


def id_columns(batch_id: BatchId) -> dict[str, Any]:
    return dict(zip(ID, batch_id, strict=True))


def _intent(row: Mapping[str, Any]) -> Intent:
    return Intent(row["begun_at"], json.loads(row["inputs"]))


def batch_id_of(row: Mapping[str, Any]) -> BatchId:
    return (row["table"], row["step"], row["generation"], row["batch"])
