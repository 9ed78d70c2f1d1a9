"""Customers: members first, then changes. Some return to what they were, some versions change nothing, some
change the past.
"""

from collections import Counter

import numpy as np

from spark_jobs.sample.csv_text import Row, csv_file
from spark_jobs.sample.delivery import INCREMENT_HOURS, Delivery, FileText
from spark_jobs.sample.draws import (
    BASE_MS,
    DAY_MS,
    HOUR_MS,
    SECOND_MS,
    Ids,
    below,
    one_below,
    scatter,
    time_texts,
)
from spark_jobs.sample.order_text import late_customer
from spark_jobs.sample.orders import LATE_MEMBERS

COLUMNS = ("customer_id", "city", "segment", "email", "changed_at")
MEMBER_ORDER = (0, 1, 2, 3, 4)
CHANGE_ORDER = (2, 0, 5, 1, 3, 4)
CITIES = ("Berlin", "Graz", "Linz", "Lyon", "Oslo", "Porto", "Riga", "Zürich", "Washington, D.C.", "")
SEGMENTS = ("home", "shop", "office", "school")
# One customer in ten has an address that cannot be right, some of them hostile to whoever shows them
# unescaped.
ODD_EMAILS = (
    "nobody",
    "two@@example.com",
    "<script>alert('mail')</script>",
    "=cmd|'/C calc'!A1",
    "spaces in@example.com",
    "@example.com",
)


def member_file(delivery: Delivery, start: int, stop: int) -> FileText:
    """The first version of customers start + 1 to stop. One in twenty joins after the base: its earlier
    orders find no customer.
    """
    ids = np.arange(start, stop, dtype=np.int64) + 1
    return csv_file(COLUMNS, MEMBER_ORDER, _rows(delivery, ids, 0, _first_ms(delivery, ids)), Counter())


def change_count(delivery: Delivery) -> int:
    return delivery.customers if delivery.increment == 0 else max(12, delivery.customers // 20)


def change_file(delivery: Delivery, start: int, stop: int) -> FileText:
    """Changes number start to stop of a delivery; the first file holds its defects and the members that come
    late as well.
    """
    make = _later_changes if delivery.increment else _first_changes
    rows, kinds = make(delivery, np.arange(start, stop, dtype=np.int64))
    if start == 0 and delivery.increment:
        late = _late_members(delivery)
        rows, kinds = rows + late, kinds + Counter(late_member=len(late))
    return csv_file(
        COLUMNS, CHANGE_ORDER, rows, kinds, delivery.per_kind(change_count(delivery)) if start == 0 else 0
    )


def _first_changes(delivery: Delivery, ordinals: Ids) -> tuple[list[Row], Counter[str]]:
    """The first load: each fifth customer changes, some of them back again; for each seventh a version
    arrives that changes nothing.
    """
    ids = ordinals + 1
    second_ms = BASE_MS + 6 * DAY_MS + below(5 * 86_400, delivery.seed, "second", ids) * SECOND_MS
    changed, back, same = ids % 5 == 0, ids % 25 == 0, ids % 7 == 1
    rows = _rows(delivery, ids[changed], 1, second_ms[changed])
    rows += _rows(delivery, ids[back], 0, second_ms[back] + 6 * DAY_MS)
    rows += _rows(delivery, ids[same], 0, second_ms[same] + 12 * DAY_MS)
    twice = _rows(delivery, ids[ids % 50 == 3], 0, _first_ms(delivery, ids[ids % 50 == 3]))
    kinds = Counter(
        changed=int(changed.sum()),
        changed_back=int(back.sum()),
        same_again=int(same.sum()),
        duplicate=len(twice),
    )
    return rows + twice, kinds


def _later_changes(delivery: Delivery, ordinals: Ids) -> tuple[list[Row], Counter[str]]:
    """An increment: changes now, changes of the past, first versions repeated, and versions equal to the
    first.
    """
    n = delivery.increment
    ids = 1 + scatter(
        ordinals, delivery.customers, one_below(delivery.customers, delivery.seed, "customers", n)
    )
    now_ms = delivery.start_ms + below(INCREMENT_HOURS * 3600, delivery.seed, f"changed {n}", ids) * SECOND_MS
    # Whole seconds are taken by the other versions: the milliseconds keep two versions of a customer apart.
    past_ms = BASE_MS + below(20 * 86_400, delivery.seed, f"past {n}", ids) * SECOND_MS + n
    role = ordinals % 4
    rows = _rows(delivery, ids[role == 0], n + 1, now_ms[role == 0])
    rows += _rows(delivery, ids[role == 1], n + 1, past_ms[role == 1])
    rows += _rows(delivery, ids[role == 2], 0, _first_ms(delivery, ids[role == 2]))
    rows += _rows(delivery, ids[role == 3], 0, now_ms[role == 3])
    names = ("changed", "past_change", "duplicate", "same_again")
    return rows, Counter({name: int((role == number).sum()) for number, name in enumerate(names)})


def _late_members(delivery: Delivery) -> list[Row]:
    """The customers that orders of the delivery before already named."""
    before = delivery.at(delivery.increment - 1)
    count = min(before.per_kind(before.new_orders), LATE_MEMBERS)
    ids = np.array([late_customer(before.increment, nth) for nth in range(count)], dtype=np.int64)
    return _rows(delivery, ids, 0, _first_ms(delivery, ids))


def _first_ms(delivery: Delivery, ids: Ids) -> Ids:
    early = BASE_MS - 40 * DAY_MS - below(300 * 24, delivery.seed, "first", ids) * HOUR_MS
    return np.where(
        ids % 20 == 11,
        BASE_MS + 86_400 * SECOND_MS + below(86_400, delivery.seed, "joined", ids) * SECOND_MS,
        early,
    )


def _rows(delivery: Delivery, ids: Ids, version: int, changed_ms: Ids) -> list[Row]:
    cities = below(len(CITIES), delivery.seed, f"city {version}", ids).tolist()
    segments = below(len(SEGMENTS), delivery.seed, f"segment {version}", ids).tolist()
    texts = time_texts(changed_ms)
    return [
        (str(number), CITIES[city], SEGMENTS[segment], _email(number), text)
        for number, city, segment, text in zip(ids.tolist(), cities, segments, texts, strict=True)
    ]


def _email(customer: int) -> str:
    return (
        ODD_EMAILS[customer // 10 % len(ODD_EMAILS)]
        if customer % 10 == 7
        else f"customer.{customer}@example.com"
    )
