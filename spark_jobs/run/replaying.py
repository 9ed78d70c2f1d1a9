"""`weir quarantine replay` and `discard`: what is to be done with rows in quarantine, as a part of a run, or only tried."""

import time
from datetime import UTC, datetime

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.run.order import Errand, RunOrder, new_order
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.run.plan import Plan, make_plan, with_below
from spark_jobs.run.result import RunResult, Start, Status


def do_errand(project: Project, name: str, profile: Profile, errand: Errand, start: Start | None = None) -> RunResult:
    """Do it, and bring the table and those below it up to date."""
    plan = make_plan(project.pipelines[name], project.conf, Lake(project.lake, name))
    return run_pipeline(project, name, profile, with_below(plan, [errand.table]), start=start, errand=errand)


def try_replay(project: Project, name: str, profile: Profile, errand: Errand, start: Start | None = None) -> RunResult:
    """Say what a replay would do; nothing is written. The lease keeps others from changing the tables meanwhile."""
    started, lake = time.monotonic(), Lake(project.lake, name)
    try:
        with hold_lease(lake.lease(), name, "weir quarantine replay --dry-run") as lease:
            plan = make_plan(project.pipelines[name], project.conf, lake)
            found = _try(new_order(project, profile, plan, lease, errand), plan, errand, start)
    except LeaseHeld as held:
        return RunResult(name, Status.LEASED, str(held))
    said = ", ".join(f"{count:,} {what}" for what, count in found.items() if count) or "no row is selected"
    return RunResult(name, Status.OK, f"{errand.table}: {said}; this was a dry run", seconds=time.monotonic() - started)


def _try(order: RunOrder, plan: Plan, errand: Errand, start: Start | None) -> dict[str, int]:
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
        return {}
    gate = OpenGate(order.project.rules.get(plan.pipeline.name, {}).get(errand.table, ()))
    batch_id = (errand.table, errand.action, plan.generation(errand.table), 0)
    selected = {**inputs, SELECTION: errand.selection.as_dict()}
    batch = Batch(plan.lake, order.lease, *batch_id, order.run_id, datetime.now(UTC), selected, gate)
    with (start or start_session)(order, {}) as spark:
        session = spark.newSession()
        for setting, value in LENIENT.items():
            session.conf.set(setting, value)
        return try_replay(session, table, batch)
