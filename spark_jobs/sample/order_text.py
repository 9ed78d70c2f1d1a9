"""Orders as JSON lines, about 250 bytes each. A kind of dirt replaces tokens of a line, or the line; a defect
concerns all lines.
"""

from collections import Counter

import numpy as np

from spark_jobs.sample.delivery import Delivery, FileText
from spark_jobs.sample.draws import Ids, below, money_texts, time_texts
from spark_jobs.sample.orders import (
    KINDS,
    LATE_MEMBERS,
    MAX_ITEMS,
    NEW,
    ROLES,
    STATUSES,
    Orders,
    orders_of_lines,
)

METHODS = ("card", "card", "card", "cash", "transfer", "voucher")

LATE_CUSTOMERS_FROM = 1_000_000_000
UNKNOWN_CUSTOMERS_FROM = 2_000_000_000
FUTURE = '"2099-12-31T23:59:59.000Z"'
# Some are hostile: whoever shows them must show them as text.
ODD_STATUSES = ("<script>document.title='owned'</script>", "lost", "=cmd|'/C calc'!A1", "PAID!")

Tokens = dict[str, list[str]]  # each field of each line as it stands in the JSON text


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


# The dirt of single order lines: a kind replaces tokens of a line before it is put together, or the line
# afterwards.


def late_customer(increment: int, nth: int) -> int:
    """A customer whose row arrives one delivery after its orders."""
    return LATE_CUSTOMERS_FROM + increment * LATE_MEMBERS + nth % LATE_MEMBERS


def late_product(increment: int, nth: int) -> str:
    return f"L{increment}-{nth % LATE_MEMBERS}"


def spoil_tokens(tokens: Tokens, at: int, orders: Orders) -> None:  # noqa: C901 - one case per kind of dirt
    increment, nth = int(orders.increment[at]), int(orders.nth[at])
    match KINDS[orders.kind[at]]:
        case "unknown_customer":
            tokens["customer"][at] = str(UNKNOWN_CUSTOMERS_FROM + int(orders.ids[at]))
        case "late_customer":
            tokens["customer"][at] = str(late_customer(increment, nth))
        case "unknown_product":
            tokens["items"][at] = _with_first_sku(tokens["items"][at], f"X{orders.ids[at]}")
        case "late_product":
            tokens["items"][at] = _with_first_sku(tokens["items"][at], late_product(increment, nth))
        case "empty_items":
            tokens["items"][at] = ""
        case "extra_fields":
            tokens["tail"][at] = ',"channel":"app","campaign":{"code":"SPRING","tags":["a","b"]}'
        case "text_numbers":
            tokens["id"][at], tokens["amount"][at] = f'"{tokens["id"][at]}"', f'"{tokens["amount"][at]}"'
        case "offset_time":
            tokens["ordered"][at] = tokens["ordered"][at].replace("Z", "+02:00")
        case "odd_scale":
            tokens["amount"][at] += "0"
        case "future_time":
            tokens["ordered"][at] = FUTURE
        case "null_time":
            tokens["ordered"][at] = "null"
        case "null_key":
            tokens["id"][at] = "null"
        case "null_sequence":
            tokens["updated"][at] = "null"
        case "wrong_amount":
            tokens["amount"][at] = '"abc"'
        case "wrong_id":
            tokens["id"][at] = f'"x{tokens["id"][at]}"'
        case "wrong_quantity":
            tokens["items"][at] = tokens["items"][at].replace(
                '"quantity":', '"quantity":"two","ordered_quantity":', 1
            )
        case "negative_amount":
            tokens["amount"][at] = f"-{tokens['amount'][at]}"
        case "odd_status":
            tokens["status"][at] = ODD_STATUSES[nth % len(ODD_STATUSES)]
        case "zero_quantity":
            tokens["items"][at] = tokens["items"][at].replace(
                '"quantity":', '"quantity":0,"ordered_quantity":', 1
            )


def spoil_line(lines: list[str], at: int, kind: str) -> None:
    match kind:
        case "no_items":
            lines[at] = lines[at].partition(',"items":')[0] + "}"
        case "no_payment":
            before, _, after = lines[at].partition('"payment":')
            lines[at] = before + '"payment":null,"items":' + after.partition('"items":')[2]
        case "cut_json":
            lines[at] = lines[at][: len(lines[at]) * 2 // 3]
        case "glued_json":
            lines[at] = lines[at] + lines[at - 1]


def _with_first_sku(items: str, sku: str) -> str:
    before, _, after = items.partition('"sku":"')
    return f'{before}"sku":"{sku}"{after.partition(chr(34))[2]}'
