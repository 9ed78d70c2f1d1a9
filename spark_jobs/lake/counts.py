"""What became of the rows that entered a batch. The classes add up to the rows that came."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count

CLASSES = ("inserted", "updated", "deleted", "superseded", "duplicate", "quarantined", "parked", "filtered")


@dataclass(frozen=True)
class Counts:
    """One number per class of rows. `inserted` and `updated` are published; the others are not in the table.

    A row that leaves parked or quarantine counts there as -1 and once more where it went, so that the numbers
    of all batches add up to where the rows are now. `grown` (by how many rows the table grew), `late` (rows
    that came after their window closed) and `ties` (keys of which several versions had the same sequence and
    different content) are no classes.
    """

    rows_in: int = 0
    inserted: int = 0
    updated: int = 0
    deleted: int = 0
    superseded: int = 0
    duplicate: int = 0
    quarantined: int = 0
    parked: int = 0
    filtered: int = 0
    grown: int = 0
    late: int = 0
    ties: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))

    @property
    def published(self) -> int:
        return self.inserted + self.updated

    @property
    def missing(self) -> int:
        """Rows that entered and were not accounted for: anything but 0 is a defect."""
        accounted_for: int = sum(getattr(self, name) for name in CLASSES)
        return self.rows_in - accounted_for

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    @classmethod
    def of_row(cls, row: Mapping[str, Any]) -> Self:
        """From a row of the ledger."""
        return cls(**{f.name: row.get(f.name) or 0 for f in fields(cls)})


# The few totals of a run, for the terminal, the page and the list of runs: added up here alone, so that they
# say the same.


@dataclass(frozen=True)
class Totals:
    """`published` are rows of silver, `members` those of dimensions. `went_on` left quarantine or were parked
    no longer. `late_kept` came too late for at least one window, which does not count them; `late_repaired`
    came late and count.
    """

    records: int = 0
    files_unreadable: int = 0
    published: int = 0
    members: int = 0
    quarantined: int = 0
    parked: int = 0
    went_on: int = 0
    late_kept: int = 0
    late_repaired: int = 0
    ties: int = 0

    @property
    def set_aside(self) -> int:
        """Rows that readers do not get, or that came too late for a window."""
        return self.quarantined + self.parked + self.late_kept


def add_up(tables: Iterable[tuple[str, Counts, int]]) -> Totals:
    """Of these tables: the name of each, what became of its rows, and how many late ones do not count where
    they came too late.
    """
    known = [(TableName(name).layer, counts, late_kept) for name, counts, late_kept in tables]
    middle = [counts for layer, counts, _ in known if layer in ("silver", "dimension")]
    classes = [value for counts in middle for value in (counts.quarantined, counts.parked)]
    return Totals(
        records=sum(counts.inserted for layer, counts, _ in known if layer == "bronze"),
        files_unreadable=sum(max(0, counts.quarantined) for layer, counts, _ in known if layer == "bronze"),
        published=sum(counts.published for layer, counts, _ in known if layer == "silver"),
        members=sum(counts.published for layer, counts, _ in known if layer == "dimension"),
        quarantined=sum(max(0, counts.quarantined) for counts in middle),
        parked=sum(max(0, counts.parked) for counts in middle),
        went_on=-sum(min(0, value) for value in classes),
        late_kept=sum(late_kept for _, _, late_kept in known),
        late_repaired=sum(
            max(0, counts.late - late_kept) for layer, counts, late_kept in known if layer == "gold"
        ),
        ties=sum(counts.ties for _, counts, _ in known),
    )


# Shares of rows that a person should not miss: all of them set aside, or far more than before. Numbers enter,
# sentences leave.

LEAST_ROWS = 20
"""A share of fewer rows says little."""
LEAST_SHARE = 0.05
TIMES = 3
"""A share that is so many times the one before has jumped."""
UNREADABLE = "cannot be read"
"""Of files, and below of rows: the words by which a sentence about a share is known."""
WORDS = {
    "quarantined": "quarantined",
    "parked": "parked",
    "late": "too late for a window or state, and not counted there",
}


def is_all_set_aside(table: str, counts: Counts, late_kept: int) -> bool:
    """Whether rows came and readers get none of them, because all are in quarantine, or too late for
    a window; of bronze whether files came of which none can be read.
    """
    if TableName(table).is_gold:
        return late_kept >= counts.rows_in > 0  # a window that they touch is written again as it was
    if TableName(table).is_bronze:
        return 0 < counts.rows_in == counts.quarantined
    return (
        TableName(table).has_keys
        and 0 < counts.rows_in == counts.quarantined + counts.filtered > counts.filtered
    )


def find_alarms(
    table: str, counts: Counts, late_kept: int, before: Counts, late_kept_before: int
) -> Iterator[str]:
    """Sentences about one table in one run; `before` is what became of its rows until then."""
    rows, rows_before = counts.rows_in, before.rows_in
    if is_all_set_aside(table, counts, late_kept):
        if TableName(table).is_bronze:
            yield f"{table}: no record was read: {count(counts.quarantined, 'file')} {UNREADABLE}"
            return
        what = "late" if TableName(table).is_gold else "quarantined"
        kept = late_kept if what == "late" else counts.quarantined
        came = f"all {count(kept, 'row')} that came are" if kept > 1 else "the one row that came is"
        yield f"{table}: {came} {WORDS[what]}" + ("" if what == "late" else ": none is published")
        return
    pairs = {
        "quarantined": (counts.quarantined, before.quarantined),
        "parked": (counts.parked, before.parked),
    }
    pairs |= {"late": (late_kept, late_kept_before)}
    for what, (now, then) in pairs.items():
        if TableName(table).is_in("bronze", "sink") or rows < LEAST_ROWS or rows_before < LEAST_ROWS:
            return
        share, share_before = now / rows, max(0, then) / rows_before
        if share >= LEAST_SHARE and share >= TIMES * share_before:
            yield (
                f"{table}: {share:.1%} of the rows are {WORDS[what]} ({now:,} of {rows:,}); before it was"
                f" {share_before:.1%}"
            )
