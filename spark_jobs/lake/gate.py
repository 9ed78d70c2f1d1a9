"""What stands before every publish: a batch shows its gate exactly the rows that readers would see next, and
goes on only if it may.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.columns import OF_PROCESSING
from spark_jobs.config.expectations import Rule
from spark_jobs.lake.json_text import WHOLE_JSON

FINGERPRINT_LENGTH = 24


@dataclass(frozen=True)
class Candidate:
    """The rows that are about to be published, their number, and the table as it will be with them: built
    only where a rule asks for it.

    `asked` are the rows that the rules for single rows were asked about, and `failed` how many of them each
    rule has set aside. With `has_older`, some rows were there before and need not meet the rules for single
    rows of today. `removes` says whether rows go that readers see; it is asked only where none is published.
    `ended` are the members that a snapshot ends, and those that stood before it.
    `changes` are the rows with those that go, where the batch knows them, and `about` is what else tells one
    batch from another: both only make the fingerprint.
    """

    rows: DataFrame
    count: int
    whole: Callable[[], DataFrame]
    asked: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    has_older: bool = False
    removes: Callable[[], bool] = lambda: False
    changes: DataFrame | None = None
    ended: tuple[int, int] | None = None
    about: str = ""

    def fingerprint(self) -> str:
        """The same for the same content, in whatever order its rows come and whenever it is processed."""
        frame = self.rows if self.changes is None else self.changes
        told = [F.col(f"`{name}`") for name in sorted(frame.columns) if name not in OF_PROCESSING]
        row = F.xxhash64(F.to_json(F.struct(*told), WHOLE_JSON))
        found = frame.agg(F.count(F.lit(1)), F.sum(row.cast("decimal(20,0)")), F.bit_xor(row)).collect()[0]
        return hashlib.sha256(repr((*found, self.about)).encode()).hexdigest()[:FINGERPRINT_LENGTH]


class Gate(Protocol):
    """The gate of one batch: the rules that it is judged by, and what it was blocked for if a person has set
    it aside.
    """

    @property
    def rules(self) -> tuple[Rule, ...]: ...
    @property
    def blocked_for(self) -> tuple[str, ...]: ...
    def judge(self, candidate: Candidate) -> None: ...


@dataclass(frozen=True)
class OpenGate:
    """The gate of a table without rules."""

    rules: tuple[Rule, ...] = ()
    blocked_for: tuple[str, ...] = ()

    def judge(self, candidate: Candidate) -> None:
        """Nothing to ask."""


def row_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that set single rows aside."""
    return tuple(rule for rule in rules if rule.on_fail == "quarantine")
