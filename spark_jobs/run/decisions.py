"""What people decide: about a blocked batch, and about rows in quarantine."""

import time
import uuid
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Literal

from spark_jobs.config import Project
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.expectations import READABLE
from spark_jobs.config.graph import is_blocking, order_tables, rule_edges
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.table_name import TableName
from spark_jobs.failure import first_line, keep_trace_outside
from spark_jobs.lake.blocked import HOLD, allowed_actions
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, LeaseLost, hold_lease
from spark_jobs.lake.sequence import read_markers
from spark_jobs.lake.verdicts import Decision, Verdict, Verdicts
from spark_jobs.run.definitions import check_definitions
from spark_jobs.run.order import QuarantineRequest, RunOrder, check_rules, new_order
from spark_jobs.run.pipeline import RunRequest, run_pipeline
from spark_jobs.run.plan import Plan, make_plan, with_below
from spark_jobs.run.result import RunResult, Start, Status
from spark_jobs.run.stage import say_unfinished, unfinished_swap

# `weir quarantine replay` and `discard`: what is to be done with rows in quarantine, as a part of a run, or
# only tried.

LEFT_AS = ("deleted", "superseded", "duplicate", "parked", "filtered")
"""What a row may become that leaves quarantine, beside being published."""
UNREAD = "a record that could not be read cannot be replayed: let its file be sent again, and discard the row"


def apply_request(
    project: Project,
    name: str,
    profile: Profile,
    quarantine_request: QuarantineRequest,
    start: Start | None = None,
) -> RunResult:
    """Do it, and bring the table and those below it up to date."""
    lake = Lake(project.lake, name)
    plan = make_plan(project.pipelines[name], project.conf, lake)
    result = run_pipeline(
        project,
        name,
        profile,
        RunRequest(with_below(plan, [quarantine_request.table]), quarantine_request=quarantine_request),
        start,
    )
    said = (
        say_replayed(lake, quarantine_request.table, result.run_id)
        if quarantine_request.action == "replay" and result.run_id
        else None
    )
    return replace(result, message=f"{said}; {result.message}") if said else result


def try_replay(
    project: Project,
    name: str,
    profile: Profile,
    quarantine_request: QuarantineRequest,
    start: Start | None = None,
) -> RunResult:
    """Say what a replay would do; nothing is written, and what a replay would refuse is refused. The lease
    keeps others from changing the tables meanwhile.
    """
    started, lake = time.monotonic(), Lake(project.lake, name)
    try:
        with hold_lease(lake.lease(), name, "weir quarantine replay --dry-run") as lease:
            plan = make_plan(project.pipelines[name], project.conf, lake)
            if cut := unfinished_swap(plan.ledger):
                return RunResult(name, Status.FAILED, say_unfinished(name, cut))
            check_definitions(plan)
            check_rules(project, name)
            found, by_rule = _try(
                new_order(project, profile, plan, lease, quarantine_request), plan, quarantine_request, start
            )
    except LeaseHeld as held:
        return RunResult(name, Status.LEASED, str(held))
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - Spark did not start, or ended: the cause is said, and nothing was changed
        log_file = keep_trace_outside(project.root, name, "the replay", error)
        return RunResult(
            name, Status.FAILED, f"{first_line(error)}; log: {log_file}; fix the cause and try again"
        )
    said = ", ".join(f"{count:,} {what}" for what, count in found.items() if count) or "no row is selected"
    said += f" ({say_rules(by_rule)})" if by_rule else ""
    return RunResult(
        name,
        Status.OK,
        f"{quarantine_request.table}: {said}; this was a dry run",
        seconds=time.monotonic() - started,
    )


def say_replayed(lake: Lake, table: str, run_id: str) -> str | None:
    """What became of the rows that a run has replayed: how many left the quarantine, how many stay, and why.
    None where it came to none.
    """
    from spark_jobs.lake.quarantine import count_replayed_in_vain

    done = [
        row
        for row in read_markers(lake, list(Counts().as_dict()), {"run_id": [run_id]})
        if (row["table"], row["step"]) == (table, "replay")
    ]
    if not done:
        return None
    counts = sum((Counts.of_row(row) for row in done), Counts())
    stayed, by_rule = count_replayed_in_vain(lake.table(f"quarantine.{table}"), run_id)
    went = {"published": counts.published, **{name: getattr(counts, name) for name in LEFT_AS}}
    left = ", ".join(f"{count:,} {name}" for name, count in went.items() if count > 0)
    said = (
        f"{table}: {-counts.quarantined:,} of {stayed - counts.quarantined:,} replayed rows left the"
        " quarantine"
    )
    return (
        said + (f" ({left})" if left else "") + (f"; {stayed:,} stay: {say_rules(by_rule)}" if stayed else "")
    )


def say_rules(by_rule: Mapping[str, int]) -> str:
    """How many rows each rule keeps in quarantine; what to do about those that no replay can bring on."""
    said = ", ".join(f"{count:,} by {rule}" for rule, count in sorted(by_rule.items()))
    return said + (f"; {UNREAD}" if by_rule.get(READABLE) else "")


def _try(
    order: RunOrder, plan: Plan, quarantine_request: QuarantineRequest, start: Start | None
) -> tuple[dict[str, int], Counter[str]]:
    from spark_jobs.lake.delta_log import table_version  # the JVM's side
    from spark_jobs.lake.gate import OpenGate
    from spark_jobs.lake.tables import Batch
    from spark_jobs.run.silver import LENIENT
    from spark_jobs.run.spark import start_session
    from spark_jobs.silver.fact_table import dimension_table, silver_table
    from spark_jobs.silver.reprocess import SELECTION, try_replay

    layer, short = TableName(quarantine_request.table).parts
    table = silver_table(plan.pipeline, short) if layer == "silver" else dimension_table(plan.pipeline, short)
    inputs = {name: table_version(plan.lake.table(name)) for name in (*table.reads, table.quarantine)}
    if inputs[table.quarantine] is None:
        return {}, Counter()
    gate = OpenGate(order.project.rules.get(plan.pipeline.name, {}).get(quarantine_request.table, ()))
    batch_id = (
        quarantine_request.table,
        quarantine_request.action,
        plan.generation(quarantine_request.table),
        0,
    )
    selected = {**inputs, SELECTION: quarantine_request.selection.as_dict()}
    batch = Batch(plan.lake, order.lease, *batch_id, order.run_id, datetime.now(UTC), selected, gate)
    with (start or start_session)(order, {}) as spark:
        session = spark.newSession()
        for setting, value in LENIENT.items():
            session.conf.set(setting, value)
        return try_replay(session, table, batch)


# What a person decides about a blocked batch: its rows are published all the same, or go into
# quarantine, and the run goes on. Or it stays blocked.

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
    """Record the decision about the batch of this table that is blocked; unless it stays so, bring the table
    and those below it up to date.

    The decision is about what the ledger says of the batch now. Where that is not what was `seen`, nothing is
    decided.
    """
    lake, pipeline = Lake(project.lake, name), project.pipelines[name]
    if table not in (tables := order_tables(pipeline, project.conf)):
        raise UsageError("TABLE", table, f"there is no table {table!r}", did_you_mean(table, tables))
    try:
        with hold_lease(lake.lease(), name, f"weir {action.replace('_', '-')}") as lease:
            # only now: another process may have rebuilt the table, or judged the batch
            plan = make_plan(pipeline, project.conf, lake)
            plan.ledger.guard = lease.check
            verdicts = Verdicts(plan.ledger)
            blocked = verdicts.blocked(table, plan.generation(table))
            if blocked is None:
                return RunResult(
                    name, Status.NOTHING_TO_DO, f"no batch of {table} is blocked{_others(plan, verdicts)}"
                )
            _check_action(name, blocked, action)
            if other := _is_other(name, blocked, seen, verdicts):
                return RunResult(name, Status.BLOCKED, other)
            decision = Decision(blocked.batch_id, action, blocked.failed, decided_by, reason, blocked.grounds)
            verdicts.decide(f"decision-{uuid.uuid4().hex[:8]}", decision, datetime.now(UTC))
    except (LeaseHeld, LeaseLost) as other:
        return RunResult(name, Status.LEASED, str(other))
    except Refused:
        raise
    except Exception as error:  # noqa: BLE001 - as on a full disk: nothing was decided, and the cause is said
        log_file = keep_trace_outside(project.root, name, "the decision", error)
        return RunResult(
            name, Status.FAILED, f"{first_line(error)}; log: {log_file}; fix the cause and decide again"
        )
    if action == HOLD:
        return RunResult(
            name,
            Status.OK,
            f"{table} stays blocked, and who decided so and why is recorded; the next run judges it again",
        )
    return run_pipeline(project, name, profile, RunRequest(_waiting_for(project, plan, table)), start)


def _waiting_for(project: Project, plan: Plan, table: str) -> list[str]:
    """The table, those below it, and those that were not reached because a blocking rule of theirs reads one
    of them.
    """
    edges = rule_edges(project.rules.get(plan.pipeline.name, {}), is_blocking)
    found = with_below(plan, [table])
    while more := [
        judged for judged, others in edges.items() if judged not in found and {*others} & {*found}
    ]:
        found = with_below(plan, [*found, *more])
    return found


def _check_action(name: str, blocked: Verdict, action: str) -> None:
    table, step = blocked.batch_id[:2]
    if action not in allowed_actions(table, step):
        message = (
            f"the blocked batch of {table} has rows of other tables: there are none of its own to set aside"
        )
        hint = f"publish it with `weir release {name} {table} --reason ...`, or fix the rule and rerun"
        raise UsageError("TABLE", table, message, hint)


def _is_other(name: str, blocked: Verdict, seen: str | None, verdicts: Verdicts) -> str | None:
    """Why what is blocked now is not what the decision is about; None where it is."""
    table = blocked.batch_id[0]
    if blocked.grounds is None:
        said = (
            f"{table} was blocked by an earlier version of Weir, which did not keep what was seen: nothing"
            " can be decided about it"
        )
        return f"{said}; run `weir run {name}`, which judges it again, then decide"
    if seen is None or seen == blocked.grounds.id:
        return None
    before = verdicts.seen(table, seen)
    changes = (
        before.changes_to(blocked.grounds) if before else f"nothing of {table} was ever blocked as {seen}"
    )
    said = f"what is blocked of {table} is not what was decided about ({changes}); nothing was decided"
    return (
        f"{said}: look at it with `weir report {name} --open`, and decide with `--seen {blocked.grounds.id}`"
    )


def _others(plan: Plan, verdicts: Verdicts) -> str:
    blocked = [table for table in plan.tables if verdicts.blocked(table, plan.generation(table))]
    return f"; blocked: {', '.join(blocked)}" if blocked else ", nor of any other table"
