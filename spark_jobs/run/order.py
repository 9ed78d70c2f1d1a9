"""What one run is to do and where, decided before Spark starts."""

import os
import socket
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

from spark_jobs.config import Project
from spark_jobs.config.errors import ConfigError
from spark_jobs.config.graph import check_order
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.own_rules import rules_of
from spark_jobs.config.sensitive import without_hidden_plans
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.selection import Selection
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run.plan import Plan
from spark_jobs.run.result import Status, read_origin

# The rules of a pipeline before a run: Great Expectations can judge by them, and the ledger keeps what they
# say.


def check_rules(project: Project, name: str) -> None:
    """ConfigError where the installed Great Expectations cannot judge by a rule, or where tables would wait
    for one another: asked before Spark starts.
    """
    if project.rules.get(name):
        check_order(project.pipelines[name], project.rules[name], project.conf)
        # takes seconds to import: not for a run with nothing to do
        from spark_jobs.quality.check import check_pipeline_rules

        if problems := check_pipeline_rules(project, name):
            raise ConfigError(problems)


def note_rules(project: Project, plan: Plan) -> list[str]:
    """Keep the rules that batches are judged by from now on; names the tables whose rows were judged by
    others.
    """
    verdicts, rules = Verdicts(plan.ledger), rules_of(project, plan.pipeline.name)
    return [table for table in plan.tables if verdicts.note_rules(table, rules.get(table, ()))]


def keep_rules(project: Project, plan: Plan) -> None:
    """Keep the rules that tables are judged by while they are built beside, until their rows are replaced:
    then `note_rules`.
    """
    verdicts, rules = Verdicts(plan.ledger), rules_of(project, plan.pipeline.name)
    for table in plan.tables:
        verdicts.keep_rules(table, rules.get(table, ()))


BEGUN = set[str]()
"""The runs of this process. Host, number and start of a process do not tell: another one may have had the
same, and a clock steps back.
"""


@dataclass(frozen=True)
class QuarantineRequest:
    """What a person wants done with rows in the quarantine of one table: replay or discard these."""

    table: str
    action: Literal["replay", "discard"]
    selection: Selection
    decided_by: str
    reason: str = ""


@dataclass(frozen=True)
class RunOrder:
    project: Project
    profile: Profile
    plan: Plan
    ledger: Ledger
    run_id: str
    lease: Lease
    log_file: Path
    quarantine_request: QuarantineRequest | None = None


def new_order(
    project: Project,
    profile: Profile,
    plan: Plan,
    lease: Lease,
    quarantine_request: QuarantineRequest | None = None,
) -> RunOrder:
    """The order of one run, whose ledger is written to only while the lease is held."""
    plan.ledger.guard = lease.check
    run_id = f"{datetime.now(UTC):%Y%m%dT%H%M%S}-{uuid.uuid4().hex[:8]}"
    log_file = project.root / "logs" / plan.pipeline.name / f"{run_id}.log"
    return RunOrder(
        project,
        without_hidden_plans(profile, plan.pipeline, project.conf),
        plan,
        plan.ledger,
        run_id,
        lease,
        log_file,
        quarantine_request,
    )


def note_run(
    order: RunOrder,
    event: str,
    status: Status | None = None,
    message: str | None = None,
    seconds: float | None = None,
) -> None:
    """A row in the ledger's runs: a start without an end is a run that was killed, which the next start
    writes down (page.py).
    """
    BEGUN.add(order.run_id)
    order.ledger.write_run(
        run_id=order.run_id,
        at=datetime.now(UTC),
        event=event,
        status=status.value if status else None,
        host=socket.gethostname(),
        pid=os.getpid(),
        message=message,
        origin=read_origin(),
        seconds=seconds,
    )
