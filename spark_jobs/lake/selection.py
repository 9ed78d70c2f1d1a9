"""Which quarantined rows are meant. Written down with what is done to them, so that it means the same when it
is done again.

A row matches when all of these hold; what is not given holds for every row:
- rules: one of its reasons has one of these rules, by its name or its first words: `type` means `type
  bigint`, too;
- files: its file is one of these paths, or matches one of these globs, in which * and ? also match a slash;
- since, until: the UTC date on which it was first seen, both included;
- states: its state is one of these; a row without a state is open.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from functools import cached_property
from typing import Any, Self

OPEN, REPLAYED, DISCARDED = "open", "replayed", "discarded"
STATES = (OPEN, REPLAYED, DISCARDED)
"""open: it waits for a decision; replayed: it passed later and was published; discarded: a person decided to
leave it out.
"""


@dataclass(frozen=True)
class Selection:
    rules: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    since: date | None = None
    until: date | None = None
    states: tuple[str, ...] = (OPEN,)

    def matches_rule(self, rule: str | None) -> bool:
        return not self.rules or any(
            rule == wanted or str(rule).startswith(f"{wanted} ") for wanted in self.rules
        )

    def matches_file(self, file: str | None) -> bool:
        return not self.files or (
            file is not None and (file in self.files or self._file_regex.fullmatch(file) is not None)
        )

    @property
    def seen_from(self) -> datetime | None:
        """First seen at this time or later."""
        return _midnight(self.since)

    @property
    def seen_before(self) -> datetime | None:
        """First seen before this time; None where the day after `until` is beyond the calendar."""
        return _midnight(self.until + timedelta(days=1)) if self.until and self.until < date.max else None

    def covers(self, at: datetime) -> bool:
        """Whether a time lies on one of its days."""
        return (self.seen_from is None or at >= self.seen_from) and (
            self.seen_before is None or at < self.seen_before
        )

    @property
    def file_regex(self) -> str:
        """The globs as one regular expression, to be matched as a whole; Python, Java and
        RE2 read it alike.
        """
        return f"(?s)(?:{'|'.join(map(glob_regex, self.files))})"

    @cached_property
    def _file_regex(self) -> re.Pattern[str]:
        return re.compile(self.file_regex)

    def as_dict(self) -> dict[str, Any]:
        """For the ledger."""
        return {
            "rules": list(self.rules),
            "files": list(self.files),
            "since": self.since.isoformat() if self.since else None,
            "until": self.until.isoformat() if self.until else None,
            "states": list(self.states),
        }

    @classmethod
    def of_dict(cls, known: Mapping[str, Any]) -> Self:
        since, until = (
            date.fromisoformat(known[name]) if known[name] else None for name in ("since", "until")
        )
        return cls(tuple(known["rules"]), tuple(known["files"]), since, until, tuple(known["states"]))


def glob_regex(glob: str) -> str:
    parts = re.split(r"(\*+|\?)", glob)
    return "".join(
        ".*" if part.startswith("*") else "." if part == "?" else re.escape(part) for part in parts
    )


def _midnight(day: date | None) -> datetime | None:
    return datetime.combine(day, time(), UTC) if day else None
