"""Products: of each the newest row counts. Members first, then changes, some of which are older than what is
known.
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
    money_texts,
    one_below,
    scatter,
    time_texts,
)
from spark_jobs.sample.order_text import late_product
from spark_jobs.sample.orders import LATE_MEMBERS

COLUMNS = ("sku", "category", "unit_cost", "changed_at")
MEMBER_ORDER = (0, 1, 2, 3)
CHANGE_ORDER = (1, 2, 3, 0)
CATEGORIES = ("books", "food", "garden", "home", "music", "office", "shoes", "sport", "tools", "toys", "")


def member_file(delivery: Delivery, start: int, stop: int) -> FileText:
    ids = np.arange(start, stop, dtype=np.int64) + 1
    return csv_file(COLUMNS, MEMBER_ORDER, _rows(delivery, ids, 0, _first_ms(delivery, ids)), Counter())


def change_count(delivery: Delivery) -> int:
    return delivery.products if delivery.increment == 0 else max(8, delivery.products // 50)


def change_file(delivery: Delivery, start: int, stop: int) -> FileText:
    ordinals = np.arange(start, stop, dtype=np.int64)
    rows, kinds = (
        _later_changes(delivery, ordinals) if delivery.increment else _first_changes(delivery, ordinals)
    )
    return csv_file(COLUMNS, CHANGE_ORDER, rows, kinds, delivery.per_kind(change_count(delivery)))


def _first_changes(delivery: Delivery, ordinals: Ids) -> tuple[list[Row], Counter[str]]:
    ids = ordinals + 1
    changed = ids[ids % 5 == 0]
    twice = ids[ids % 10 == 3]
    rows = _rows(
        delivery,
        changed,
        1,
        BASE_MS + below(20 * 86_400, delivery.seed, "second product", changed) * SECOND_MS,
    )
    return rows + _rows(delivery, twice, 0, _first_ms(delivery, twice)), Counter(
        changed=len(changed), duplicate=len(twice)
    )


def _later_changes(delivery: Delivery, ordinals: Ids) -> tuple[list[Row], Counter[str]]:
    n = delivery.increment
    ids = 1 + scatter(ordinals, delivery.products, one_below(delivery.products, delivery.seed, "products", n))
    now_ms = (
        delivery.start_ms
        + below(INCREMENT_HOURS * 3600, delivery.seed, f"product changed {n}", ids) * SECOND_MS
    )
    # before every first version, and by its milliseconds apart from other stale ones
    past_ms = BASE_MS - 400 * DAY_MS + n
    role = ordinals % 4
    rows = _rows(delivery, ids[role < 2], n + 1, now_ms[role < 2])
    rows += _rows(delivery, ids[role == 2], n + 1, np.full(int((role == 2).sum()), past_ms))
    rows += _rows(delivery, ids[role == 3], 0, _first_ms(delivery, ids[role == 3]))
    late = _late_members(delivery)
    kinds = Counter(
        changed=int((role < 2).sum()),
        stale=int((role == 2).sum()),
        duplicate=int((role == 3).sum()),
        late_member=len(late),
    )
    return rows + late, kinds


def _late_members(delivery: Delivery) -> list[Row]:
    before = delivery.at(delivery.increment - 1)
    nths = np.arange(min(before.per_kind(before.new_orders), LATE_MEMBERS), dtype=np.int64)
    skus = [late_product(before.increment, nth) for nth in nths.tolist()]
    rows = _rows(delivery, nths, before.increment, BASE_MS - DAY_MS - nths * HOUR_MS)
    return [(sku, *row[1:]) for sku, row in zip(skus, rows, strict=True)]


def _first_ms(delivery: Delivery, ids: Ids) -> Ids:
    return BASE_MS - 40 * DAY_MS - below(300 * 24, delivery.seed, "first product", ids) * HOUR_MS


def _rows(delivery: Delivery, ids: Ids, version: int, changed_ms: Ids) -> list[Row]:
    categories = below(len(CATEGORIES), delivery.seed, f"category {version}", ids).tolist()
    costs = money_texts(99 + below(5_000, delivery.seed, f"cost {version}", ids))
    texts = time_texts(changed_ms)
    return [
        (f"P{number:05d}", CATEGORIES[category], cost, text)
        for number, category, cost, text in zip(ids.tolist(), categories, costs, texts, strict=True)
    ]
