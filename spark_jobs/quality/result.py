"""What one rule found in one batch."""

from dataclasses import dataclass, field

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
