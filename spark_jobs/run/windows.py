"""Windows over a silver table: what is to be known of them, the step that closes them, and windows over a table of another pipeline.

Such a table moves without our lease, so that no stream follows it: each run takes the changes between two versions that are written down
first. All windows are made from the whole of it at the beginning, when it is another table than before (rebuilt, or loaded anew), and when
its changes are no longer kept.
"""

from datetime import UTC, datetime
from functools import partial
from types import ModuleType
from typing import Any

from spark_jobs.config.gold import Gold
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.gold import process, sessions
from spark_jobs.gold.late import LATE_DDL
from spark_jobs.gold.process import WAS, WATERMARK, WindowTable
from spark_jobs.lake import delta_log, tables
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.ledger import AFTER
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch
from spark_jobs.run.context import RunContext
from spark_jobs.run.plan import IDENTITIES

CLOSE, CHANGES = "close", "changes"


def window_table(pipeline: Pipeline, name: str, gold: Gold) -> WindowTable:
    silver = pipeline.silver_named(gold.from_)
    assert silver is not None
    column = gold.window.column if gold.window else None
    event_time = column or (silver.event_time.column if silver.event_time else "_event_at")
    taken = [column for lookup in silver.lookup.values() for column in lookup.take]
    return WindowTable(f"gold.{name}", gold, str(gold.from_), event_time, [*silver.columns, *taken])


def steps_of(table: WindowTable) -> ModuleType:
    """Where its three steps stand: process_changes, close_windows and rebuild_windows."""
    return sessions if table.gold.kind == "sessions" else process


def close(run: RunContext, table: WindowTable, extra: dict[str, Any]) -> None:
    """Add the windows that have closed since the table was last brought up to date."""
    work, number = partial(steps_of(table).close_windows, run.new_session()), run.next_number(table.name, CLOSE)
    reads = [*table.reads, table.source]
    run.batch(table.name, CLOSE, number, lambda batch: (work(batch, table), Seen()), reads, extra)


def run_windows_of_other(run: RunContext, table: WindowTable, inputs: dict[str, Any], consumed: dict[str, Any]) -> None:
    """Bring windows over a table of another pipeline to the version that this run reads."""
    if table.keeps_late:
        tables.create(run.lake.table(table.late), LATE_DDL, tables.CHANGEABLE)
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
    if table.gold.mode == "append" and inputs[WATERMARK] != consumed.get(WATERMARK) and not _shows_all(done, inputs):
        close(run, table, {**pinned, **closing})


def _shows_all(done: dict[str, Any], inputs: dict[str, Any]) -> bool:
    """Whether the last batch made all windows that are closed now: one that a crash left open may know of fewer."""
    return done.get(AFTER, -1) is None and done.get(WATERMARK) == inputs[WATERMARK]


def _pass_over(run: RunContext, table: WindowTable, identities: dict[str, Any]) -> None:
    """A batch that a crash left open, of a table that is another one by now, reads what may be gone: all is made anew after it."""
    ledger, generation = run.order.ledger, run.plan.generation(table.name)
    for step in (CHANGES, CLOSE):
        number = ledger.open_batch(table.name, step, generation)
        intent = ledger.intent((table.name, step, generation, number)) if number is not None else None
        if number is not None and intent is not None and intent.inputs.get(IDENTITIES) != identities:
            run.batch(table.name, step, number, lambda batch: (Counts(), Seen()), table.reads)


def _take_in(run: RunContext, table: WindowTable, batch: Batch) -> tuple[Counts, Seen]:
    """A batch that was begun before a crash has the versions that it began with."""
    spark, path = run.new_session(), run.lake.table(table.source)
    after, until = batch.inputs[AFTER], batch.inputs[table.source]
    if after is None or not delta_log.keeps_changes(path, after, datetime.now(UTC)):
        return steps_of(table).rebuild_windows(spark, batch, table), Seen()
    return steps_of(table).process_changes(tables.read_changes(spark, path, after, until), batch, table), Seen()


def _taken_in(run: RunContext, table: WindowTable) -> dict[str, Any] | None:
    """What the last batch of changes has read; without one what the table was rebuilt from."""
    ledger, generation = run.order.ledger, run.plan.generation(table.name)
    intent = ledger.intent((table.name, CHANGES, generation, ledger.last_number(table.name, CHANGES, generation)))
    if intent is not None:
        return intent.inputs
    known = run.plan.definitions.get(table.name)
    return known.starts_after or None if known else None
