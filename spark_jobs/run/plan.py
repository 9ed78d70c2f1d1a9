"""What a run has to do, found without a JVM: a table is due when an input has a version that it has not
consumed.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from spark_jobs.config import Project
from spark_jobs.config.definition import definition_parts, fingerprint
from spark_jobs.config.errors import UsageError, did_you_mean
from spark_jobs.config.expectations import rules_version
from spark_jobs.config.gold import Gold
from spark_jobs.config.graph import ended_tables, order_tables
from spark_jobs.config.names import other_pipeline, parse_delay, parse_duration
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import FileSource
from spark_jobs.config.table_name import TableName
from spark_jobs.config.task_stages import LAYERS
from spark_jobs.lake.delta_log import oldest, table_bytes, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import Definition
from spark_jobs.lake.seen import Watermark
from spark_jobs.lake.upstream import OtherTable, identities, look_at
from spark_jobs.landing.arrivals import (
    TAKEN,
    Row,
    bytes_after,
    bytes_to_read,
    close_marks,
    last_arrival,
    last_taken_chunk,
    newest_arrival,
)
from spark_jobs.landing.packing import TIMES_COLUMNAR

ARRIVALS, DEFINITION, WATERMARK, IDENTITIES = "arrivals", "definition", "watermark", "identities"
TAGGING = "tagging"
"""Inputs of a table that are no tables: files, what the pipeline file says of it, how far the event time of
its rows has come, which tables of other pipelines these are, and by which rules its rows are tagged.
"""
BYTES_PER_MESSAGE = 300
"""About, to tell a small run from a big load."""
REQUESTS = ("replay", "discard")


@dataclass(frozen=True)
class Plan:
    """The tables of a run, each with its inputs, in an order in which every table stands after its inputs.

    `ahead` are by source the arrivals that a run would add, where nothing may be written yet.
    """

    pipeline: Pipeline
    conf: Path
    lake: Lake
    ledger: Ledger
    tables: dict[str, tuple[str, ...]]
    definitions: dict[str, Definition]
    others: dict[str, OtherTable] = field(default_factory=dict)
    """The tables of other pipelines that these read, as they were when the plan was made: all of a run reads
    the same versions.
    """
    ahead: Mapping[str, Sequence[Row]] = field(default_factory=dict)

    @property
    def live_tables(self) -> list[str]:
        return [f"bronze.{name}" for name in self.pipeline.live_sources]

    def current_inputs(self, table: str) -> dict[str, Any]:
        """The versions that the table's inputs have now. A gold table depends on its definition and on the
        watermark as much.
        """
        layer, name = TableName(table).parts
        if layer == "bronze":
            return {ARRIVALS: last_taken_chunk(self.lake.arrivals(name), self.ahead.get(name, ()))}
        inputs: dict[str, Any] = {source: self.version(source) for source in self.tables[table]}
        if others := {source: self.others[source] for source in self.tables[table] if source in self.others}:
            inputs[IDENTITIES] = identities(others)
        if layer == "silver":  # a fact waits no longer for a member that is known to have ended
            inputs |= {ended: self.version(ended) for ended in ended_tables(self.pipeline, name)}
        if tagging := self.pipeline.tagging(table):
            inputs[TAGGING] = rules_version(tagging)
        if layer == "gold":
            inputs[DEFINITION] = fingerprint(definition_parts(self.pipeline, table, self.conf))
            gold = self.pipeline.gold[name]
            if gold.watermark and not gold.is_native:
                inputs[WATERMARK] = self.watermark(gold).as_list()
        return inputs

    def version(self, table: str) -> int | None:
        """The newest version of a table; of one of another pipeline the version that this run reads. A sink
        has none.
        """
        return self.others[table].version if table in self.others else table_version(self.lake.table(table))

    def inputs_of_others(self, table: str) -> dict[str, Any]:
        """Of a table's inputs those that move without this pipeline's lease."""
        if not any(source in self.others for source in self.tables[table]):
            return {}
        return {
            name: value
            for name, value in self.current_inputs(table).items()
            if name in (*self.others, IDENTITIES, WATERMARK)
        }

    def is_due(self, table: str, consumed: dict[str, Any] | None) -> bool:
        """Something new to read, and every input there to be read; facts do not wait for their dimensions."""
        if table in self.live_tables:
            return False  # a query that never ends reads it, or nothing does
        current = self.current_inputs(table)
        waits_for = [
            name
            for name in current
            if not (TableName(table).has_keys and TableName(name).is_in("dimension", "deleted"))
        ]
        if any(current[name] is None for name in waits_for):
            return False
        return (
            bool(self.moved_inputs(table, current, consumed))
            or self.has_waited_enough(table)
            or bool(self.cut_requests(table))
        )

    def cut_requests(self, table: str) -> list[str]:
        """What a person had asked for and a crash left undone."""
        if table_version(self.lake.table(f"quarantine.{table}")) is None:
            return []
        return [
            step
            for step in REQUESTS
            if self.ledger.open_batch(table, step, self.generation(table)) is not None
        ]

    def has_waited_enough(self, table: str) -> bool:
        """Whether parked rows are to be given up: files went on arriving for as long as their lookups are
        ready to wait.
        """
        layer, name = TableName(table).parts
        lookups = self.pipeline.silver[name].lookup.values() if layer == "silver" else ()
        waits = [parse_duration(lookup.give_up_after) for lookup in lookups if lookup.give_up_after]
        clock = self.clock() if waits else None
        parked_at = oldest(self.lake.table(f"parked.{table}"), "arrived_at") if clock else None
        return clock is not None and parked_at is not None and parked_at + min(waits) <= clock

    def reached(self, table: str, inputs: dict[str, Any]) -> dict[str, Any]:
        """What a table has consumed when it is done. A stream may have gone further than its source did when
        the run began.
        """
        layer, name = TableName(table).parts
        if layer != "bronze" or isinstance(self.pipeline.sources[name], FileSource):
            return inputs
        return {ARRIVALS: last_taken_chunk(self.lake.arrivals(name))}

    def clock(self) -> datetime | None:
        """The newest recorded arrival of the pipeline: by it waiting is measured, never by the time of the
        run. What was given up by it stays so: it never steps back.
        """
        return self._newest(newest_arrival)

    def last_arrival(self) -> datetime | None:
        """The same, of each source the last one: by it rules judge how recent rows are. A clock that was
        ahead for one run counts no longer once something else has arrived.
        """
        return self._newest(last_arrival)

    def _newest(self, of_source: Callable[[str, Sequence[Row]], datetime | None]) -> datetime | None:
        """What a stream is about to bring has not arrived before its batch begins."""
        sources = self.pipeline.sources.items()
        ahead = {
            name: self.ahead.get(name, ()) if isinstance(source, FileSource) else ()
            for name, source in sources
        }
        found = [of_source(self.lake.arrivals(name), rows) for name, rows in ahead.items()]
        return max((at for at in found if at), default=None)

    def close_marks(self, silver: str) -> list[int]:
        """The close marks of a silver table's source."""
        source = self.pipeline.silver[silver].from_
        return close_marks(self.lake.arrivals(source), self.ahead.get(source, ()))

    def watermark(self, gold: Gold) -> Watermark:
        """What is closed now of a gold table's windows."""
        source = str(gold.from_)
        if source in self.others:
            seen = self.others[source].seen.closed(self._close_marks_of_other(source))
        else:
            seen = self.ledger.seen(source, self.generation(source)).closed(
                self.close_marks(TableName(source).name)
            )
        return Watermark.of(seen, parse_delay(str(gold.watermark)))

    def _close_marks_of_other(self, source: str) -> list[int]:
        silver = self.pipeline.silver_named(source)
        return (
            close_marks(Lake(self.lake.root, str(other_pipeline(source))).arrivals(silver.from_))
            if silver
            else []
        )

    def generation(self, table: str) -> int:
        return self.definitions[table].generation if table in self.definitions else 1

    def starts_after(self, table: str, source: str) -> int:
        """The version of an input after which the table's stream begins: a rebuilt table has the rows up to
        it already.
        """
        return self.definitions[table].starts_after.get(source, -1) if table in self.definitions else -1

    def due_bytes(self, consumed: dict[str, dict[str, Any]]) -> int:
        """About how many bytes of records this run has to read, unpacked."""
        total = 0
        for table, inputs in self.tables.items():
            layer, name = TableName(table).parts
            if layer == "bronze":
                total += self._due_records(name, consumed.get(table, {}).get("arrivals") or 0)
            elif table not in consumed:
                total += TIMES_COLUMNAR * sum(table_bytes(self.lake.table(source)) for source in inputs)
        return total

    def _due_records(self, name: str, chunk: int) -> int:
        """Of a stream the size of an arrival is the number of its messages."""
        source, arrivals = self.pipeline.sources[name], self.lake.arrivals(name)
        ahead = [row for row in self.ahead.get(name, ()) if row["verdict"] == TAKEN]
        if isinstance(source, FileSource):
            return sum(bytes_to_read(row, source.format) for row in ahead) + bytes_after(
                arrivals, chunk, source.format
            )
        return BYTES_PER_MESSAGE * int(sum(row["size"] for row in ahead) + bytes_after(arrivals, chunk))

    def unreadable(self) -> list[str]:
        """What cannot be read now of the tables of other pipelines, and why."""
        return [problem for other in self.others.values() if (problem := other.problem)]

    def moved_inputs(self, table: str, current: dict[str, Any], consumed: dict[str, Any] | None) -> list[str]:
        """The inputs that differ from those consumed. A watermark that moves alone concerns only a table that
        shows closed windows.
        """
        layer, name = TableName(table).parts
        by_rows = layer == "gold" and self.pipeline.gold[name].mode != "append"
        before = consumed or {}
        moved = [
            key
            for key in {**current, **before}
            if (key in current, current.get(key)) != (key in before, before.get(key))
        ]
        return [key for key in moved if key != WATERMARK or not by_rows]


def make_plan(
    pipeline: Pipeline, conf: Path, lake: Lake, select: Collection[str] = (), layer: str | None = None
) -> Plan:
    """All tables, or those of a layer, or those selected by their full names."""
    tables = order_tables(pipeline, conf)
    for name in select:
        if name not in tables:
            raise UsageError("--select", name, f"there is no table {name!r}", did_you_mean(name, tables))
    layers = LAYERS[layer] if layer else None
    chosen = {
        t: i
        for t, i in tables.items()
        if (not select or t in select) and (layers is None or TableName(t).layer in layers)
    }
    ledger = Ledger(lake)
    named = dict.fromkeys(source for inputs in chosen.values() for source in inputs if other_pipeline(source))
    others = {source: look_at(lake, source) for source in named}
    return Plan(pipeline, conf, lake, ledger, chosen, ledger.live_definitions(), others)


def with_below(plan: Plan, named: Collection[str]) -> list[str]:
    """These tables and all that are made from them, inputs first."""
    wanted = set(named)
    for table, inputs in plan.tables.items():  # in the order of the data: what is below comes later
        if wanted & set(inputs):
            wanted.add(table)
    return [table for table in plan.tables if table in wanted]


def due_tables(plan: Plan) -> tuple[list[str], dict[str, dict[str, Any]]]:
    """The tables that are due now, and what every table has consumed. Tables below a due one may become due
    in the run.
    """
    consumed = plan.ledger.consumed_inputs()
    return [table for table in plan.tables if plan.is_due(table, consumed.get(table))], consumed


def say_nothing(project: Project, plan: Plan) -> str:
    """Of a plan with no due table: where something new would have to come from."""
    sources = [source for name, source in plan.pipeline.sources.items() if f"bronze.{name}" in plan.tables]
    places = [*(source.place(project.landing) for source in sources), *plan.others]
    if unreadable := plan.unreadable():
        return "; ".join(unreadable)
    return f"nothing new in {', '.join(places)}" if places else "no input has moved since the last run"
