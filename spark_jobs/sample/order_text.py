"""Orders as JSON lines, about 250 bytes each. A kind of dirt replaces tokens of a line, or the line; a defect
concerns all lines.
"""

from collections import Counter

import numpy as np

from spark_jobs.sample.delivery import Delivery, FileText
from spark_jobs.sample.draws import Ids, below, money_texts, time_texts
from spark_jobs.sample.order_dirt import Tokens, spoil_line, spoil_tokens
from spark_jobs.sample.orders import KINDS, MAX_ITEMS, NEW, ROLES, STATUSES, Orders, orders_of_lines

METHODS = ("card", "card", "card", "cash", "transfer", "voucher")


def order_file(delivery: Delivery, start: int, stop: int) -> FileText:
    role, orders = orders_of_lines(delivery, start, stop)
    tokens = _tokens(delivery, orders) | _defective_tokens(delivery, orders)
    is_odd = orders.kind >= 0
    odd = np.flatnonzero(is_odd).tolist()
    for at in odd:
        spoil_tokens(tokens, at, orders)
    lines = _lines(tokens)
    for at in odd:
        spoil_line(lines, at, KINDS[orders.kind[at]])
    kinds = Counter(KINDS[kind] for kind in orders.kind[is_odd].tolist())
    kinds.update(ROLES[number] for number in role[role != NEW].tolist())
    return FileText("\n".join([*lines, ""]), len(lines), kinds)


def price_cents(delivery: Delivery, products: Ids) -> Ids:
    return 199 + below(9_800, delivery.seed, "price", products)


def _tokens(delivery: Delivery, orders: Orders) -> Tokens:
    """Each field of each line as it stands in the JSON text."""
    methods = [METHODS[draw] for draw in below(len(METHODS), delivery.seed, "method", orders.ids).tolist()]
    return {
        "id": [str(number) for number in orders.ids.tolist()],
        "ordered": [f'"{text}"' for text in time_texts(orders.ordered_ms)],
        "updated": [f'"{text}"' for text in time_texts(orders.updated_ms)],
        "customer": [str(number) for number in orders.customer.tolist()],
        "status": [STATUSES[number] for number in orders.status.tolist()],
        "amount": money_texts(_amount_cents(delivery, orders)),
        "method": methods,
        "items": _item_texts(delivery, orders),
        "tail": [""] * len(orders.ids),
    }


def _defective_tokens(delivery: Delivery, orders: Orders) -> Tokens:
    """What a defect of the whole delivery makes of its lines. Each value alone could be right."""
    match delivery.defect:
        case "cents":
            return {"amount": money_texts(100 * _amount_cents(delivery, orders))}
        case "stuck":
            return {
                "ordered": [f'"{text}"' for text in time_texts(np.full_like(orders.ids, delivery.start_ms))]
            }
        case _:
            return {}


def _amount_cents(delivery: Delivery, orders: Orders) -> Ids:
    is_item = np.arange(MAX_ITEMS) < orders.item_count[:, None]
    amounts: Ids = (price_cents(delivery, orders.product) * orders.quantity * is_item).sum(axis=1)
    return amounts


def _item_texts(delivery: Delivery, orders: Orders) -> list[str]:
    prices = ["", *money_texts(price_cents(delivery, np.arange(1, delivery.products + 1)))]

    def item(number: int, product: int, quantity: int) -> str:
        return (
            f'{{"line_no":{number},"sku":"P{product:05d}","quantity":{quantity},"price":{prices[product]}}}'
        )

    return [
        ",".join([item(at + 1, products[at], quantities[at]) for at in range(count)])
        for count, products, quantities in zip(
            orders.item_count.tolist(), orders.product.tolist(), orders.quantity.tolist(), strict=True
        )
    ]


def _lines(tokens: Tokens) -> list[str]:
    return [
        f'{{"order_id":{number},"ordered_at":{ordered},"updated_at":{updated},"customer_id":{customer},"status":"{status}",'
        f'"payment":{{"amount":{amount},"method":"{method}"}},"items":[{items}]{tail}}}'
        for number, ordered, updated, customer, status, amount, method, items, tail in zip(
            *tokens.values(), strict=True
        )
    ]
