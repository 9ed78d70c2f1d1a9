"""A blocked batch, as a person sees it: what it would publish, which rules failed, and what may be done about
it.
"""

import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Self

from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count

# What a person sees of a blocked batch: the content that it would publish, the rules that do not hold with
# what they found, and what it reads. A decision is about exactly that, and about nothing that takes its
# place.

RELEASE, ASIDE, HOLD, DISCARD = "release", "set_aside", "hold", "discard"
"""What a person may decide; `hold` leaves a batch as it is."""
ID_LENGTH, DIGEST_LENGTH = 10, 16
DIGITS = 9
"""A mean of doubles may differ in its last digits when it is computed again."""


@dataclass(frozen=True)
class Finding:
    """What a blocking rule found that does not hold. `digest` tells findings apart whose `observed` is masked
    (see hide).
    """

    rule: str
    rows: int | None = None
    failed: int | None = None
    observed: str | None = None
    digest: str | None = None

    @property
    def steady(self) -> tuple[Any, ...]:
        """The same for the same finding, computed again; without a digest as it was before there were any."""
        return (
            self.rule,
            self.rows,
            self.failed,
            _rounded(self.observed),
            *([self.digest] if self.digest else []),
        )

    def describe(self) -> str:
        return count(self.failed, "row") if self.failed is not None else str(self.observed)


@dataclass(frozen=True)
class Grounds:
    """`content` is a fingerprint of the rows that a batch publishes and removes, `rows` the number of those
    that it publishes, and `inputs` are the versions that it reads: they only help to say what has changed.
    """

    content: str
    rows: int
    findings: tuple[Finding, ...]
    inputs: Mapping[str, Any] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """By which a command or a form names what was seen."""
        known = json.dumps(
            [self.content, sorted(map(list, (found.steady for found in self.findings)), key=repr)]
        )
        return hashlib.sha256(known.encode()).hexdigest()[:ID_LENGTH]

    def covers(self, now: "Grounds") -> bool:
        """Whether a decision about these holds for those of now: the same content, and no other finding."""
        return self.content == now.content and {found.steady for found in now.findings} <= {
            found.steady for found in self.findings
        }

    def changes_to(self, now: "Grounds") -> str:
        """What is another now, in words and without any row's value but what rules observed."""
        before = {found.rule: found for found in self.findings}
        said = [] if self.rows == now.rows else [f"{count(self.rows, 'row')} then, {now.rows:,} now"]
        for found in now.findings:
            known = before.get(found.rule)
            if known is None:
                said.append(f"{found.rule} did not fail then")
            elif known.steady != found.steady:
                said.append(f"{found.rule}: {known.describe()} then, {found.describe()} now")
        if self.content != now.content and not said:
            said.append("other rows")
        moved = [
            name for name in {**self.inputs, **now.inputs} if self.inputs.get(name) != now.inputs.get(name)
        ]
        return "; ".join([*said, *([f"changed since: {', '.join(sorted(moved))}"] if moved else [])])

    def as_json(self) -> str:
        return json.dumps({**asdict(self), "inputs": dict(self.inputs)}, sort_keys=True)

    @classmethod
    def of_json(cls, text: str | None) -> Self | None:
        """None for what an earlier version of Weir has written, which kept none."""
        if text is None:
            return None
        known = json.loads(text)
        return cls(
            known["content"],
            known["rows"],
            tuple(Finding(**found) for found in known["findings"]),
            known["inputs"],
        )


def hide(observed: str | None, content: str) -> str | None:
    """What stands for a value that may not be shown. It takes in the content, which no log or form shows:
    from there it is not guessed.
    """
    return (
        None
        if observed is None
        else hashlib.sha256(f"{content} {_rounded(observed)}".encode()).hexdigest()[:DIGEST_LENGTH]
    )


def _rounded(observed: str | None) -> str | None:
    """Whole numbers are exact, and so is text."""
    if observed is not None and observed.removeprefix("-").isdigit():
        return observed
    try:
        return f"{float(str(observed)):.{DIGITS}g}"
    except ValueError:
        return observed


# What may be done about a blocked batch: decided here, once. Who blocks a batch writes its actions to the
# ledger (states.py). The terminal, the report, `weir status` and Airflow read them, so that nobody offers
# what is refused.

HAS_ROWS_OF_ITS_OWN = ("stream", "unpark", "release", "replay")
"""Steps whose rows can be put into quarantine. What others publish is made of rows that are in tables
already. In the ledger of an older Weir `release` is what `unpark` is now.
"""


class Way(NamedTuple):
    """One way on, and its command."""

    what: str
    command: str


def allowed_actions(table: str, step: str) -> tuple[str, ...]:
    """What a person may decide about a blocked batch of this table and step."""
    can_set_aside = not TableName(table).is_gold and step in HAS_ROWS_OF_ITS_OWN
    return (RELEASE, ASIDE, HOLD) if can_set_aside else (RELEASE, HOLD)


def ways_on(pipeline: str, table: str, seen: str | None, actions: Collection[str]) -> list[Way]:
    """How to go on with a blocked batch. One whose grounds are not known cannot be decided about: the next
    run judges it again.
    """
    rules = f"expectations/{pipeline}/{table}.yml"
    ways = [
        Way(
            f"fix the source data of {table}, or its rules in {rules}, then run again", f"weir run {pipeline}"
        )
    ]
    about = f'{pipeline} {table} --seen {seen} --reason "..."'
    if seen and RELEASE in actions:
        ways.append(Way("publish the batch anyway", f"weir release {about}"))
    if seen and ASIDE in actions:
        ways.append(Way("put its rows into quarantine", f"weir set-aside {about}"))
    return ways
