"""What became of the rows that entered a batch. The classes add up to the rows that came."""

from dataclasses import asdict, dataclass, fields
from typing import Self


@dataclass(frozen=True)
class Counts:
    """One number per class of rows. `inserted` and `updated` are published; the others never reach the table."""

    rows_in: int = 0
    inserted: int = 0
    updated: int = 0
    superseded: int = 0
    duplicate: int = 0
    quarantined: int = 0
    filtered: int = 0

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    @property
    def published(self) -> int:
        return self.inserted + self.updated

    @property
    def missing(self) -> int:
        """Rows that entered and were not accounted for: anything but 0 is a defect."""
        return self.rows_in - self.published - self.superseded - self.duplicate - self.quarantined - self.filtered

    def as_dict(self) -> dict[str, int]:
        return asdict(self)

    @classmethod
    def of_classes(cls, rows_in: int, by_class: dict[str, int]) -> Self:
        """From the number of rows per class, as a group-by over a batch gives them, and the rows that came, counted apart from these."""
        return cls(rows_in=rows_in, **by_class)
