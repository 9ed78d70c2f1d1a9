"""What a person wants done with rows in the quarantine of one table, beside bringing it and the tables below it up to date."""

from datetime import UTC, datetime
from typing import Any

from spark_jobs.lake import tables
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.tables import Batch
from spark_jobs.lake.verdicts import DISCARD, Decision
from spark_jobs.run.context import Done, RunContext
from spark_jobs.silver.fact_table import FactTable
from spark_jobs.silver.replay import SELECTION, discard, replay
from spark_jobs.silver.schema import SET_ASIDE_DDL
from spark_jobs.silver.set_aside import REPLAY

WORK = {REPLAY: replay, DISCARD: discard}


def run_errands(run: RunContext, table: FactTable, settings: dict[str, str]) -> None:
    """End what a crash has cut, then do what is asked for now."""
    generation, errand = run.plan.generation(table.name), run.order.errand
    for step in WORK:
        number = run.order.ledger.open_batch(table.name, step, generation)
        begun = run.order.ledger.intent((table.name, step, generation, number)) if number is not None else None
        if begun is not None:
            _run(run, table, step, {SELECTION: begun.inputs[SELECTION]}, settings)
    if errand is not None and errand.table == table.name:
        number = run.next_number(table.name, errand.action)
        if errand.action == DISCARD:
            batch_id = (table.name, DISCARD, generation, number)
            decision = Decision(batch_id, DISCARD, errand.selection.rules, errand.decided_by, errand.reason)
            run.verdicts.decide(run.order.run_id, decision, datetime.now(UTC))
        _run(run, table, errand.action, {SELECTION: errand.selection.as_dict()}, settings)


def _run(run: RunContext, table: FactTable, step: str, extra: dict[str, Any], settings: dict[str, str]) -> None:
    """The batch of this step that is open, or the next one. One that was held begins anew, with the same selection."""
    tables.create(run.lake.table(table.quarantine), SET_ASIDE_DDL, tables.CHANGEABLE)
    spark = run.new_session(**settings)

    def work(batch: Batch) -> Done:
        return WORK[step](spark, table, batch), Seen()

    run.batch(table.name, step, run.next_number(table.name, step), work, dict.fromkeys([*table.reads, table.quarantine]), extra)
