"""What became of the rows that entered a batch. The classes add up to the rows that came."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self

CLASSES = ("inserted", "updated", "deleted", "superseded", "duplicate", "quarantined", "parked", "filtered")


@dataclass(frozen=True)
class Counts:
    """One number per class of rows. `inserted` and `updated` are published; the others are not in the table.

    A row that leaves parked or quarantine counts there as -1 and once more where it went, so that the numbers of all batches add up to
    where the rows are now. `grown` (by how many rows the table grew), `late` (rows that came after their window closed) and `ties` (keys of
    which several versions had the same sequence and different content) are no classes.
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
