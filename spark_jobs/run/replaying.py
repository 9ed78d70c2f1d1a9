"""`weir quarantine replay` and `discard`: what is to be done with rows in quarantine, as a part of a run, or only tried."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from spark_jobs.config import Project
from spark_jobs.config.expectations import READABLE
from spark_jobs.config.lakehouse import Profile
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.reasons import count_replayed_in_vain
from spark_jobs.run.order import Errand, RunOrder, new_order
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.run.plan import Plan, make_plan, with_below
from spark_jobs.run.result import RunResult, Start, Status

LEFT_AS = ("deleted", "superseded", "duplicate", "parked", "filtered")
"""What a row may become that leaves quarantine, beside being published."""
UNREAD = "a record that could not be read cannot be replayed: let its file be sent again, and discard the row"


def do_errand(project: Project, name: str, profile: Profile, errand: Errand, start: Start | None = None) -> RunResult:
    """Do it, and bring the table and those below it up to date."""
    lake = Lake(project.lake, name)
    plan = make_plan(project.pipelines[name], project.conf, lake)
    result = run_pipeline(project, name, profile, with_below(plan, [errand.table]), start=start, errand=errand)
    said = say_replayed(lake, errand.table, result.run_id) if errand.action == "replay" and result.run_id else None
    return replace(result, message=f"{said}; {result.message}") if said else result


def try_replay(project: Project, name: str, profile: Profile, errand: Errand, start: Start | None = None) -> RunResult:
    """Say what a replay would do; nothing is written. The lease keeps others from changing the tables meanwhile."""
    started, lake = time.monotonic(), Lake(project.lake, name)
    try:
        with hold_lease(lake.lease(), name, "weir quarantine replay --dry-run") as lease:
            plan = make_plan(project.pipelines[name], project.conf, lake)
            found, by_rule = _try(new_order(project, profile, plan, lease, errand), plan, errand, start)
    except LeaseHeld as held:
        return RunResult(name, Status.LEASED, str(held))
    said = ", ".join(f"{count:,} {what}" for what, count in found.items() if count) or "no row is selected"
    said += f" ({say_rules(by_rule)})" if by_rule else ""
    return RunResult(name, Status.OK, f"{errand.table}: {said}; this was a dry run", seconds=time.monotonic() - started)


def say_replayed(lake: Lake, table: str, run_id: str) -> str | None:
    """What became of the rows that a run has replayed: how many left the quarantine, how many stay, and why. None where it came to none."""
    done = [row for row in Ledger(lake).rows("batches") if (row["run_id"], row["table"], row["step"]) == (run_id, table, "replay")]
    if not done:
        return None
    counts = sum((Counts.of_row(row) for row in done), Counts())
    stayed, by_rule = count_replayed_in_vain(lake.table(f"quarantine.{table}"), run_id)
    went = {"published": counts.published, **{name: getattr(counts, name) for name in LEFT_AS}}
    left = ", ".join(f"{count:,} {name}" for name, count in went.items() if count > 0)
    said = f"{table}: {-counts.quarantined:,} of {stayed - counts.quarantined:,} replayed rows left the quarantine"
    return said + (f" ({left})" if left else "") + (f"; {stayed:,} stay: {say_rules(by_rule)}" if stayed else "")


def say_rules(by_rule: Mapping[str, int]) -> str:
    """How many rows each rule keeps in quarantine; what to do about those that no replay can bring on."""
    said = ", ".join(f"{count:,} by {rule}" for rule, count in sorted(by_rule.items()))
    return said + (f"; {UNREAD}" if by_rule.get(READABLE) else "")


def _try(order: RunOrder, plan: Plan, errand: Errand, start: Start | None) -> tuple[dict[str, int], Counter[str]]:
    from spark_jobs.lake.delta_log import table_version  # the JVM's side
    from spark_jobs.lake.gate import OpenGate
    from spark_jobs.lake.tables import Batch
    from spark_jobs.run.spark import start_session
    from spark_jobs.run.steps import LENIENT
    from spark_jobs.silver.fact_table import dimension_table, silver_table
    from spark_jobs.silver.replay import SELECTION, try_replay

    layer, _, short = errand.table.partition(".")
    table = silver_table(plan.pipeline, short) if layer == "silver" else dimension_table(plan.pipeline, short)
    inputs = {name: table_version(plan.lake.table(name)) for name in (*table.reads, table.quarantine)}
    if inputs[table.quarantine] is None:
        return {}, Counter()
    gate = OpenGate(order.project.rules.get(plan.pipeline.name, {}).get(errand.table, ()))
    batch_id = (errand.table, errand.action, plan.generation(errand.table), 0)
    selected = {**inputs, SELECTION: errand.selection.as_dict()}
    batch = Batch(plan.lake, order.lease, *batch_id, order.run_id, datetime.now(UTC), selected, gate)
    with (start or start_session)(order, {}) as spark:
        session = spark.newSession()
        for setting, value in LENIENT.items():
            session.conf.set(setting, value)
        return try_replay(session, table, batch)
