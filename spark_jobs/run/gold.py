"""The steps of gold tables: windows that follow the changes of a silver table, and tables that are computed
as a whole.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.files import read_text
from spark_jobs.config.gold import Gold
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.gold import process, sessions
from spark_jobs.gold.functions import compute_python, compute_sql
from spark_jobs.gold.late import LATE_DDL
from spark_jobs.gold.process import WAS, WATERMARK, WindowTable
from spark_jobs.gold.sessions import make_sessions
from spark_jobs.gold.windows import aggregate, select_rows, with_running
from spark_jobs.lake import delta_log, small_writes, streams, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import Candidate
from spark_jobs.lake.kept import kept
from spark_jobs.lake.ledger_batches import AFTER, WHOLE
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch, RowsMissing
from spark_jobs.run.context import Done, RunContext
from spark_jobs.run.plan import IDENTITIES

# Windows over a silver table: what is to be known of them, the step that closes them, and windows over a
# table of another pipeline. Such a table moves without our lease, so that no stream follows it: each run
# takes the changes between two versions that are written down first. All windows are made from the whole of
# it at the beginning, when it is another table than before (rebuilt, or loaded again), and when its changes
# are no longer kept.

CLOSE, CHANGES = "close", "changes"


def window_table(pipeline: Pipeline, name: str, gold: Gold) -> WindowTable:
    column = gold.window.column if gold.window else None
    if gold.reads_gold:  # the rows of its windows lie where these begin
        return WindowTable(f"gold.{name}", gold, str(gold.from_), column or "window_start", [])
    silver = pipeline.silver_named(gold.from_)
    assert silver is not None
    event_time = column or (silver.event_time.column if silver.event_time else "_event_at")
    taken = [column for lookup in silver.lookup.values() for column in lookup.taken]
    return WindowTable(f"gold.{name}", gold, str(gold.from_), event_time, [*silver.columns, *taken])


@dataclass(frozen=True)
class WindowSteps:
    """What can be done to the windows of one kind: each judges its rows, writes them, and
    gives the counts.
    """

    process_changes: Callable[[DataFrame, Batch, WindowTable], Counts]
    close_windows: Callable[[SparkSession, Batch, WindowTable], Counts]
    rebuild_windows: Callable[[SparkSession, Batch, WindowTable], Counts]


OF_WINDOWS = WindowSteps(process.process_changes, process.close_windows, process.rebuild_windows)
OF_SESSIONS = WindowSteps(sessions.process_changes, sessions.close_windows, sessions.rebuild_windows)


def steps_of(table: WindowTable) -> WindowSteps:
    return OF_SESSIONS if table.gold.kind == "sessions" else OF_WINDOWS


def close(run: RunContext, table: WindowTable, extra: dict[str, Any]) -> None:
    """Add the windows that have closed since the table was last brought up to date."""
    spark, number = _session_to_read(run, table.source), run.next_number(table.name, CLOSE)
    work = partial(steps_of(table).close_windows, spark)
    reads = [*table.reads, table.source]
    run.batch(table.name, CLOSE, number, lambda batch: (work(batch, table), Seen()), reads, extra)


def run_windows_of_other(
    run: RunContext, table: WindowTable, inputs: dict[str, Any], consumed: dict[str, Any]
) -> None:
    """Bring windows over a table of another pipeline to the version that this run reads."""
    if table.keeps_late:
        run.create(table.late, LATE_DDL, tables.CHANGEABLE)
    pinned = {name: inputs[name] for name in (table.source, IDENTITIES)}
    closing = {WATERMARK: inputs.get(WATERMARK), WAS: consumed.get(WATERMARK)} if table.gold.watermark else {}
    _pass_over(run, table, pinned[IDENTITIES])
    if run.order.ledger.open_batch(table.name, CLOSE, run.plan.generation(table.name)) is not None:
        close(run, table, {**pinned, **closing})
    while (done := _taken_in(run, table)) is None or any(done.get(name) != pinned[name] for name in pinned):
        is_same = done is not None and done.get(IDENTITIES) == pinned[IDENTITIES]
        extra = {**pinned, AFTER: done[table.source] if done and is_same else None, **closing}
        work = partial(_take_in, run, table)
        run.batch(table.name, CHANGES, run.next_number(table.name, CHANGES), work, table.reads, extra)
    if (
        table.gold.mode == "append"
        and inputs[WATERMARK] != consumed.get(WATERMARK)
        and not _shows_all(done, inputs)
    ):
        close(run, table, {**pinned, **closing})


def _shows_all(done: dict[str, Any], inputs: dict[str, Any]) -> bool:
    """Whether the last batch made all windows that are closed now: one that a crash left open may know of
    fewer.
    """
    return done.get(AFTER, -1) is None and done.get(WATERMARK) == inputs[WATERMARK]


def _pass_over(run: RunContext, table: WindowTable, identities: dict[str, Any]) -> None:
    """A batch that a crash left open, of a table that is another one by now, reads what may be gone: all is
    rebuilt after it.
    """
    ledger, generation = run.order.ledger, run.plan.generation(table.name)
    for step in (CHANGES, CLOSE):
        number = ledger.open_batch(table.name, step, generation)
        intent = ledger.intent((table.name, step, generation, number)) if number is not None else None
        if number is not None and intent is not None and intent.inputs.get(IDENTITIES) != identities:
            run.batch(table.name, step, number, lambda batch: (Counts(), Seen()), table.reads)


def _take_in(run: RunContext, table: WindowTable, batch: Batch) -> tuple[Counts, Seen]:
    """A batch that was begun before a crash has the versions that it began with."""
    spark, path = _session_to_read(run, table.source), run.lake.table(table.source)
    after, until = batch.inputs[AFTER], batch.inputs[table.source]
    if after is None or not delta_log.keeps_changes(path, after, datetime.now(UTC)):
        return steps_of(table).rebuild_windows(spark, batch, table), Seen()
    return (
        steps_of(table).process_changes(tables.read_changes(spark, path, after, until), batch, table),
        Seen(),
    )


def _taken_in(run: RunContext, table: WindowTable) -> dict[str, Any] | None:
    """What the last batch of changes has read; without one what the table was rebuilt from."""
    ledger, generation = run.order.ledger, run.plan.generation(table.name)
    intent = ledger.intent(
        (table.name, CHANGES, generation, ledger.last_number(table.name, CHANGES, generation))
    )
    if intent is not None:
        return intent.inputs
    known = run.plan.definitions.get(table.name)
    return known.starts_after or None if known else None


def run_gold(run: RunContext, name: str, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """Bring a gold table that is not native up to date, in the way that its definition asks for."""
    gold = run.pipeline.gold[name]
    if gold.mode == "complete":
        _run_complete(run, name, gold, inputs)
    elif run.lake.staged:
        _rebuild_windows(run, name, gold, inputs)
    elif gold.from_ in run.plan.others:
        run_windows_of_other(run, window_table(run.pipeline, name, gold), inputs, consumed)
    else:
        _run_windows(run, name, gold, inputs, consumed)


def _run_windows(
    run: RunContext, name: str, gold: Gold, inputs: dict[str, Any], consumed: dict[str, Any]
) -> None:
    """The windows that changed; then, where closed windows alone are shown, those that have closed since."""
    target = window_table(run.pipeline, name, gold)
    source = run.lake.table(target.source)
    if target.keeps_late:
        run.create(target.late, LATE_DDL, tables.CHANGEABLE)
    extra = {WATERMARK: inputs.get(WATERMARK), WAS: consumed.get(WATERMARK)} if gold.watermark else {}
    if run.order.ledger.open_batch(target.name, CLOSE, run.plan.generation(target.name)) is not None:
        close(run, target, extra)
    changes = streams.read_changes(
        run.new_session(), source, run.plan.starts_after(target.name, target.source) + 1
    )
    work = steps_of(target).process_changes
    run.start(
        changes,
        target.name,
        run.settings_to_read(target.source),
        lambda rows, batch: (work(rows, batch, target), Seen()),
        target.reads,
        extra,
    ).wait()
    if gold.mode == "append" and inputs[WATERMARK] != consumed.get(WATERMARK):
        close(run, target, extra)


def _rebuild_windows(run: RunContext, name: str, gold: Gold, inputs: dict[str, Any]) -> None:
    """All windows at once, from the silver table that was built; the stream of the new generation goes on
    from there.
    """
    target = window_table(run.pipeline, name, gold)
    extra = {WATERMARK: inputs.get(WATERMARK), target.source: inputs[target.source]}
    spark = _session_to_read(run, target.source)
    run.batch(
        target.name,
        "rebuild",
        0,
        lambda batch: (steps_of(target).rebuild_windows(spark, batch, target), Seen()),
        extra=extra,
    )


def _session_to_read(run: RunContext, *tables: str) -> SparkSession:
    """A session for a batch that may read all of these tables."""
    return run.new_session(**run.settings_to_read(*tables))


def _run_complete(run: RunContext, name: str, gold: Gold, inputs: dict[str, Any]) -> None:
    table = f"gold.{name}"

    def recompute(batch: Batch) -> Done:
        entered = Observation()
        spark = _session_to_read(run, *(name for name in inputs if "." in name))
        rows = _compute_whole(run, spark, gold, inputs, batch.processed_at, entered)
        with kept(rows) as rows:
            counts = Counts(inserted=rows.count())
            if gold.from_:
                represented = rows.agg(F.sum("_row_count")).collect()[0][0] or 0
                if represented != entered.get["rows"]:
                    raise RowsMissing(batch, Counts(rows_in=entered.get["rows"], inserted=represented))
            removes = partial(tables.has_standing_rows, batch, table)
            batch.gate.judge(Candidate(rows, counts.inserted, lambda: rows, counts.inserted, removes=removes))
            small_writes.overwrite(rows, counts.inserted, table, batch, counts)
        return counts, Seen()

    version = delta_log.table_version(run.lake.table(table))
    run.batch(table, WHOLE, 0 if version is None else version + 1, recompute, extra=inputs)


def _compute_whole(
    run: RunContext,
    spark: SparkSession,
    gold: Gold,
    inputs: dict[str, Any],
    processed_at: datetime,
    entered: Observation,
) -> DataFrame:
    frames = {
        name: tables.read(spark, run.lake.table(name), version)
        for name, version in inputs.items()
        if "." in name
    }
    if gold.sql:
        return compute_sql(spark, read_text(run.order.project.conf / gold.sql), frames, processed_at)
    if gold.python:
        return compute_python(
            gold.python, run.order.project.conf, [frames[name] for name in gold.inputs], processed_at
        )
    silver = frames[str(gold.from_)]
    event_time = window_table(run.pipeline, "", gold).event_time
    if gold.kind == "sessions":
        counted = silver.where(gold.where or "true").where(F.col(event_time).isNotNull())
        sessions = make_sessions(
            counted.observe(entered, F.count(F.lit(1)).alias("rows")), gold, event_time, processed_at
        )
        return with_running(sessions, gold)
    rows = (
        select_rows(silver, gold, event_time, None)
        if gold.window
        else silver.where(gold.where)
        if gold.where
        else silver
    )
    made = aggregate(rows.observe(entered, F.count(F.lit(1)).alias("rows")), gold, processed_at)
    return with_running(made, gold)
