"""What a report says of what landed and of what was set aside, as plain data. Values of sensitive columns
never enter it.
"""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True)
class Sample:
    file: str
    line: int
    element: int
    value: str


@dataclass(frozen=True)
class ReasonFact:
    """Rows that stand in quarantine, or are parked, for one reason: all of them, and those that this run
    brought.
    """

    table: str
    place: str
    rule: str
    column: str
    open_rows: int
    new_rows: int
    samples: tuple[Sample, ...]


@dataclass(frozen=True)
class SourceFact:
    """The landed files of a source by verdict; `files` are those that this run took, None where that is not
    known. `empty`: taken ones without a single byte. `not_taken`: those that were refused or skipped, and
    about which nobody has decided since.
    """

    name: str
    path: str
    verdicts: dict[str, int]
    files: int | None
    empty: int = 0
    not_taken: int = 0


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
