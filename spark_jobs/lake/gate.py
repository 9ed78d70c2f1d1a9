"""What stands before every publish: a batch shows its gate exactly the rows that readers would see next, and goes on only if it may."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from pyspark.sql import DataFrame

from spark_jobs.config.expectations import Rule


@dataclass(frozen=True)
class Candidate:
    """The rows that are about to be published, their number, and the table as it will be with them: built only where a rule asks for it.

    `asked` are the rows that the rules for single rows were asked about, and `failed` how many of them each rule has set aside. With
    `has_older`, some rows were there before and need not meet the rules for single rows of today.
    """

    rows: DataFrame
    count: int
    whole: Callable[[], DataFrame]
    asked: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    has_older: bool = False


class Gate(Protocol):
    """The gate of one batch: the rules that it is judged by, and what it was held for if a person has set it aside."""

    @property
    def rules(self) -> tuple[Rule, ...]: ...
    @property
    def held_for(self) -> tuple[str, ...]: ...
    def judge(self, candidate: Candidate) -> None: ...


@dataclass(frozen=True)
class OpenGate:
    """The gate of a table without rules."""

    rules: tuple[Rule, ...] = ()
    held_for: tuple[str, ...] = ()

    def judge(self, candidate: Candidate) -> None:
        """Nothing to ask."""


def row_rules(rules: tuple[Rule, ...]) -> tuple[Rule, ...]:
    """The rules that set single rows aside."""
    return tuple(rule for rule in rules if rule.on_fail == "quarantine")
