"""How a pipeline is: who writes, whether its rows follow its file, checkpoints, times, and what waits."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial

from spark_jobs.config.errors import ConfigError
from spark_jobs.config.loading import Project
from spark_jobs.config.text import count
from spark_jobs.doctor.event_times import look_at_times
from spark_jobs.doctor.finding import BAD, WARNING, Finding, Fix, looked_at, ok
from spark_jobs.doctor.tables import do_upkeep, look_at_files, look_at_landed, look_at_strangers
from spark_jobs.lake.checkpoints import Checkpoint, CheckpointDamaged, CheckpointLost, check_checkpoint
from spark_jobs.lake.delta_log import count_rows, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import STREAM as STREAM_HOLDER
from spark_jobs.lake.lease import has_ended, holder_of
from spark_jobs.lake.ledger_batches import STREAM
from spark_jobs.operations.status import status_of
from spark_jobs.run.definitions import check_definitions
from spark_jobs.run.leftovers import old_checkpoints, rebuilt_beside
from spark_jobs.run.plan import Plan, make_plan
from spark_jobs.run.stage import unfinished_swap

LONG_HELD = timedelta(days=1)
CLOCK_BACK = timedelta(minutes=5)


def look_at_pipeline(project: Project, name: str, now: datetime) -> list[Finding]:
    lake = Lake(project.lake, name)
    backup = "restore the pipeline's folder from a backup (docs/backup.md), or load into a new lake"
    found = looked_at(name, "lease", partial(_lease, lake, name, now))
    try:
        plan = make_plan(project.pipelines[name], project.conf, lake)
        if not plan.ledger.rows("runs", ["run_id"]):
            return [*found, ok(name, "tables", f"nothing has run yet: `weir run {name}`")]
    except Exception as error:  # noqa: BLE001 - said as a finding: the ledger may be what is broken
        return [*found, *looked_at(name, "ledger", partial(_again, error), backup)]
    looks = (
        ("definitions", partial(_definitions, plan), "`weir check` says more"),
        ("ledger", partial(_ledger, plan, now), backup),
        ("checkpoints", partial(_checkpoints, plan), backup),
        ("states", partial(_states, project, plan, now), f"`weir status {name}` says more"),
        ("waiting rows", partial(_waiting, project, plan), f"`weir account {name}` says more"),
        ("files", partial(look_at_files, project, plan), backup),
        ("landed files", partial(look_at_landed, project, plan), f"`weir quarantine list {name}` says more"),
        ("leftovers", partial(_leftovers, project, plan), f"`weir maintain {name}`"),
        ("orphans", partial(look_at_strangers, plan), "look into the folder"),
    )
    return found + [
        finding for about, look, remedy in looks for finding in looked_at(name, about, look, remedy)
    ]


def _again(error: Exception) -> Iterator[Finding]:
    raise error


def _lease(lake: Lake, name: str, now: datetime) -> Iterator[Finding]:
    holder = holder_of(lake.lease())
    if holder is None:
        yield ok(name, "lease", "nobody writes now")
        return
    who = f"{holder.get('what', '?')}, process {holder.get('pid', '?')} on {holder.get('host', '?')}"
    said = f"held by {who} since {holder.get('since', '?')}"
    if holder and has_ended(holder):
        message = f"{said}, which has ended: its JVM still has the lease"
        remedy = (
            f"it ends by itself within a minute; else `fuser {lake.lease()}` names it, and `kill` ends it"
        )
        yield Finding(name, "lease", BAD, message, remedy)
    elif holder.get("what") != STREAM_HOLDER and _is_old(holder.get("since", ""), now):
        remedy = (
            f"see on {holder.get('host')} whether it still works (`weir status {name}`); SIGTERM lets it end"
        )
        yield Finding(name, "lease", WARNING, said, remedy)
    else:
        yield ok(name, "lease", said)


def _is_old(since: str, now: datetime) -> bool:
    try:
        return now - datetime.fromisoformat(since) > LONG_HELD
    except (ValueError, TypeError):
        return False


def _definitions(plan: Plan) -> Iterator[Finding]:
    name = plan.pipeline.name
    try:
        check_definitions(plan)
    except ConfigError as wrong:
        for problem in wrong.problems:
            yield Finding(
                name, "definitions", BAD, f"{problem.file}:{problem.line}: {problem.message}", problem.hint
            )
        return
    yield ok(name, "definitions", "the rows of all tables follow the pipeline file")


def _ledger(plan: Plan, now: datetime) -> Iterator[Finding]:
    """Sums that did not balance, runs without an end, and times that are still to come."""
    name, ledger = plan.pipeline.name, plan.ledger
    evidence = ledger.rows("evidence", ["run_id", "table"])
    if evidence:
        tables = ", ".join(sorted({row["table"] for row in evidence}))
        message = f"{count(len(evidence), 'sum')} did not balance, of {tables}"
        yield Finding(
            name, "account", BAD, message, f"`weir verify {name}` names the rows; `weir account {name}`"
        )
    last = max((row["at"] for row in ledger.rows("runs", ["at"]) if row["at"]), default=None)
    if last is not None and last - now > CLOCK_BACK:
        message = (
            f"the ledger has a run of {last:%Y-%m-%d %H:%M:%S} UTC, which is still to come by this clock"
        )
        remedy = "set the clock by a time server: `timedatectl set-ntp true`; rows stay in their order"
        yield Finding(name, "clock", BAD, message, remedy)
    open_runs = [row["run_id"] for row in ledger.open_runs()]
    if open_runs and holder_of(plan.lake.lease()) is None and holder_of(plan.lake.stream_lease()) is None:
        message = f"the run {open_runs[-1]} has ended without a word: it was killed"
        yield Finding(name, "runs", WARNING, message, f"`weir run {name}` resumes")
    elif not evidence:
        yield ok(name, "ledger", "every sum balances")


def _checkpoints(plan: Plan) -> Iterator[Finding]:
    """Not while somebody writes: a checkpoint and the ledger are then of two times."""
    name, wrong, seen = plan.pipeline.name, [], 0
    if holder_of(plan.lake.lease()) is not None:
        yield ok(name, "checkpoints", "not looked at while somebody writes")
        return
    for table in (table for table in plan.tables if table not in plan.live_tables):
        if table not in plan.definitions:
            continue
        generation = plan.generation(table)
        last = plan.ledger.last_number(table, STREAM, generation)
        checkpoint = Checkpoint(table, plan.lake.checkpoint(table, generation))
        try:
            check_checkpoint(checkpoint, last if last >= 0 else None)
            seen += 1
        except (CheckpointLost, CheckpointDamaged) as broken:
            wrong.append(Finding(name, "checkpoints", BAD, *_parted(str(broken))))
    if holder_of(plan.lake.lease()) is not None:
        yield ok(name, "checkpoints", "not looked at: somebody began to write meanwhile")
    elif wrong:
        yield from wrong
    else:
        yield ok(
            name,
            "checkpoints",
            f"{count(seen, 'checkpoint is', 'checkpoints are')} whole, as far as the ledger",
        )


def _parted(said: str) -> tuple[str, str]:
    """What is wrong, and what to do."""
    message, _, remedy = said.partition("; ")
    return message, remedy


def _states(project: Project, plan: Plan, now: datetime) -> Iterator[Finding]:
    """Tables that failed or are blocked, and watermarks that a wrong time has moved."""
    name = plan.pipeline.name
    status, is_well = status_of(project, name, now), True
    for table in status.tables:
        if table.error:
            is_well = False
            remedy = f"remove the cause, then `weir run {name}`"
            yield Finding(name, "states", BAD, f"{table.table} failed: {table.error}", remedy)
        if table.actions:
            is_well = False
            message = f"a batch of {table.table} is blocked"
            yield Finding(name, "states", WARNING, message, f"`weir status {name}` has the ways to go on")
    for finding in look_at_times(plan, status, now):
        is_well = False
        yield finding
    if is_well:
        yield ok(name, "states", "no table failed or is blocked, no event time looks wrong")


def _waiting(project: Project, plan: Plan) -> Iterator[Finding]:
    """Rows that wait for members, and dimensions that nothing has come for."""
    name, is_well = plan.pipeline.name, True
    for silver, definition in plan.pipeline.silver.items():
        parked = count_rows(plan.lake.table(f"parked.silver.{silver}"))
        for dimension in definition.lookup:
            source = plan.pipeline.dimensions[dimension].from_
            place = plan.pipeline.sources[source].place(project.landing)
            path = plan.lake.table(f"dimension.{dimension}")
            if table_version(path) is None or not count_rows(path):
                is_well = False
                message = f"dimension.{dimension} has no member, and silver.{silver} looks it up"
                remedy = f"deliver its members to {place}, then `weir run {name}`"
                yield Finding(name, "dimensions", BAD if parked else WARNING, message, remedy)
        if parked:
            is_well = False
            message = (
                f"{count(parked, 'row')} of silver.{silver} {'waits' if parked == 1 else 'wait'} for a member"
            )
            sql = f"select reasons, file, line from {name}.parked.silver.{silver}"
            remedy = f'deliver the members; `weir query "{sql}"` names them'
            yield Finding(name, "waiting rows", WARNING, message, remedy)
    if is_well:
        yield ok(name, "waiting rows", "no row waits for a member")


def _leftovers(project: Project, plan: Plan) -> Iterator[Finding]:
    name = plan.pipeline.name
    if holder_of(plan.lake.lease()) is not None:
        return  # it may be a rebuild at work
    if cut := unfinished_swap(plan.ledger):
        message = f"a rebuild was cut while it replaced {', '.join(cut)}"
        yield Finding(name, "leftovers", WARNING, message, f"`weir run {name}` finishes it")
        return  # what it has built is still needed
    checkpoints, rebuilt = old_checkpoints(plan), rebuilt_beside(plan)
    said = [count(len(checkpoints), "old checkpoint")] if checkpoints else []
    said += ["what a cut rebuild has built"] if rebuilt else []
    if said:
        fix = Fix(f"did the upkeep of {name}", partial(do_upkeep, project, name))
        yield Finding(name, "leftovers", WARNING, " and ".join(said), f"`weir maintain {name}`", fix)
