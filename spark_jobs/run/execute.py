"""Runs the tables of a plan in one Spark session: each as soon as its inputs and the tables that its rules
read are done, some at the same time.
"""

import threading
import time
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.config.graph import is_blocking, keeps_late, rule_edges
from spark_jobs.config.table_name import TableName
from spark_jobs.failure import first_line, keep_trace
from spark_jobs.lake.blocked import allowed_actions
from spark_jobs.lake.counts import Counts, find_alarms
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.ledger_batches import CORRECTION
from spark_jobs.lake.states import FAILED, NOT_REACHED, TableEnd, write_states
from spark_jobs.lake.tables import Batch
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run import stopping
from spark_jobs.run.bronze import start_bronze
from spark_jobs.run.context import RunContext
from spark_jobs.run.gold import run_gold
from spark_jobs.run.native import run_native
from spark_jobs.run.notices import Notices, say_ties
from spark_jobs.run.order import RunOrder
from spark_jobs.run.plan import Plan
from spark_jobs.run.progress import Progress
from spark_jobs.run.quality_gate import Blocked, say_finding
from spark_jobs.run.reconcile import reconcile
from spark_jobs.run.result import BlockedTable, State, TableRun
from spark_jobs.run.silver import create_dimensions, judge_emptied, run_dimension, run_silver
from spark_jobs.run.sinks import has_sink, open_feed, run_sink
from spark_jobs.run.stopping import NotBegun
from spark_jobs.session.jvm_end import note_done, note_work
from spark_jobs.session.settings import PER_BATCH, WORKLOAD, Workload
from spark_jobs.session.start import tell_of_waiting

SAID = {
    Workload.SMALL.value: (
        "settings for small runs: about {:,.1f} MB to read, and big loads begin at {} MB (big_load_from_mb)"
    ),
    Workload.BIG.value: (
        "settings for big loads: about {:,.1f} MB to read, which is more than {} MB (big_load_from_mb)"
    ),
}
"""What a run says of its settings; a stream says nothing with every increment."""


class Execution:
    """The tables of one run and how far they are. Batches report from the threads of their tables."""

    def __init__(self, plan: Plan, consumed: dict[str, dict[str, Any]], progress: Progress) -> None:
        self.plan, self.consumed, self.progress = plan, consumed, progress
        self.notes: list[str] = []
        self.notices = Notices(plan.pipeline.name)
        self.batch_progress: list[dict[str, Any]] = []
        self.is_cut = False
        self.settings: str | None = None
        self.runs = {table: TableRun(table) for table in plan.tables}
        self.started: dict[str, float] = {}
        self.lock = threading.Lock()

    def on_batch(self, batch: Batch, counts: Counts) -> None:
        """Add a batch to its table. Corrections of rows that are there already are no rows that came."""
        run = self.runs[batch.table]
        is_correction = batch.step.startswith(CORRECTION)
        added = Counts() if is_correction else counts
        corrected = run.corrected + (counts.updated if is_correction else 0)
        late_kept = run.late_kept + (max(0, added.late) if keeps_late(self.plan.pipeline, batch.table) else 0)
        self._change(
            batch.table,
            batches=run.batches + 1,
            counts=run.counts + added,
            corrected=corrected,
            late_kept=late_kept,
        )

    def on_progress(self, rows: list[dict[str, Any]]) -> None:
        with self.lock:
            self.batch_progress += rows

    def warn(self, line: str) -> None:
        """Tell of something that a person should know, and that stops nothing."""
        with self.lock:
            self.notes.append(line)
            self.progress.say(f"warning: {line}")

    def end(self, order: RunOrder) -> None:
        """Warn of shares of rows that nobody should miss, and write to the ledger how each table ended: also
        those that failed, were blocked or stopped, or were not reached.
        """
        ends = [self._end(order, run) for run in self.runs.values()]
        for line in (alarm for end in ends for alarm in end.alarms):
            self.warn(line)
        write_states(order.ledger, ends, datetime.now(UTC))

    def _end(self, order: RunOrder, run: TableRun) -> TableEnd:
        ledger, generation = order.ledger, self.plan.generation(run.table)
        alarms: tuple[str, ...] = ()
        if run.batches:
            before = ledger.sums(run.table, generation, without=CORRECTION) - run.counts
            late_before = max(0, before.late) if keeps_late(self.plan.pipeline, run.table) else 0
            alarms = tuple(find_alarms(run.table, run.counts, run.late_kept, before, late_before))
        is_cut = run.state in (State.WAITING, State.RUNNING)  # Spark did not start, or ended under them
        state = NOT_REACHED if run.state is State.WAITING else FAILED if is_cut else run.state.value
        actions, seen = (run.blocked.actions, run.blocked.seen) if run.blocked else ((), None)
        return TableEnd(
            order.run_id,
            run.table,
            generation,
            state,
            run.error,
            run.seconds,
            actions,
            seen,
            run.late_kept,
            alarms,
        )

    def run(self, order: RunOrder, spark: SparkSession) -> list[TableRun]:
        """Bring every table of the plan up to date; a table whose input failed is not reached."""
        self.settings = spark.conf.get(WORKLOAD, None)
        if self.settings in SAID:
            self.progress.say(
                SAID[self.settings].format(
                    order.plan.due_bytes(self.consumed) / 1e6, order.profile.big_load_from_mb
                )
            )
        batch_settings = {name: str(spark.conf.get(name)) for name in PER_BATCH}
        context = RunContext(
            order,
            spark,
            batch_settings,
            self.on_batch,
            self.on_progress,
            self.warn,
            Verdicts(order.ledger),
            self.notices,
            self.progress.say,
        )
        create_dimensions(context, self.plan.tables)
        rules = order.project.rules.get(self.plan.pipeline.name, {})
        judged_after, blocked_by = rule_edges(rules), rule_edges(rules, is_blocking)
        waiting = {
            table: (*inputs, *judged_after.get(table, ())) for table, inputs in self.plan.tables.items()
        }
        running: dict[Future[None], str] = {}
        with (
            tell_of_waiting(spark.sparkContext, self.warn),
            ThreadPoolExecutor(order.profile.parallel_tables) as pool,
        ):
            while waiting or running:
                for table in [t for t, inputs in waiting.items() if not self._is_open(inputs)]:
                    del waiting[table]
                    # A blocking rule gives no verdict by a table that this run could not bring up to date; a
                    # warning may.
                    if any(
                        self._failed(source)
                        for source in (*self.plan.tables[table], *blocked_by.get(table, ()))
                    ):
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
        return any(
            self.runs[source].state in (State.WAITING, State.RUNNING)
            for source in inputs
            if source in self.runs
        )

    def _failed(self, table: str) -> bool:
        return table in self.runs and self.runs[table].state in (
            State.FAILED,
            State.BLOCKED,
            State.STOPPED,
            State.NOT_REACHED,
        )

    def _run_one(self, context: RunContext, table: str) -> None:
        consumed = self.consumed.get(table)
        quarantine_request = context.order.quarantine_request
        if not self.plan.is_due(table, consumed) and (
            quarantine_request is None or quarantine_request.table != table
        ):
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
            run_table(context, table, inputs, consumed or {})
            if has_sink(context, table):
                open_feed(context, table)
            self._finish(context, table, inputs)
        except NotBegun:
            self.is_cut = True
            self._change(table, state=State.STOPPED)
        except Blocked as blocked:
            self._change(
                table, state=State.BLOCKED, error=str(blocked), blocked=_blocked_table(table, blocked)
            )
        except BaseException as error:  # noqa: BLE001 - one table's failure, and be it a call of sys.exit, must not take the others with it
            keep_trace(context.order.log_file, table, error)
            self._change(table, state=State.FAILED, error=first_line(error))
        note_done(table)
        for line in self.notices.say(table):
            self.warn(line)
        if keys := self.runs[table].counts.ties:
            self.warn(say_ties(self.plan.pipeline, table, keys))

    def _finish(self, context: RunContext, table: str, inputs: dict[str, Any]) -> None:
        """The sums must balance. What the table consumed goes to the ledger last: until then it is due."""
        run, version = self.runs[table], table_version(context.lake.table(table))
        reconcile(context.order, table, inputs)
        seconds = time.monotonic() - self.started[table]  # the ledger and the terminal say the same
        if not self.plan.lake.staged:  # what a generation consumed is noted when it goes live
            context.order.ledger.write_table(
                context.order.run_id,
                table,
                seconds,
                self.plan.reached(table, inputs),
                version,
                run.batches,
                run.counts,
            )
        self._change(table, state=State.DONE, version=version, seconds=seconds)

    def _change(self, table: str, **values: Any) -> None:
        with self.lock:
            seconds = time.monotonic() - self.started[table] if table in self.started else 0.0
            self.runs[table] = replace(self.runs[table], **{"seconds": seconds, **values})
            self.progress.show(self.runs[table])


def _blocked_table(table: str, blocked: Blocked) -> BlockedTable:
    findings = tuple(
        {
            "rule": result.rule.name,
            "found": say_finding(result),
            "severity": result.rule.severity,
            "reason": result.rule.reason,
        }
        for result in blocked.failed
    )
    stopped = (
        {"by": blocked.stopped.decided_by, "reason": blocked.stopped.reason} if blocked.stopped else None
    )
    rules = tuple(finding["rule"] for finding in findings)
    actions = allowed_actions(table, blocked.step)
    return BlockedTable(
        table, rules, blocked.rows, str(blocked), blocked.grounds.id, actions, findings, stopped
    )


# Which step brings a table up to date: one per layer, in the module of its name.


def run_table(run: RunContext, table: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """Bring one table up to date with its inputs. `consumed` is what it has read before."""
    layer, name = TableName(table).parts
    match layer:
        case "bronze":
            start_bronze(run, name).wait()
        case "dimension":
            run_dimension(run, name, inputs, consumed)
            judge_emptied(run, table)
        case "silver":
            run_silver(run, name, inputs, consumed)
            judge_emptied(run, table)
        case "gold" if run.pipeline.gold[name].is_native:
            run_native(run, name, run.pipeline.gold[name])
        case "gold":
            run_gold(run, name, inputs, consumed)
        case _:
            run_sink(run, name, inputs, consumed)
