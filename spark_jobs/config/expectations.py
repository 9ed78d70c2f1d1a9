"""What must hold for a table: the strict model of expectations/<pipeline>/<layer>.<table>.yml, and the rules
that the engine works with.

Types and arguments are Great Expectations' own. Whether they exist is checked where GX is installed
(quality/check.py); here nothing imports it.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, Self

from pydantic import Field

from spark_jobs.config.names import Model, Name

OnFail = Literal["quarantine", "tag", "warn", "block"]
Severity = Literal["critical", "warning", "info"]
Scope = Literal["batch", "table"]
READABLE = "readable"
"""The rule in the reasons of records that could not be told apart from their neighbours: no rule or
definition makes them readable.
"""
SET_ASIDE = "set aside"
"""The rule in the reasons of rows that a person put into quarantine with their whole batch; its value names
what the batch was blocked for.
"""
COLUMN_KEYS = ("column", "column_A", "column_B", "column_list", "column_set")
"""The arguments of GX's expectations that name columns."""
FAILED_RULES = "_failed_rules"
"""The column of a silver table in which its rules with `on_fail: tag` stand that a row does not meet."""


class Expectation(Model):
    """One expectation, by Great Expectations' own type and arguments."""

    type: str = Field(
        min_length=1,
        max_length=100,
        description="a Great Expectations type, as in expect_column_values_to_not_be_null",
    )
    kwargs: dict[str, Any] = Field(
        default_factory=dict, description="its arguments by their own names, as in {column: amount}"
    )
    on_fail: OnFail = Field(
        description=(
            "quarantine: the failing rows are set aside; tag: they are published with the rule's name in"
            " _failed_rules; warn: it is said; block: nothing of the batch is published"
        )
    )
    severity: Severity = Field("warning", description="how bad a failure is: critical, warning or info")
    reason: str = Field(
        min_length=1,
        max_length=500,
        description="in words, for the people who read the report: why it must hold",
    )
    scope: Scope = Field(
        "batch", description="batch: the rows about to be published; table: the table as it will be with them"
    )


class Expectations(Model):
    """One expectation file."""

    description: str = ""
    expectations: dict[Name, Expectation] = Field(
        min_length=1, description="name: {type:, kwargs:, on_fail:, reason:}"
    )


@dataclass(frozen=True)
class Rule:
    """An expectation with its name: what batches are judged by, and what the ledger keeps of it."""

    name: str
    type: str
    kwargs: Mapping[str, Any]
    on_fail: OnFail
    severity: Severity
    reason: str
    scope: Scope = "batch"

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it names, in the order of GX's arguments."""
        return tuple(name for _, name in named_columns(self.kwargs))

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of_dict(cls, known: Mapping[str, Any]) -> Self:
        return cls(**known)


def named_columns(kwargs: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Each column that an argument names, with its place in the arguments. What is no name is left to the
    check of the argument.
    """
    for key in COLUMN_KEYS:
        value = kwargs.get(key)
        if isinstance(value, str):
            yield (key,), value
        elif isinstance(value, list):
            yield from (((key, index), name) for index, name in enumerate(value) if isinstance(name, str))


def make_rules(expectations: Expectations) -> tuple[Rule, ...]:
    return tuple(
        Rule(name=name, **expectation.model_dump()) for name, expectation in expectations.expectations.items()
    )


def tagging(rules: Iterable[Rule]) -> tuple[Rule, ...]:
    """The rules whose names stand in the rows that do not meet them, in alphabetical order."""
    return tuple(sorted((rule for rule in rules if rule.on_fail == "tag"), key=lambda rule: rule.name))


def rules_version(rules: Iterable[Rule]) -> str:
    """A fingerprint of the rules: what quarantined rows and verdicts say they were judged by."""
    known = sorted((rule.as_dict() for rule in rules), key=lambda rule: str(rule["name"]))
    return hashlib.sha256(json.dumps(known, sort_keys=True).encode()).hexdigest()[:12]
