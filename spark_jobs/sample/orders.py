"""Which orders a delivery's lines hold, and what each is: a new order, or an earlier one again: corrected,
moved, stale or repeated.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from spark_jobs.sample.delivery import CYCLE, NEW_PER_CYCLE, Delivery, kind_places
from spark_jobs.sample.draws import DAY_MS, HOUR_MS, MINUTE_MS, Ids, below, one_below, scatter

MAX_ITEMS = 3
STATUSES = ("new", "paid", "packed", "shipped", "returned")
LATE_MEMBERS = 1000  # at most so many customers and products of a delivery arrive with the next one

# Kinds that belong to the order: every version of it has them.
LASTING = (
    "late",
    "unknown_customer",
    "late_customer",
    "unknown_product",
    "late_product",
    "empty_items",
    "no_items",
    "no_payment",
)
SHAPES = ("extra_fields", "text_numbers", "offset_time", "odd_scale")
# Mistakes of one line: a later version of the order is right.
MISFITS = (
    "future_time",
    "null_time",
    "null_key",
    "null_sequence",
    "cut_json",
    "glued_json",
    "wrong_amount",
    "wrong_id",
    "wrong_quantity",
)
# they fit their types; only the expectations tell that they are wrong
BROKEN_RULES = ("negative_amount", "odd_status", "zero_quantity")
MISTAKES = MISFITS + BROKEN_RULES
KINDS = LASTING + SHAPES + MISTAKES
FIRST_MISTAKE = len(LASTING + SHAPES)

ROLES = ("new", "correction", "moved", "stale", "duplicate")
NEW, CORRECTION, MOVED, STALE, DUPLICATE = range(len(ROLES))
FIRST_ROLES = np.array([NEW] * 96 + [CORRECTION, MOVED, STALE, DUPLICATE])
LATER_ROLES = np.array([NEW] * NEW_PER_CYCLE + [CORRECTION] * 2 + [MOVED] * 2 + [STALE] + [DUPLICATE] * 2)
assert len(LATER_ROLES) == CYCLE


@dataclass(frozen=True)
class Orders:
    """Columns of equal length; items are MAX_ITEMS wide, of which the first item_count hold."""

    ids: Ids
    kind: Ids
    nth: Ids  # which one of its kind
    increment: Ids  # the delivery that it is new in
    ordered_ms: Ids
    updated_ms: Ids
    customer: Ids
    status: Ids
    item_count: Ids
    product: Ids
    quantity: Ids


def line_count(delivery: Delivery) -> int:
    if delivery.increment:
        return delivery.later_lines
    cycles, rest = divmod(delivery.orders, int((FIRST_ROLES == NEW).sum()))
    return cycles * len(FIRST_ROLES) + rest


def orders_of_lines(delivery: Delivery, start: int, stop: int) -> tuple[NDArray[np.int64], Orders]:
    """The role and the order of each line of a delivery."""
    cycle = LATER_ROLES if delivery.increment else FIRST_ROLES
    lines = np.arange(start, stop, dtype=np.int64)
    place = lines % len(cycle)
    role = cycle[place]
    per_cycle = np.bincount(cycle, minlength=len(ROLES))
    rank = np.array([int((cycle[:at] == cycle[at]).sum()) for at in range(len(cycle))])
    ordinal = lines // len(cycle) * per_cycle[role] + rank[place]
    return role, _revise(delivery, role, draw_orders(delivery, _ids(delivery, role, ordinal)))


def draw_orders(delivery: Delivery, ids: Ids) -> Orders:
    """The orders of these ids as they are when new, whichever delivery they are new in."""
    seed, n = delivery.seed, len(ids)
    kind, nth, ordered_ms = (np.zeros(n, dtype=np.int64) for _ in range(3))
    increment = np.where(
        ids <= delivery.orders, 0, (ids - delivery.orders - 1) // delivery.at(1).new_orders + 1
    )
    for number in np.unique(increment).tolist():
        here, origin = increment == number, delivery.at(number)
        ordinals = ids[here] - origin.orders_before - 1
        kind[here], nth[here] = kind_places(origin, "orders", ordinals, origin.new_orders, KINDS)
        ordered_ms[here] = origin.start_ms + ordinals * origin.span_ms // origin.new_orders
    ordered_ms += below(20 * MINUTE_MS, seed, "ordered", ids)
    ordered_ms -= np.where(kind == KINDS.index("late"), 2 * DAY_MS + below(7 * DAY_MS, seed, "late", ids), 0)
    slots = ids[:, None] * MAX_ITEMS + np.arange(MAX_ITEMS)
    popular = np.minimum(
        below(delivery.products, seed, "product", slots), below(delivery.products, seed, "popular", slots)
    )
    return Orders(
        ids, kind, nth, increment, ordered_ms,
        updated_ms=ordered_ms + MINUTE_MS + below(30 * MINUTE_MS, seed, "updated", ids),
        customer=1 + below(delivery.customers, seed, "customer", ids),
        status=below(3, seed, "status", ids),
        item_count=np.array([1, 1, 1, 1, 1, 1, 2, 2, 2, 3])[below(10, seed, "items", ids)],
        product=1 + popular,
        quantity=1 + below(4, seed, "quantity", slots),
    )  # fmt: skip


def _ids(delivery: Delivery, role: Ids, ordinal: Ids) -> Ids:
    """New orders take the next ids, the other roles earlier ones: an order is corrected at most once and
    stale at most once a delivery.
    """
    pool = delivery.orders_before or delivery.orders
    offset = one_below(pool, delivery.seed, "revised", delivery.increment)
    corrected = np.where(role == CORRECTION, 2 * ordinal, 2 * ordinal + 1)
    earlier = 1 + scatter(np.where(np.isin(role, (CORRECTION, MOVED)), corrected, ordinal), pool, offset)
    ids = np.where(role == NEW, delivery.orders_before + 1 + ordinal, earlier)
    ids[role == DUPLICATE] = _next_right(delivery, ids[role == DUPLICATE], pool)
    return ids


def _next_right(delivery: Delivery, ids: Ids, pool: int) -> Ids:
    """The ids, or the next ones without a mistake: a copy of a broken line would be one more broken line, not
    a duplicate.
    """
    while (mistaken := draw_orders(delivery, ids).kind >= FIRST_MISTAKE).any():
        ids = np.where(mistaken, ids % pool + 1, ids)
    return ids


def _revise(delivery: Delivery, role: Ids, orders: Orders) -> Orders:
    """Versions of an order differ in updated_at, one step per delivery, so that no two with the same
    updated_at differ in content.
    """
    is_later, is_stale = np.isin(role, (CORRECTION, MOVED)), role == STALE
    step = delivery.increment + 1
    hours = 1 + below(5, delivery.seed, f"moved {step}", orders.ids)
    forward = below(2, delivery.seed, f"forward {step}", orders.ids) * 2 - 1
    quantity = orders.quantity.copy()
    quantity[:, 0] += is_later * 1 + is_stale * 2
    return replace(
        orders,
        kind=np.where((is_later | is_stale) & (orders.kind >= FIRST_MISTAKE), -1, orders.kind),
        ordered_ms=orders.ordered_ms + np.where(role == MOVED, hours * forward * HOUR_MS, 0),
        updated_ms=orders.updated_ms
        + np.where(is_later, step * HOUR_MS, 0)
        - np.where(is_stale, step * MINUTE_MS, 0),
        status=np.where(
            is_later, np.minimum(orders.status + 2, len(STATUSES) - 1), np.where(is_stale, 0, orders.status)
        ),
        quantity=quantity,
    )
