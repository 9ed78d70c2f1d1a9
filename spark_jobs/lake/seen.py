"""How far a feed has come in event time: what closes windows. Kept per batch in the ledger, folded here.

Rows that fit their columns move it, whatever rules, lookups or people say of them: it is a function of the
records. A NULL or a future event time fits no column and never does.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Self


@dataclass(frozen=True)
class Seen:
    """The greatest event time of a silver table's rows, the same as of the last close mark, and the last
    chunk of arrivals. A sink has seen its table up to a version. `records`: how many of bronze one batch has
    read.
    """

    high: datetime | None = None
    closed_until: datetime | None = None
    chunk: int | None = None
    version: int | None = None
    records: int | None = None

    def marks_after(self, marks: Sequence[int]) -> tuple[int, ...]:
        """The close marks that came after the last chunk that was seen."""
        return tuple(mark for mark in marks if self.chunk is None or mark > self.chunk)

    def closed(self, marks: Sequence[int]) -> "Seen":
        """As it stands with these close marks: a mark behind the last chunk closes
        everything that was seen.
        """
        return Seen(self.high, self.high, self.chunk) if self.high and self.marks_after(marks) else self


@dataclass(frozen=True)
class Watermark:
    """What is closed: windows that end at `until` or before, and those that start at `closed_until` or
    before.
    """

    until: datetime | None = None
    closed_until: datetime | None = None

    @classmethod
    def of(cls, seen: Seen, delay: timedelta) -> Self:
        try:
            return cls(seen.high - delay if seen.high else None, seen.closed_until)
        except OverflowError:  # a delay of thousands of years: nothing is ever closed by it
            return cls(None, seen.closed_until)

    def as_list(self) -> list[str | None]:
        """For the ledger."""
        return [at.isoformat() if at else None for at in (self.until, self.closed_until)]

    @classmethod
    def from_list(cls, values: Sequence[str | None] | None) -> Self:
        return cls(*(datetime.fromisoformat(value) if value else None for value in values or (None, None)))
