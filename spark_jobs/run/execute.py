"""Runs the tables of a plan in one Spark session: each as soon as its inputs and the tables that its rules read are done, some at the same
time.
"""

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.config.rule_order import is_blocking, rule_edges
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.tables import Batch
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run import stopping
from spark_jobs.run.context import RunContext
from spark_jobs.run.failure import first_line, keep_trace
from spark_jobs.run.gate import Blocked
from spark_jobs.run.order import RunOrder
from spark_jobs.run.plan import Plan
from spark_jobs.run.progress import Progress
from spark_jobs.run.reconcile import reconcile
from spark_jobs.run.result import Held, State, TableRun
from spark_jobs.run.sinks import has_sink, open_feed
from spark_jobs.run.steps import create_dimensions, run_table
from spark_jobs.run.stopping import NotBegun
from spark_jobs.run.ties import say_ties
from spark_jobs.session.jvm_end import note_done, note_work
from spark_jobs.session.settings import PER_BATCH, WORKLOAD, Workload

SAID = {
    Workload.SMALL.value: "settings for small runs: about {:,.1f} MB to read, and big loads begin at {} MB (big_load_from_mb)",
    Workload.BIG.value: "settings for big loads: about {:,.1f} MB to read, which is more than {} MB (big_load_from_mb)",
}
"""What a run says of its settings; a stream says nothing with every increment."""


class Execution:
    """The tables of one run and how far they are. Batches report from the threads of their tables."""

    def __init__(self, plan: Plan, consumed: dict[str, dict[str, Any]], progress: Progress) -> None:
        self.plan, self.consumed, self.progress = plan, consumed, progress
        self.notes: list[str] = []
        self.batch_progress: list[dict[str, Any]] = []
        self.is_cut = False
        self.settings: str | None = None
        self.runs = {table: TableRun(table) for table in plan.tables}
        self.started: dict[str, float] = {}
        self.lock = threading.Lock()

    def on_batch(self, batch: Batch, counts: Counts) -> None:
        """Add a batch to its table. Corrections of rows that are there already are no rows that came."""
        run = self.runs[batch.table]
        is_correction = batch.step.startswith("reenrich")
        added = Counts() if is_correction else counts
        corrected = run.corrected + (counts.updated if is_correction else 0)
        self._change(batch.table, batches=run.batches + 1, counts=run.counts + added, corrected=corrected)

    def on_progress(self, rows: list[dict[str, Any]]) -> None:
        with self.lock:
            self.batch_progress += rows

    def warn(self, line: str) -> None:
        """Tell of something that a person should know, and that stops nothing."""
        with self.lock:
            self.notes.append(line)
            self.progress.say(f"warning: {line}")

    def run(self, order: RunOrder, spark: SparkSession) -> list[TableRun]:
        """Bring every table of the plan up to date; a table whose input failed is not reached."""
        self.settings = spark.conf.get(WORKLOAD, None)
        if self.settings in SAID:
            self.progress.say(SAID[self.settings].format(order.plan.due_bytes(self.consumed) / 1e6, order.profile.big_load_from_mb))
        batch_settings = {name: str(spark.conf.get(name)) for name in PER_BATCH}
        context = RunContext(
            order, spark, batch_settings, self.on_batch, self.on_progress, self.warn, Verdicts(order.ledger), self.progress.say
        )
        create_dimensions(context, self.plan.tables)
        rules = order.project.rules.get(self.plan.pipeline.name, {})
        judged_after, blocked_by = rule_edges(rules), rule_edges(rules, is_blocking)
        waiting = {table: (*inputs, *judged_after.get(table, ())) for table, inputs in self.plan.tables.items()}
        running: dict[Future[None], str] = {}
        with ThreadPoolExecutor(order.profile.parallel_tables) as pool:
            while waiting or running:
                for table in [t for t, inputs in waiting.items() if not self._is_open(inputs)]:
                    del waiting[table]
                    # A blocking rule gives no verdict by a table that this run could not bring up to date; a warning may.
                    if any(self._failed(source) for source in (*self.plan.tables[table], *blocked_by.get(table, ()))):
                        self._change(table, state=State.NOT_REACHED)
                    else:
                        running[pool.submit(self._run_one, context, table)] = table
                if running:
                    done, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in done:
                        running.pop(future)
                        future.result()
        return list(self.runs.values())

    def leave(self) -> None:
        """Nothing of it was begun, and the next run does it."""
        for table in self.runs:
            self._change(table, state=State.NOT_REACHED)

    def _is_open(self, inputs: tuple[str, ...]) -> bool:
        return any(self.runs[source].state in (State.WAITING, State.RUNNING) for source in inputs if source in self.runs)

    def _failed(self, table: str) -> bool:
        return table in self.runs and self.runs[table].state in (State.FAILED, State.BLOCKED, State.STOPPED, State.NOT_REACHED)

    def _run_one(self, context: RunContext, table: str) -> None:
        consumed = self.consumed.get(table)
        errand = context.order.errand
        if not self.plan.is_due(table, consumed) and (errand is None or errand.table != table):
            self._change(table, state=State.UP_TO_DATE, version=self.plan.version(table))
            return
        if stopping.asked_by():
            self.is_cut = True
            self._change(table, state=State.NOT_REACHED)
            return
        self.started[table] = time.monotonic()
        self._change(table, state=State.RUNNING)
        note_work(table)
        try:
            inputs = self.plan.current_inputs(table)
            run_table(context, table, inputs, consumed)
            if has_sink(context, table):
                open_feed(context, table)
            self._finish(context, table, inputs)
        except NotBegun:
            self.is_cut = True
            self._change(table, state=State.STOPPED)
        except Blocked as held:
            rules = tuple(result.rule.name for result in held.failed)
            self._change(table, state=State.BLOCKED, error=str(held), held=Held(table, rules, held.rows, str(held), held.grounds.id))
        except BaseException as error:  # noqa: BLE001 - one table's failure, and be it a call of sys.exit, must not take the others with it
            keep_trace(context.order.log_file, table, error)
            self._change(table, state=State.FAILED, error=first_line(error))
        note_done(table)
        if keys := self.runs[table].counts.ties:
            self.warn(say_ties(self.plan.pipeline, table, keys))

    def _finish(self, context: RunContext, table: str, inputs: dict[str, Any]) -> None:
        """The sums must balance. What the table consumed goes to the ledger last: until then it is due."""
        run, version = self.runs[table], table_version(context.lake.table(table))
        reconcile(context.order, table, inputs)
        seconds = time.monotonic() - self.started[table]
        if not self.plan.lake.staged:  # what a generation consumed is noted when it goes live
            context.order.ledger.write_table(
                context.order.run_id, table, seconds, self.plan.reached(table, inputs), version, run.batches, run.counts
            )
        self._change(table, state=State.DONE, version=version)

    def _change(self, table: str, **values: Any) -> None:
        with self.lock:
            seconds = time.monotonic() - self.started[table] if table in self.started else 0.0
            self.runs[table] = replace(self.runs[table], seconds=seconds, **values)
            self.progress.show(self.runs[table])
