"""One delivery of the sample: the first load (increment 0) or a later increment, how much of everything it
holds, and which ids are odd.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from spark_jobs.sample import MAX_INCREMENT, MAX_ORDERS, MIN_ORDERS
from spark_jobs.sample.draws import BASE_MS, DAY_MS, HOUR_MS, Ids, one_below, scatter

FIRST_DAYS = 30
INCREMENT_HOURS = 6
NEW_PER_CYCLE, CYCLE = 13, 20
DEFECTS = ("cents", "stuck")
"""What a whole delivery of orders may have wrong. cents: amounts in cents instead of euros; stuck: all were
ordered at one moment.
"""


@dataclass(frozen=True)
class Delivery:
    orders: int
    seed: int
    increment: int
    defect: str | None = None

    def __post_init__(self) -> None:
        if not MIN_ORDERS <= self.orders <= MAX_ORDERS:
            raise ValueError(f"orders is {self.orders}; allowed are {MIN_ORDERS} to {MAX_ORDERS}")
        if not 0 <= self.increment <= MAX_INCREMENT:
            raise ValueError(
                f"increment is {self.increment}; allowed are 0 (the first load) to {MAX_INCREMENT}"
            )
        if self.defect is not None and self.defect not in DEFECTS:
            raise ValueError(f"defect is {self.defect!r}; allowed are {' and '.join(DEFECTS)}")

    @property
    def start_ms(self) -> int:
        """Where its new events start; the first load starts at the base."""
        return (
            BASE_MS
            if self.increment == 0
            else BASE_MS + FIRST_DAYS * DAY_MS + (self.increment - 1) * INCREMENT_HOURS * HOUR_MS
        )

    @property
    def span_ms(self) -> int:
        return FIRST_DAYS * DAY_MS if self.increment == 0 else INCREMENT_HOURS * HOUR_MS

    @property
    def new_orders(self) -> int:
        return self.orders if self.increment == 0 else self.later_lines // CYCLE * NEW_PER_CYCLE

    @property
    def later_lines(self) -> int:
        """Order lines of every later delivery: a tenth, in whole cycles."""
        return max(100, self.orders // 10 // CYCLE * CYCLE)

    @property
    def orders_before(self) -> int:
        """Orders that are new in earlier deliveries: their ids are 1 to this."""
        return 0 if self.increment == 0 else self.orders + (self.increment - 1) * self.new_orders

    @property
    def customers(self) -> int:
        return max(50, self.orders // 20)

    @property
    def products(self) -> int:
        return min(5000, max(20, self.orders // 200))

    @property
    def clicks(self) -> int:
        return max(100, self.orders // (4 if self.increment == 0 else 40))

    def at(self, increment: int) -> "Delivery":
        """Another delivery of the same company, without a defect."""
        return Delivery(self.orders, self.seed, increment)

    def per_kind(self, size: int) -> int:
        """How often each kind of dirt comes among `size` rows: a little in the first load, more in later
        ones.
        """
        return max(1, size // (1000 if self.increment == 0 else 100))


@dataclass(frozen=True)
class FileTask:
    """Lines start to stop of one part of a delivery, as one file below the landing root."""

    delivery: Delivery
    part: str
    path: str
    start: int
    stop: int


@dataclass(frozen=True)
class FileText:
    """The text of a file, how many records it holds (blank lines are none), and how many of each kind."""

    text: str
    records: int
    kinds: Counter[str]


@dataclass(frozen=True)
class SampleSummary:
    """What was written. records: per folder; kinds: '<source>.<kind>', as in 'orders.cut_json'."""

    files: tuple[Path, ...]
    bytes: int
    records: dict[str, int]
    kinds: dict[str, int]

    @property
    def order_records(self) -> int:
        return self.records["retail/orders"]


def kind_places(
    delivery: Delivery, what: str, ordinals: Ids, size: int, kinds: Sequence[str]
) -> tuple[Ids, Ids]:
    """For each ordinal the index of its kind (-1: clean) and which one of this kind it is. Every kind comes
    equally often.
    """
    each = delivery.per_kind(size)
    places = scatter(ordinals, size, one_below(size, delivery.seed, f"{what} kinds", delivery.increment))
    return np.where(places < each * len(kinds), places // each, -1), places % each
