"""What a report says, as plain data: the page and the JSON are made from it. Values of sensitive columns
never enter it.
"""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from spark_jobs.config.table_name import TableName
from spark_jobs.lake import states
from spark_jobs.lake.counts import Counts, Totals, add_up
from spark_jobs.report.source_facts import DriftFact, FileFact, ReasonFact, SourceFact


class Outcome(StrEnum):
    """How good the data of a run is. `BAD`: it ended well, and readers get nothing of what came."""

    GOOD = "good"
    WARNINGS = "good_with_warnings"
    BAD = "bad"
    BLOCKED = "blocked"
    FAILED = "failed"
    STOPPED = "stopped"
    KILLED = "killed"
    RUNNING = "running"


class TableState(StrEnum):
    """As the ledger's states have it (lake/states.py); `RUNNING` while the run is at work, `NOT_IN_RUN` for
    tables without a row. `NO_TRACE` for those in a killed run: it may have been at work on one, and had
    written nothing of it down.
    """

    DONE = states.DONE
    UP_TO_DATE = states.UP_TO_DATE
    BLOCKED = states.BLOCKED
    FAILED = states.FAILED
    STOPPED = states.STOPPED
    KILLED = states.KILLED
    NOT_REACHED = states.NOT_REACHED
    RUNNING = "running"
    NOT_IN_RUN = "not_in_run"
    NO_TRACE = "no_trace"

    @property
    def is_still(self) -> bool:
        """Whether the run did nothing to the table."""
        return self in (
            TableState.NOT_REACHED,
            TableState.NOT_IN_RUN,
            TableState.NO_TRACE,
            TableState.UP_TO_DATE,
        )

    @property
    def is_open(self) -> bool:
        """Whether the table is not up to date, and a run should come back to it."""
        return self.value in states.OPEN


class RuleState(StrEnum):
    MET = "met"
    TAGGED = "tagged"
    SET_ASIDE = "set_aside"
    WARNING = "warning"
    BLOCKING = "blocking"
    PROBLEM = "problem"


@dataclass(frozen=True)
class Run:
    """`status` is that of the ledger; `killed` for a run that ended without a word, `running` for one at
    work. `message` is the first line of what it ended with; those below it say how to go on. `origin` is who
    started it, if it says so. `took` are the seconds that the terminal said; earlier versions did not keep
    them.
    """

    run_id: str
    kind: str
    status: str
    message: str
    host: str
    pid: int | None
    started_at: datetime
    ended_at: datetime | None
    origin: str | None = None
    took: float | None = None

    @property
    def seconds(self) -> float | None:
        if self.took is not None or self.status == states.KILLED:  # when a killed run ended is not known
            return self.took
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
class RuleFound:
    """What a rule found in a run: of the rows of its batches together, or of the whole table by the newest
    judgement.
    """

    name: str
    state: RuleState
    rows: int | None
    failed: int | None


@dataclass(frozen=True)
class RuleFact(RuleFound):
    sentence: str
    reason: str
    on_fail: str
    severity: str
    scope: str
    columns: str
    observed: str | None
    problem: str | None
    trend: tuple[Point, ...] = ()


@dataclass(frozen=True)
class TableWork:
    """What a run did to a table, and how that ended. `late_kept`: late rows that do not count where they came
    too late.
    """

    name: str
    state: TableState
    counts: Counts = field(default_factory=Counts)
    corrected: int = 0
    batches: int = 0
    seconds: float | None = None
    late_kept: int = 0
    error: str | None = None
    actions: tuple[str, ...] = ()
    seen: str | None = None
    alarms: tuple[str, ...] = ()
    rules: tuple[RuleFound, ...] = ()

    @property
    def set_aside(self) -> int:
        """Rows that this run put beside the table."""
        return (
            0
            if TableName(self.name).is_in("bronze", "sink")
            else add_up([(self.name, self.counts, self.late_kept)]).set_aside
        )


@dataclass(frozen=True)
class TableFact(TableWork):
    """With what is in the table now. `newest` is the greatest event time, else arrival, else window;
    `newest_of` says which.
    """

    rules: tuple[RuleFact, ...] = ()
    inputs: tuple[str, ...] = ()
    version: int | None = None
    rows: int = 0
    newest: datetime | None = None
    newest_of: str = ""
    updated_at: datetime | None = None
    quarantine_open: int = 0
    parked_open: int = 0
    late_open: int = 0
    trend: tuple[Point, ...] = ()


@dataclass(frozen=True)
class OpenTable:
    """A table that an earlier run left open: it is not up to date now."""

    table: TableWork
    run: Run


@dataclass(frozen=True)
class OpenRule:
    """A rule that was not met when it was judged last, in an earlier run."""

    table: str
    rule: RuleFound
    run: Run


@dataclass(frozen=True)
class Current:
    """What is so now, whichever run has made it so. `cut` are the runs just before the newest one that were
    killed or failed, with what they published: their numbers are in no other run.
    """

    tables: tuple[OpenTable, ...] = ()
    rules: tuple[OpenRule, ...] = ()
    cut: tuple[tuple[Run, Totals], ...] = ()
    missing: tuple["Balance", ...] = ()


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

    `missing` is None while a run is at work, and after one that was killed: rows are there before their
    batches are noted.
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
    current: Current
    is_newest: bool
    totals: Totals
    history: tuple[Run, ...] = field(default=())
