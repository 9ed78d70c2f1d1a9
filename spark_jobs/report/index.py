"""The lists of reports: the runs of one pipeline, and the newest run of each. Made from the ledger, for the files that are there."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.scan import read_where
from spark_jobs.lake.sequence import read_markers, read_ordered
from spark_jobs.report.facts import GateFact, Outcome, RuleState, Run
from spark_jobs.report.figures import count, cut, moment
from spark_jobs.report.gates import PASSED, gate_of
from spark_jobs.report.rules import state_of
from spark_jobs.report.runs import read_runs
from spark_jobs.report.table_facts import COUNTS, sum_counts
from spark_jobs.report.verdict import WHY_LENGTH, why_blocked

GATE = ["run_id", "table", "batch", "judged_at", "verdict", "rows", "failed"]
ENDED = {"failed": Outcome.FAILED, "blocked": Outcome.HELD_BACK, "stopped": Outcome.UNFINISHED, None: Outcome.UNFINISHED}
Row = Mapping[str, Any]


@dataclass(frozen=True)
class RunLine:
    """One line of a list; `link` is relative, from an id that was checked. `why` is a sentence without a value of any row."""

    run_id: str
    name: str
    link: str
    outcome: Outcome
    why: str
    origin: str | None
    started_at: datetime
    seconds: float | None
    records: int
    published: int
    set_aside: int
    not_met: int


def list_runs(lake: Lake, run_ids: Collection[str]) -> list[RunLine]:
    """These runs, the newest first."""
    wanted = {"run_id": run_ids}
    batches = _by_run(read_markers(lake, ["run_id", *COUNTS], wanted))
    judged = _by_run(read_where(lake.ledger("expectations"), ["run_id", "table", "rule", "on_fail", "is_met", "failed", "problem"], wanted))
    drift = {row["run_id"] for row in read_where(lake.ledger("drift"), ["run_id"], wanted)}
    gates = _by_run(row for row in read_ordered(lake, "gates", GATE, wanted) if row["verdict"] != PASSED)
    runs = reversed(read_runs(lake, run_ids))
    return [_line(run, batches[run.run_id], judged[run.run_id], gates[run.run_id], has_drift=run.run_id in drift) for run in runs]


def _line(run: Run, batches: list[Row], judged: list[Row], gates: list[Row], *, has_drift: bool) -> RunLine:
    read = sum_counts([row for row in batches if row["table"].startswith("bronze.")])
    middle = sum_counts([row for row in batches if row["table"].startswith(("silver.", "dimension."))])
    not_met = {(row["table"], row["rule"]) for row in judged if state_of(row) is not RuleState.MET}
    outcome = _outcome(run, read, middle, is_noted=has_drift or bool(not_met) or bool(gates))
    return RunLine(
        run_id=run.run_id,
        name=moment(run.started_at),
        link=f"{run.run_id}.html",
        outcome=outcome,
        why=_why(run, outcome, middle, len(not_met), [gate_of(row) for row in gates if row["verdict"] == "blocked"]),
        origin=run.origin,
        started_at=run.started_at,
        seconds=run.seconds,
        records=read.inserted,
        published=middle.published,
        set_aside=middle.quarantined + middle.parked,
        not_met=len(not_met),
    )


def _outcome(run: Run, read: Counts, middle: Counts, *, is_noted: bool) -> Outcome:
    if run.status in ENDED:
        return ENDED[run.status]
    return Outcome.WARNINGS if is_noted or read.quarantined > 0 or middle.quarantined > 0 else Outcome.GOOD


def _why(run: Run, outcome: Outcome, middle: Counts, not_met: int, blocked: list[GateFact]) -> str:
    if outcome is Outcome.FAILED:
        return cut(run.message or "The run failed.", WHY_LENGTH)
    if outcome is Outcome.HELD_BACK:
        return why_blocked(blocked, run) if blocked else "A batch was held back."
    if outcome is Outcome.UNFINISHED:
        return "The run has not said how it ended: it is still at work, or it was killed."
    said = [f"{count(middle.published, 'row')} published"]
    said += [f"{count(middle.quarantined, 'row')} quarantined"] * (middle.quarantined > 0)
    said += [f"{count(middle.parked, 'row waits', 'rows wait')} for a member"] * (middle.parked > 0)
    said += [f"{count(not_met, 'expectation')} not met"] * (not_met > 0)
    return ", ".join(said) + "."


def _by_run(rows: Iterable[Row]) -> dict[str, list[Row]]:
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        found[row["run_id"]].append(row)
    return found
