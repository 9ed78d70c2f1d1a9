"""The few totals of a run, for the terminal, the page and the list of runs: added up here alone, so that they say the same."""

from collections.abc import Iterable
from dataclasses import dataclass

from spark_jobs.lake.counts import Counts


@dataclass(frozen=True)
class Totals:
    """`published` are rows of silver, `members` those of dimensions. `went_on` left quarantine or were parked no longer. `late_kept` came
    too late for a window and count in none; `late_repaired` came late and count.
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
        """Rows that readers do not get, or that count nowhere."""
        return self.quarantined + self.parked + self.late_kept


def add_up(tables: Iterable[tuple[str, Counts, int]]) -> Totals:
    """Of these tables: the name of each, what became of its rows, and how many late ones count nowhere."""
    known = [(name.partition(".")[0], counts, late_kept) for name, counts, late_kept in tables]
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
        late_repaired=sum(max(0, counts.late - late_kept) for layer, counts, late_kept in known if layer == "gold"),
        ties=sum(counts.ties for _, counts, _ in known),
    )
