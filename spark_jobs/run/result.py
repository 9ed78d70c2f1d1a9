"""What a run ends with: a status, its exit code, and what became of the rows of every table."""

import os
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from spark_jobs.config.text import one_line
from spark_jobs.lake.counts import Counts, Totals, add_up

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from spark_jobs.run.order import RunOrder

Start = Callable[["RunOrder", dict[str, dict[str, Any]]], AbstractContextManager["SparkSession"]]
"""Gives the Spark session of a run, from its order and what its tables have consumed."""

ORIGIN = "WEIR_ORIGIN"
LONGEST_ORIGIN = 500


def read_origin(environ: Mapping[str, str] = os.environ) -> str | None:
    """WEIR_ORIGIN without control characters, cut to its bound; None where it says nothing."""
    return one_line(environ.get(ORIGIN, ""))[:LONGEST_ORIGIN] or None


class Status(StrEnum):
    OK = "ok"
    NOTHING_TO_DO = "nothing_to_do"
    BLOCKED = "blocked"
    CONFIG_ERROR = "config_error"
    USAGE_ERROR = "usage_error"
    LEASED = "leased"
    FAILED = "failed"
    STOPPED = "stopped"


EXIT_CODES = {
    Status.OK: 0,
    Status.FAILED: 1,
    Status.CONFIG_ERROR: 2,
    Status.USAGE_ERROR: 2,
    Status.NOTHING_TO_DO: 3,
    Status.BLOCKED: 4,
    Status.LEASED: 5,
    Status.STOPPED: 6,
}


class State(StrEnum):
    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    UP_TO_DATE = "up_to_date"
    FAILED = "failed"
    BLOCKED = "blocked"
    STOPPED = "stopped"
    NOT_REACHED = "not_reached"


@dataclass(frozen=True)
class BlockedTable:
    """A batch that its rules block: which of them did not hold, for how many rows, and what is said of
    it. `seen` names what a decision about it is about; `findings` has what each rule found, and why it is
    there; `stopped` who left this batch blocked before, and why.
    """

    table: str
    rules: tuple[str, ...]
    rows: int
    message: str
    seen: str
    actions: tuple[str, ...] = ()
    """What may be decided about it (lake/blocked.py)."""
    findings: tuple[dict[str, str], ...] = ()
    stopped: dict[str, str] | None = None

    def as_dict(self) -> dict[str, Any]:
        known = {
            "table": self.table,
            "rules": list(self.rules),
            "rows": self.rows,
            "message": self.message,
            "seen": self.seen,
        }
        return {
            **known,
            "actions": list(self.actions),
            "findings": list(self.findings),
            "stopped": self.stopped,
        }


@dataclass
class TableRun:
    """What one table did in this run so far; `verdict` is the outcome of it alone, None where no page was
    written.
    """

    table: str
    state: State = State.WAITING
    batches: int = 0
    counts: Counts = field(default_factory=Counts)
    corrected: int = 0
    seconds: float = 0.0
    version: int | None = None
    error: str | None = None
    blocked: BlockedTable | None = None
    verdict: str | None = None
    last: dict[str, Any] | None = None
    """Of a table that is up to date: the run that has published what is there, with its page and counts,
    where the ledger knows it.
    """
    published_version: int | None = None
    """Of a table that is up to date, and whose version upkeep has moved since: the one by which its rows
    changed last.
    """
    late_kept: int = 0
    """Of the late rows those that do not count there."""

    def as_dict(self) -> dict[str, Any]:
        numbers = {
            **self.counts.as_dict(),
            "corrected": self.corrected,
            "seconds": round(self.seconds, 2),
            "version": self.version,
            "published_version": self.version if self.published_version is None else self.published_version,
        }
        said = {"late_kept": self.late_kept, "error": self.error, "verdict": self.verdict, "last": self.last}
        return {"table": self.table, "state": self.state.value, "batches": self.batches, **numbers, **said}


@dataclass(frozen=True)
class RunResult:
    """`report` is the page about the run, below the folder of reports, and `verdict` its outcome: None where
    no page was written.
    """

    pipeline: str
    status: Status
    message: str
    run_id: str | None = None
    seconds: float = 0.0
    tables: tuple[TableRun, ...] = ()
    warnings: tuple[str, ...] = ()
    report: str | None = None
    verdict: str | None = None
    origin: str | None = field(default_factory=read_origin)
    settings: str | None = None
    """The set of Spark settings that the run took: small, big, or standing for one of a stream; None where
    Spark was not started.
    """

    @property
    def blocked(self) -> tuple[BlockedTable, ...]:
        """What this run blocked."""
        return tuple(table.blocked for table in self.tables if table.blocked)

    @property
    def totals(self) -> Totals:
        return add_up((table.table, table.counts, table.late_kept) for table in self.tables)

    @property
    def exit_code(self) -> int:
        return EXIT_CODES[self.status]

    def as_dict(self) -> dict[str, Any]:
        return {
            "pipeline": self.pipeline,
            "run_id": self.run_id,
            "status": self.status.value,
            "exit_code": self.exit_code,
            "message": self.message,
            "seconds": round(self.seconds, 2),
            "warnings": list(self.warnings),
            "tables": [table.as_dict() for table in self.tables],
            "report": self.report,
            "verdict": self.verdict,
            "blocked": [entry.as_dict() for entry in self.blocked],
            "origin": self.origin,
            "settings": self.settings,
        }
