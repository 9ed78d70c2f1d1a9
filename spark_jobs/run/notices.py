"""What a person should know of a table's batches, gathered while they run and said once when the table is
done.

Of one rule there is one line however many batches it judged, and of many files or fields the first, how many
there are more, and where all of them are listed. Nothing here grows with the number of batches.
"""

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from spark_jobs.bronze.drift import Drift, describe_drift
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.landing.skipped import LISTED, say_more
from spark_jobs.quality.result import RuleResult
from spark_jobs.run.quality_gate import say_finding

# Ties in words: keys of which several versions have the same sequence and say different things. Somebody must
# hear of them.

WINS = {
    "hash": (
        "a hash of their content decided (a delete wins over others); `ties: newest_arrival` lets the one"
        " that arrived last win, and a column in sequence_by that differs ends the tie"
    ),
    "newest_arrival": "the one that arrived last won",
}


def say_ties(pipeline: Pipeline, table: str, keys: int) -> str:
    """What a run says of the ties of one table."""
    layer, name = TableName(table).parts
    if layer == "dimension":
        sequence, ties = pipeline.dimensions[name].sequence, pipeline.dimensions[name].ties
    else:
        sequence, ties = pipeline.silver[name].sequence, pipeline.silver[name].ties
    many = count(keys, "key has", "keys have")
    return f"{table}: {many} versions with the same {', '.join(sequence)} and different content: {WINS[ties]}"


CORRECTION = "reenrich"
"""How the steps begin that judge rows once more which are in the table already."""

Named = Sequence[tuple[str, str]]
"""Paths, each with its reason."""


@dataclass
class _Finding:
    """What one rule has found so far. Rows that are judged once more, because a dimension moved, are no
    further rows.
    """

    newest: RuleResult
    missed: RuleResult | None = None
    again: RuleResult | None = None
    rows: int = 0
    failed: int = 0

    def add(self, step: str, result: RuleResult) -> None:
        self.newest = result
        if step.startswith(CORRECTION):
            self.again = result
            return
        self.rows, self.failed = self.rows + (result.rows or 0), self.failed + (result.failed or 0)
        self.missed = self.missed if result.is_met else result

    def unmet(self) -> RuleResult | None:
        """Of a whole table the newest judgement counts; of batches all of them together."""
        if self.newest.rule.scope == "table":
            return None if self.newest.is_met else self.newest
        if self.missed is None:
            return self.again if self.again and not self.again.is_met else None
        has_rows = self.missed.failed is not None and self.missed.problem is None
        return replace(self.missed, rows=self.rows, failed=self.failed) if has_rows else self.missed


@dataclass
class _Table:
    findings: dict[str, _Finding] = field(default_factory=dict)
    drift: list[Drift] = field(default_factory=list)
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    unreadable_count: int = 0
    empty: list[str] = field(default_factory=list)
    empty_count: int = 0


class Notices:
    """Told by the threads of all tables; what it has said of a table is forgotten."""

    def __init__(self, pipeline: str) -> None:
        self.pipeline = pipeline
        self._tables: dict[str, _Table] = {}
        self._lock = threading.Lock()

    def add_finding(self, table: str, step: str, result: RuleResult) -> None:
        with self._lock:
            self._table(table).findings.setdefault(result.rule.name, _Finding(result)).add(step, result)

    def add_drift(self, table: str, found: Sequence[Drift]) -> None:
        with self._lock:
            self._table(table).drift += found

    def add_files(self, table: str, unreadable: Named, empty: Sequence[str]) -> None:
        """Files that were taken and brought no record: those that cannot be read, and
        those that have none.
        """
        with self._lock:
            known = self._table(table)
            known.unreadable += unreadable[: LISTED - len(known.unreadable)]
            known.unreadable_count += len(unreadable)
            known.empty += empty[: LISTED - len(known.empty)]
            known.empty_count += len(empty)

    def say(self, table: str) -> list[str]:
        """The lines about a table that is done."""
        with self._lock:
            known = self._tables.pop(table, None)
        return list(self._lines(table, known)) if known else []

    def _lines(self, table: str, known: _Table) -> Iterator[str]:
        source = TableName(table).name
        yield from (f"{source}: {path!r} unreadable: {reason}" for path, reason in known.unreadable)
        if more := known.unreadable_count - len(known.unreadable):
            yield say_more(self.pipeline, source, "unreadable", known.unreadable_count)
        yield from (f"{source}: {path!r} empty: it has no record" for path in known.empty)
        if more := known.empty_count - len(known.empty):
            yield f"{source}: {count(more, 'more file')} empty ({known.empty_count:,} in all)"
        yield from describe_drift(known.drift, self.pipeline)
        for found in known.findings.values():
            if unmet := found.unmet():
                said = say_finding(unmet)
                yield (
                    f"{table}: {unmet.rule.name} is not met{f' ({said})' if said else ''}:"
                    f" {unmet.rule.reason}"
                )

    def _table(self, table: str) -> _Table:
        return self._tables.setdefault(table, _Table())
