"""What every step of a run shares, and the frame of a batch: skip it if done, write down what it reads, do
it, write its marker.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config.expectations import Rule, rules_version
from spark_jobs.config.own_rules import rules_of
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.sources import FileSource
from spark_jobs.config.table_name import TableName
from spark_jobs.lake import delta_log, kept, streams, tables
from spark_jobs.lake.checkpoints import Checkpoint
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Gate, OpenGate
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger_batches import STREAM, BatchId, Intent
from spark_jobs.lake.query_progress import add_backlog, add_lag, is_batch, progress_row
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import COMPACT, Batch, RowsMissing
from spark_jobs.lake.verdicts import SET_ASIDE, Verdicts
from spark_jobs.landing.arrivals import taken_files
from spark_jobs.quality.result import RuleResult
from spark_jobs.run import stopping
from spark_jobs.run.judging import judge_rows
from spark_jobs.run.notices import Notices
from spark_jobs.run.order import RunOrder
from spark_jobs.run.plan import Plan
from spark_jobs.run.quality_gate import BatchGate, SetAside
from spark_jobs.session.jvm_end import note_work
from spark_jobs.session.settings import COMPILED, MANY_ROWS

RULES = "rules"
"""Among a batch's inputs the version of the rules that it is judged by."""

COMPACT_EVERY = 10
"""Of a table's batches, one in so many puts small files together: to look for them costs a tenth of a small
batch.
"""

Done = tuple[Counts, Seen]
Work = Callable[[DataFrame, Batch], Done]


@dataclass(frozen=True)
class RunContext:
    """The run's order, its session, and whom to tell of finished batches, how they went, and what a person
    should know.
    """

    order: RunOrder
    spark: SparkSession
    batch_settings: dict[str, str]
    on_batch: Callable[[Batch, Counts], None]
    on_progress: Callable[[list[dict[str, Any]]], None]
    warn: Callable[[str], None]
    verdicts: Verdicts
    notices: Notices
    say: Callable[[str], None] = lambda line: None

    @property
    def plan(self) -> Plan:
        return self.order.plan

    @property
    def pipeline(self) -> Pipeline:
        return self.order.plan.pipeline

    @property
    def lake(self) -> Lake:
        return self.order.plan.lake

    @property
    def lake_id(self) -> str:
        """What tells this lake from one that was loaded again in its place: the id of its
        ledger, shortened.
        """
        return (delta_log.table_id(self.lake.ledger("definitions")) or "")[:8]

    def checkpoint(self, table: str, anew_from: int | None = None) -> Checkpoint:
        """That of the table's query. One that begins `anew_from` a batch has its own."""
        path = self.lake.checkpoint(table, self.plan.generation(table))
        return Checkpoint(table, path if anew_from is None else f"{path}.{anew_from}")

    def new_session(self, **settings: str) -> SparkSession:
        """A session of its own for one table: its settings and transaction ids concern no other."""
        session = self.spark.newSession()
        self.tune(session, settings)
        return session

    def create(self, table: str, ddl: str, properties: dict[str, str]) -> None:
        """Create an empty table of this run's pipeline, unless the lease is lost."""
        tables.create(self.lake.table(table), ddl, properties, self.order.lease.check)

    def tune(self, session: SparkSession, settings: dict[str, str]) -> None:
        for name, value in {**self.batch_settings, **settings}.items():
            session.conf.set(name, value)

    def settings_to_read(self, *names: str) -> dict[str, str]:
        """What a batch needs beside a small run's settings that may read all rows of these tables; what the
        profile says wins.
        """
        if sum(delta_log.count_rows(self.lake.table(name)) for name in names) <= MANY_ROWS:
            return {}
        return {name: value for name, value in COMPILED.items() if name not in self.order.profile.spark}

    def start(
        self,
        rows: DataFrame,
        table: str,
        settings: dict[str, str],
        work: Work,
        reads: Iterable[str] | None = None,
        extra: dict[str, Any] | None = None,
        trigger: Mapping[str, Any] = streams.AVAILABLE_NOW,
        anew_from: int | None = None,
    ) -> streams.Running:
        """Start to take the table's input, batch by batch, by any of Spark's triggers; wait for its end where
        it has one. A batch may be empty: an OPTIMIZE of the input gives one. A source that keeps nothing
        begins `anew_from` a batch: its query has a checkpoint of its own, which counts from there.
        """

        def handle(frame: DataFrame, count: int) -> None:
            number = count + (anew_from or 0)
            is_compacting = number % COMPACT_EVERY == COMPACT_EVERY - 1
            self.tune(frame.sparkSession, {**settings, COMPACT: str(is_compacting).lower()})
            self.batch(table, STREAM, number, partial(work, kept.in_one_piece(frame)), reads, extra)

        return self.follow(rows, table, handle, trigger, anew_from)

    def follow(
        self,
        rows: DataFrame,
        table: str,
        handle: Callable[[DataFrame, int], None],
        trigger: Mapping[str, Any] = streams.AVAILABLE_NOW,
        anew_from: int | None = None,
    ) -> streams.Running:
        """Start the table's query, which hands its batches to `handle`, and tells of its progress when it
        ends.
        """
        last_done = self.next_number(table, STREAM) - 1 if anew_from is None else -1
        checkpoint = self.checkpoint(table, anew_from)
        running = streams.start_stream(
            rows, checkpoint, last_done if last_done >= 0 else None, handle, trigger
        )
        return replace(running, on_end=partial(self._tell_progress, table))

    def _tell_progress(self, table: str, done: list[dict[str, Any]]) -> None:
        generation = self.plan.generation(table)
        rows = [progress_row(self.order.run_id, table, generation, said) for said in done if is_batch(said)]
        self.on_progress(self._describe(table, rows))

    def _describe(self, table: str, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Add how long rows had waited, and what there is left to read."""
        layer, name = TableName(table).parts
        if layer != "bronze":
            return add_lag(rows, self.lake.table(self.plan.tables[table][0]))
        if not isinstance(self.pipeline.sources[name], FileSource):
            return rows
        arrivals = self.lake.arrivals(name)
        return add_backlog(add_lag(rows, arrivals), taken_files(arrivals))

    def batch(
        self,
        table: str,
        step: str,
        number: int,
        work: Callable[[Batch], Done],
        reads: Iterable[str] | None = None,
        extra: dict[str, Any] | None = None,
    ) -> None:
        """Do a batch once. With `reads` it is a function of versions that are written down first: whatever a
        crash left undone of it is done again from the same, and what was written is skipped. Without them it
        is one write, which may be done again from newer ones.
        """
        started_at, ledger = datetime.now(UTC), self.order.ledger
        batch_id = (table, step, self.plan.generation(table), number)
        if ledger.has_batch(batch_id):
            return
        stopping.check()
        if self.verdicts.was_blocked(batch_id):
            ledger.forget_intent(batch_id)
        inputs = (
            {name: delta_log.table_version(self.lake.table(name)) for name in reads or ()}
            | (extra or {})
            | self._rules_of(table)
        )
        intent = (
            Intent(started_at, inputs)
            if reads is None
            else ledger.begin_batch(self.order.run_id, batch_id, inputs)
        )
        gate = self._gate(batch_id, intent)
        batch = Batch(
            self.lake, self.order.lease, *batch_id, self.order.run_id, intent.begun_at, intent.inputs, gate
        )
        note_work(table, f"batch {number}" if step == STREAM else f"{step} batch {number}")
        try:
            counts, seen = self._do(work, batch)
        except RowsMissing as error:
            ledger.write_evidence(self.order.run_id, batch_id, intent.inputs, str(error))
            raise
        version = delta_log.table_version(self.lake.table(table)) if seen.version is None else seen.version
        ledger.write_batch(self.order.run_id, batch_id, started_at, version, counts, seen)
        note_work(table)
        self.on_batch(batch, counts)

    def _do(self, work: Callable[[Batch], Done], batch: Batch) -> Done:
        """The gate stands before the first write: a batch that a person has set aside is done once more, with
        its rows in quarantine.
        """
        try:
            return work(batch)
        except SetAside as decided:
            assert isinstance(batch.gate, BatchGate)
            return work(replace(batch, gate=replace(batch.gate, blocked_for=decided.failed)))

    def next_number(self, table: str, step: str) -> int:
        """The number of the step's batch that is open or comes next."""
        return self.order.ledger.last_number(table, step, self.plan.generation(table)) + 1

    def rules(self, table: str) -> tuple[Rule, ...]:
        """What a table is judged by now: what its expectation file says, and what follows from its
        definition.
        """
        return rules_of(self.order.project, self.pipeline.name).get(table, ())

    def _rules_of(self, table: str) -> dict[str, Any]:
        rules = self.rules(table)
        return {RULES: rules_version(rules)} if rules else {}

    def _gate(self, batch_id: BatchId, intent: Intent) -> Gate:
        """Rules are those that the batch began with. What a person has decided about its content holds,
        whatever the rules are by now.
        """
        version, decision = intent.inputs.get(RULES), self.verdicts.decision(batch_id)
        rules = self.verdicts.rules(batch_id[0], version) if version else ()
        if not rules and decision is None:
            return OpenGate()
        judge = partial(self._judge, batch_id, intent.inputs)
        known = self.verdicts.of(batch_id, intent.begun_at)
        is_aside = known is not None and known.verdict == SET_ASIDE
        blocked_for = decision.failed if decision and is_aside else ()
        note = partial(self.notices.add_finding, batch_id[0], batch_id[1])
        return BatchGate(
            self.order.run_id,
            batch_id,
            intent.begun_at,
            intent.inputs,
            rules,
            self.verdicts,
            decision,
            judge,
            self.warn,
            note,
            blocked_for,
        )

    def _judge(
        self, batch_id: BatchId, inputs: Mapping[str, Any], rows: DataFrame, rules: Sequence[Rule], *rest: Any
    ) -> list[RuleResult]:
        note_work(batch_id[0], f"batch {batch_id[3]}, judging {', '.join(rule.name for rule in rules)}")
        return judge_rows(self.plan, batch_id, inputs, rows, rules, *rest)
