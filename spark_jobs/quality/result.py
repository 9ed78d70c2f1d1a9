"""What one rule found in one batch, and what Great Expectations says of it as short text for the ledger."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from spark_jobs.config.expectations import Rule


@dataclass(frozen=True)
class RuleResult:
    """`rows` are those that the rule asked about and `failed` those that it holds nothing of; None where rows
    are not what it looks at.

    `observed` is what GX saw instead, as text. `problem` says why the rule could not be judged: then it is
    not met. `hidden` is what was observed where that may not be shown: it is written nowhere, and only tells
    one finding from another.
    """

    rule: Rule
    is_met: bool
    rows: int | None = None
    failed: int | None = None
    observed: str | None = None
    problem: str | None = None
    hidden: str | None = field(default=None, repr=False)


# What Great Expectations says, as short text for the ledger: one line, no control characters, no row's
# value in a problem.


LENGTH = 200
CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")
CONDITION = re.compile(r"\[([A-Z][A-Z0-9_.]*)\]\s*")
ABOUT_THE_RULE = (
    "UNRESOLVED_",
    "DATATYPE_MISMATCH",
    "TABLE_OR_VIEW_NOT_FOUND",
    "PARSE_SYNTAX_ERROR",
    "MISSING_",
    "INVALID_PARAMETER_VALUE",
)
"""Spark's errors that speak of names and types. All others may quote a value of the row
that they failed on.
"""


def observed_text(found: Mapping[str, Any]) -> str | None:
    """What GX observed, as text, cut at 200 characters. Of the distinct values of a column it gives counts
    alone.
    """
    if found.get("observed_value") is not None:
        return _short(str(found["observed_value"]))
    counts = [
        f"{found[name]} {word}"
        for name, word in (("unexpected_count", "not expected"), ("missing_count", "missing"))
        if name in found
    ]
    return ", ".join(counts) or None


def one_line(message: str) -> str:
    """The first line of an error that says something; of an error of Spark about a row only its name; quoted
    texts are left out.
    """
    condition = CONDITION.search(message)
    if condition and not condition[1].startswith(ABOUT_THE_RULE):
        return f"Spark: {condition[1]}"
    text = message[condition.start() :] if condition else message
    first = next((line.strip() for line in text.splitlines() if line.strip()), "it could not be evaluated")
    return _short(re.sub(r"'[^']*'", "'…'", first))


def _short(text: str) -> str:
    line = CONTROL.sub(" ", text).strip()
    return line if len(line) <= LENGTH else f"{line[: LENGTH - 1]}…"
