"""What a report says, as plain data: the page and the JSON are made from it. Values of sensitive columns never enter it."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from spark_jobs.lake.counts import Counts


class Outcome(StrEnum):
    """How good the data of a run is."""

    GOOD = "good"
    WARNINGS = "good_with_warnings"
    HELD_BACK = "held_back"
    FAILED = "failed"
    UNFINISHED = "unfinished"


class TableState(StrEnum):
    DONE = "done"
    HELD_BACK = "held_back"
    FAILED = "failed"
    STOPPED = "stopped"
    NOT_REACHED = "not_reached"
    NOT_IN_RUN = "not_in_run"

    @property
    def is_still(self) -> bool:
        """Whether the run did nothing to the table."""
        return self in (TableState.NOT_REACHED, TableState.NOT_IN_RUN)


class RuleState(StrEnum):
    MET = "met"
    SET_ASIDE = "set_aside"
    WARNING = "warning"
    BLOCKING = "blocking"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Run:
    """`status` is None for a run that never said how it ended: it was killed, or is still at work. `origin` is who started it, if told."""

    run_id: str
    kind: str
    status: str | None
    message: str
    host: str
    pid: int | None
    started_at: datetime
    ended_at: datetime | None
    origin: str | None = None

    @property
    def seconds(self) -> float | None:
        return (self.ended_at - self.started_at).total_seconds() if self.ended_at else None


@dataclass(frozen=True)
class Point:
    """One run in a trend: so many rows, of which so many bad. `is_met` is None where nothing was judged."""

    run_id: str
    at: datetime
    rows: int | None
    bad: int | None
    is_met: bool | None = None


@dataclass(frozen=True)
class RuleFact:
    name: str
    state: RuleState
    sentence: str
    reason: str
    on_fail: str
    severity: str
    scope: str
    columns: str
    rows: int | None
    failed: int | None
    observed: str | None
    problem: str | None
    trend: tuple[Point, ...] = ()


@dataclass(frozen=True)
class TableFact:
    """`newest` is the greatest event time, else arrival, else window; `newest_of` says which."""

    name: str
    state: TableState
    inputs: tuple[str, ...]
    counts: Counts
    corrected: int
    batches: int
    seconds: float | None
    version: int | None
    rows: int
    newest: datetime | None
    newest_of: str
    updated_at: datetime | None
    quarantine_open: int
    parked_open: int
    late_kept: int
    rules: tuple[RuleFact, ...] = ()
    trend: tuple[Point, ...] = ()


@dataclass(frozen=True)
class Sample:
    file: str
    line: int
    element: int
    value: str


@dataclass(frozen=True)
class ReasonFact:
    """Rows that stand in quarantine, or are parked, for one reason: all of them, and those that this run brought."""

    table: str
    place: str
    rule: str
    column: str
    open_rows: int
    new_rows: int
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class SourceFact:
    """The landed files of a source by verdict; `files` are those that this run took, None where that is not known."""

    name: str
    path: str
    verdicts: dict[str, int]
    files: int | None


@dataclass(frozen=True)
class FileFact:
    source: str
    path: str
    reason: str


@dataclass(frozen=True)
class DriftFact:
    source: str
    field: str
    kind: str
    file: str
    seen_at: datetime | None
    is_new: bool


@dataclass(frozen=True)
class GateFact:
    """A batch that did not simply pass; `seen` names what was seen of a blocked one."""

    table: str
    batch: int
    verdict: str
    rows: int
    failed: tuple[str, ...]
    judged_at: datetime | None
    seen: str | None = None


@dataclass(frozen=True)
class DecisionFact:
    table: str
    batch: int
    action: str
    decided_by: str
    reason: str
    decided_at: datetime | None


@dataclass(frozen=True)
class Balance:
    """Since the lake began: what the ledger says of a table's rows, and how many it cannot account for.

    `missing` is None while a run is at work: its rows are there before its batches are noted.
    """

    table: str
    counts: Counts
    corrected: int
    missing: int | None


@dataclass(frozen=True)
class Verdict:
    """The outcome, why in one sentence, what else to look at, and the commands to go on with."""

    outcome: Outcome
    why: str
    notes: tuple[str, ...] = ()
    steps: tuple["Step", ...] = ()


@dataclass(frozen=True)
class Step:
    what: str
    command: str | None = None


@dataclass(frozen=True)
class Report:
    pipeline: str
    description: str
    owner: str
    made_at: datetime
    made_by: str
    run: Run
    verdict: Verdict
    tables: tuple[TableFact, ...]
    sources: tuple[SourceFact, ...]
    reasons: tuple[ReasonFact, ...]
    gates: tuple[GateFact, ...]
    decisions: tuple[DecisionFact, ...]
    drift: tuple[DriftFact, ...]
    drift_count: int
    files_not_taken: tuple[FileFact, ...]
    files_not_taken_count: int
    balance: tuple[Balance, ...]
    evidence: tuple[str, ...]
    history: tuple[Run, ...] = field(default=())
