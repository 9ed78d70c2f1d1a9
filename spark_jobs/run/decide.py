"""What a person decides about a batch that is held: its rows are published all the same, or go into quarantine, and the run goes on. Or it
stays held.
"""

import uuid
from datetime import UTC, datetime
from typing import Literal

from spark_jobs.config import Project
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.graph import order_tables
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.rule_order import is_blocking, rule_edges
from spark_jobs.lake.actions import allowed_actions
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, LeaseLost, hold_lease
from spark_jobs.lake.verdicts import HOLD, Decision, Verdict, Verdicts
from spark_jobs.run.failure import first_line, keep_trace_outside
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.run.plan import Plan, make_plan, with_below
from spark_jobs.run.result import RunResult, Start, Status

Action = Literal["release", "set_aside", "hold"]


def decide(
    project: Project,
    name: str,
    profile: Profile,
    table: str,
    action: Action,
    decided_by: str,
    reason: str,
    start: Start | None = None,
    seen: str | None = None,
) -> RunResult:
    """Record the decision about the batch of this table that is held; unless it stays so, bring the table and those below it up to date.

    The decision is about what the ledger says of the batch now. Where that is not what was `seen`, nothing is decided.
    """
    lake, pipeline = Lake(project.lake, name), project.pipelines[name]
    if table not in (tables := order_tables(pipeline, project.conf)):
        raise UsageError("TABLE", table, f"there is no table {table!r}", did_you_mean(table, tables))
    try:
        with hold_lease(lake.lease(), name, f"weir {action.replace('_', '-')}") as lease:
            plan = make_plan(pipeline, project.conf, lake)  # only now: another process may have rebuilt the table, or judged the batch
            plan.ledger.guard = lease.check
            verdicts = Verdicts(plan.ledger)
            held = verdicts.held(table, plan.generation(table))
            if held is None:
                return RunResult(name, Status.NOTHING_TO_DO, f"nothing of {table} is held{_others(plan, verdicts)}")
            _check_action(name, held, action)
            if other := _is_other(name, held, seen, verdicts):
                return RunResult(name, Status.BLOCKED, other)
            decision = Decision(held.batch_id, action, held.failed, decided_by, reason, held.grounds)
            verdicts.decide(f"decision-{uuid.uuid4().hex[:8]}", decision, datetime.now(UTC))
    except (LeaseHeld, LeaseLost) as other:
        return RunResult(name, Status.LEASED, str(other))
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - as on a full disk: nothing was decided, and the cause is said
        log_file = keep_trace_outside(project.root, name, "the decision", error)
        return RunResult(name, Status.FAILED, f"{first_line(error)}; log: {log_file}; fix the cause and decide again")
    if action == HOLD:
        return RunResult(name, Status.OK, f"{table} stays blocked, and who decided so and why is recorded; the next run judges it again")
    return run_pipeline(project, name, profile, _waiting_for(project, plan, table), start=start)


def _waiting_for(project: Project, plan: Plan, table: str) -> list[str]:
    """The table, those below it, and those that were not reached because a blocking rule of theirs reads one of them."""
    edges = rule_edges(project.rules.get(plan.pipeline.name, {}), is_blocking)
    found = with_below(plan, [table])
    while more := [judged for judged, others in edges.items() if judged not in found and {*others} & {*found}]:
        found = with_below(plan, [*found, *more])
    return found


def _check_action(name: str, held: Verdict, action: str) -> None:
    table, step = held.batch_id[:2]
    if action not in allowed_actions(table, step):
        message = f"what is held of {table} is made of rows that stand in other tables: there are none of its own to set aside"
        hint = f"publish it with `weir release {name} {table} --reason ...`, or mend the rule and run again"
        raise UsageError("TABLE", table, message, hint)


def _is_other(name: str, held: Verdict, seen: str | None, verdicts: Verdicts) -> str | None:
    """Why what is blocked now is not what the decision is about; None where it is."""
    table = held.batch_id[0]
    if held.grounds is None:
        said = f"{table} was blocked by an earlier version of Weir, which did not keep what was seen: nothing can be decided about it"
        return f"{said}; run `weir run {name}`, which judges it again, then decide"
    if seen is None or seen == held.grounds.id:
        return None
    before = verdicts.seen(table, seen)
    changes = before.changes_to(held.grounds) if before else f"nothing of {table} was ever blocked as {seen}"
    said = f"what is blocked of {table} is not what was decided about ({changes}); nothing was decided"
    return f"{said}: look at it with `weir report {name} --open`, and decide with `--seen {held.grounds.id}`"


def _others(plan: Plan, verdicts: Verdicts) -> str:
    held = [table for table in plan.tables if verdicts.held(table, plan.generation(table))]
    return f"; held is {', '.join(held)}" if held else ", and of no other table"
