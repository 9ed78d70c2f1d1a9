"""Versions of keyed rows in plain Python: which one is the newest, and when each of a customer's versions was
valid.
"""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.sample.oracle.decode import Row


@dataclass(frozen=True)
class Interval:
    row: Row
    valid_from: datetime
    valid_to: datetime | None


class ConflictError(ValueError):
    """Two versions that differ but have the same key and sequence: which wins is the engine's own choice, so
    no answer is true.
    """

    def __init__(self, one: Row, other: Row) -> None:
        super().__init__(
            f"same key and sequence, different content: {one} and {other}; give one of them another sequence"
            " value"
        )
        self.one, self.other = one, other


def newest(rows: Iterable[Row], key: tuple[str, ...], sequence: str) -> dict[Hashable, Row]:
    """Per key the row with the greatest sequence value."""
    kept: dict[Hashable, dict[Any, Row]] = defaultdict(dict)
    for row in rows:
        _add(kept[tuple(row[name] for name in key)], row, sequence)
    return {member: versions[max(versions)] for member, versions in kept.items()}


def intervals(rows: Iterable[Row], key: str, sequence: str) -> dict[Hashable, list[Interval]]:
    """Per key its versions in order, each from its own time to the next one's; versions that change nothing
    belong to the one before.
    """
    kept: dict[Hashable, dict[Any, Row]] = defaultdict(dict)
    for row in rows:
        _add(kept[row[key]], row, sequence)
    return {member: _history(versions, (key, sequence)) for member, versions in kept.items()}


def as_of(history: list[Interval], moment: datetime) -> Row | None:
    """The version that was valid at a moment."""
    place = bisect_right(history, moment, key=lambda interval: interval.valid_from)
    return history[place - 1].row if place else None


def _add(versions: dict[Any, Row], row: Row, sequence: str) -> None:
    """Keeps one row per sequence value: a repeated one changes nothing."""
    known = versions.setdefault(row[sequence], row)
    if known != row:
        raise ConflictError(known, row)


def _history(versions: dict[Any, Row], apart: tuple[str, ...]) -> list[Interval]:
    changes: list[Row] = []
    for row in (versions[at] for at in sorted(versions)):
        if not changes or _attributes(changes[-1], apart) != _attributes(row, apart):
            changes.append(row)
    starts = [row[apart[1]] for row in changes]
    return [
        Interval(row, start, end)
        for row, start, end in zip(changes, starts, [*starts[1:], None], strict=True)
    ]


def _attributes(row: Row, apart: tuple[str, ...]) -> Row:
    return {name: value for name, value in row.items() if name not in apart}
