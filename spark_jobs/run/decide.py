"""What a person decides about a batch that is held: its rows are published all the same, or go into quarantine, and the run goes on. Or it
stays held.
"""

import uuid
from datetime import UTC, datetime
from typing import Literal

from spark_jobs.config import Project
from spark_jobs.config.errors import ConfigError, Problem, did_you_mean
from spark_jobs.config.lakehouse import Profile
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.lake.verdicts import ASIDE, HOLD, Decision, Verdict, Verdicts
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.run.plan import Plan, make_plan, with_below
from spark_jobs.run.result import RunResult, Start, Status

Action = Literal["release", "set_aside", "hold"]
HAS_ROWS_OF_ITS_OWN = ("stream", "release", "replay")
"""Steps whose rows can be put into quarantine. What others publish is made of rows that stand in tables already."""


def decide(
    project: Project,
    name: str,
    profile: Profile,
    table: str,
    action: Action,
    decided_by: str,
    reason: str,
    start: Start | None = None,
) -> RunResult:
    """Record the decision about the batch of this table that is held; unless it stays so, bring the table and those below it up to date."""
    lake = Lake(project.lake, name)
    plan = make_plan(project.pipelines[name], project.conf, lake)
    if table not in plan.tables:
        where = f"conf/pipelines/{name}.yml"
        raise ConfigError([Problem(where, 1, "table", table, f"there is no table {table!r}", did_you_mean(table, plan.tables))])
    try:
        with hold_lease(lake.lease(), name, f"weir {action.replace('_', '-')}") as lease:
            plan.ledger.guard = lease.check
            verdicts = Verdicts(plan.ledger)
            held = verdicts.held(table, plan.generation(table))
            if held is None:
                return RunResult(name, Status.NOTHING_TO_DO, f"nothing of {table} is held{_others(plan, verdicts)}")
            _check_action(name, held, action)
            decision = Decision(held.batch_id, action, held.failed, decided_by, reason)
            verdicts.decide(f"decision-{uuid.uuid4().hex[:8]}", decision, datetime.now(UTC))
    except LeaseHeld as other:
        return RunResult(name, Status.LEASED, str(other))
    if action == HOLD:
        return RunResult(name, Status.OK, f"{table} stays held, which is written down; the next run judges the batch again")
    return run_pipeline(project, name, profile, with_below(plan, [table]), start=start)


def can_set_aside(table: str, step: str) -> bool:
    """Whether the rows of a held batch can go into quarantine."""
    return not table.startswith("gold.") and step in HAS_ROWS_OF_ITS_OWN


def _check_action(name: str, held: Verdict, action: str) -> None:
    table, step = held.batch_id[:2]
    if action == ASIDE and not can_set_aside(table, step):
        message = f"what is held of {table} is made of rows that stand in other tables: there are none of its own to set aside"
        hint = f"publish it with `weir release {name} {table} --reason ...`, or mend the rule and run again"
        raise ConfigError([Problem(f"conf/pipelines/{name}.yml", 1, "table", table, message, hint)])


def _others(plan: Plan, verdicts: Verdicts) -> str:
    held = [table for table in plan.tables if verdicts.held(table, plan.generation(table))]
    return f"; held is {', '.join(held)}" if held else ", and of no other table"
