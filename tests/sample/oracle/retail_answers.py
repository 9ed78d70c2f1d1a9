"""The true answers of the retail pipeline, table by table.

The rules that set rows aside are those of expectations/retail, written down a second time; a test holds the
two equal.
"""

from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from pathlib import Path

from tests.sample.oracle.decode import (
    Record,
    Row,
    Tables,
    Tally,
    csv_records,
    decimal,
    event_time,
    field,
    integer,
    json_records,
    one_of,
    present,
    timestamp,
    within,
)
from tests.sample.oracle.versions import Interval, as_of, intervals, newest

STATUSES = ("new", "paid", "packed", "shipped", "returned")
SEGMENTS = ("home", "shop", "office", "school")


def retail_answers(landing: Path, future_from: datetime) -> tuple[Tables, list[Row]]:
    tallies = {
        name: Tally(name)
        for name in ("dimension.customers", "dimension.products", "silver.orders", "silver.order_lines")
    }
    customers = intervals(
        _dimension(landing / "retail/customers", _customer, tallies["dimension.customers"]),
        "customer_id",
        "changed_at",
    )
    products = newest(
        _dimension(landing / "retail/products", _product, tallies["dimension.products"]),
        ("sku",),
        "changed_at",
    )
    records = landing / "retail/orders"
    orders = newest(_orders(records, future_from, tallies["silver.orders"]), ("order_id",), "updated_at")
    lines = newest(
        _order_lines(records, future_from, tallies["silver.order_lines"]),
        ("order_id", "line_no"),
        "updated_at",
    )
    silver_orders = [row | _customer_then(customers, row) for row in orders.values()]
    silver_lines = [
        row | {"category": products.get((row["sku"],), {}).get("category")} for row in lines.values()
    ]
    tables = {
        "dimension.customers": [
            _versioned(interval) for history in customers.values() for interval in history
        ],
        "dimension.products": list(products.values()),
        "silver.orders": silver_orders,
        "silver.order_lines": silver_lines,
        "gold.revenue_per_hour": _revenue_per_hour(silver_orders),
        "gold.top_products": _top_products(silver_lines),
    }
    return tables, [tally.counts() for tally in tallies.values()]


def _dimension(folder: Path, decode: Callable[[Record | None], Row], tally: Tally) -> Iterator[Row]:
    for record in csv_records(folder):
        yield from tally.fitting(decode, record)


def _customer(record: Record | None) -> Row:
    whole = present(record, "record")
    return {
        "customer_id": present(integer(field(whole, "customer_id")), "customer_id"),
        "city": field(whole, "city"),
        "segment": one_of(field(whole, "segment"), SEGMENTS),
        "email": field(whole, "email"),
        "changed_at": present(timestamp(field(whole, "changed_at")), "changed_at"),
    }


def _product(record: Record | None) -> Row:
    whole = present(record, "record")
    return {
        "sku": present(field(whole, "sku"), "sku"),
        "category": field(whole, "category"),
        "unit_cost": within(decimal(field(whole, "unit_cost"), 10, 2), 0, 10_000),
        "changed_at": present(timestamp(field(whole, "changed_at")), "changed_at"),
    }


def _orders(folder: Path, future_from: datetime, tally: Tally) -> Iterator[Row]:
    for record in json_records(folder):
        yield from tally.fitting(_order, record, future_from)


def _order(record: Record | None, future_from: datetime) -> Row:
    whole = present(record, "record")
    method = field(whole, "payment.method")
    return {
        "order_id": present(integer(field(whole, "order_id")), "order_id"),
        "ordered_at": event_time(whole, "ordered_at", future_from),
        "updated_at": present(timestamp(field(whole, "updated_at")), "updated_at"),
        "customer_id": integer(field(whole, "customer_id")),
        "status": one_of(field(whole, "status"), STATUSES),
        "amount": within(decimal(field(whole, "payment.amount"), 12, 2), 0, 1_000_000),
        "method": method,
        "is_card": None if method is None else method == "card",
    }


def _order_lines(folder: Path, future_from: datetime, tally: Tally) -> Iterator[Row]:
    """A record without items gives no row and counts as filtered; one that cannot be read counts as one
    quarantined row.
    """
    for record in json_records(folder):
        items = record.get("items") if record else None
        if record is None or not isinstance(items, list | None):
            tally.quarantined += 1
        elif not items:
            tally.filtered += 1
        else:
            for item in items:
                yield from tally.fitting(_order_line, record | {"items": item}, future_from)


def _order_line(record: Record, future_from: datetime) -> Row:
    return {
        "order_id": present(integer(field(record, "order_id")), "order_id"),
        "line_no": present(integer(field(record, "items.line_no"), bits=32), "line_no"),
        "sku": field(record, "items.sku"),
        "quantity": within(integer(field(record, "items.quantity"), bits=32), 1, 1_000),
        "price": decimal(field(record, "items.price"), 10, 2),
        "ordered_at": event_time(record, "ordered_at", future_from),
        "updated_at": present(timestamp(field(record, "updated_at")), "updated_at"),
    }


def _customer_then(customers: dict[Hashable, list[Interval]], order: Row) -> Row:
    """The customer as of the order's time; nothing is known before the first version."""
    member = as_of(customers.get(order["customer_id"], []), order["ordered_at"]) or {}
    return {"city": member.get("city"), "segment": member.get("segment")}


def _versioned(interval: Interval) -> Row:
    return interval.row | {"_valid_from": interval.valid_from, "_valid_to": interval.valid_to}


def _revenue_per_hour(orders: list[Row]) -> list[Row]:
    groups: dict[tuple[datetime, str | None], list[Decimal | None]] = defaultdict(list)
    for order in orders:
        groups[order["ordered_at"].replace(minute=0, second=0, microsecond=0), order["city"]].append(
            order["amount"]
        )
    return [
        {
            "window_start": hour,
            "window_end": hour + timedelta(hours=1),
            "city": city,
            "order_count": len(amounts),
            "revenue": _sum(amounts),
        }
        for (hour, city), amounts in groups.items()
    ]


def _top_products(lines: list[Row]) -> list[Row]:
    groups: dict[tuple[str | None, str | None], list[Row]] = defaultdict(list)
    for line in lines:
        groups[line["sku"], line["category"]].append(line)
    return [
        {
            "sku": sku,
            "category": category,
            "order_count": len({line["order_id"] for line in sold}),
            "quantity": _count(line["quantity"] for line in sold),
            "revenue": _sum(_times(line["quantity"], line["price"]) for line in sold),
        }
        for (sku, category), sold in groups.items()
    ]


def _sum(values: Iterable[Decimal | None]) -> Decimal | None:
    """SQL's sum: NULLs are passed over, and nothing at all gives NULL."""
    known = [value for value in values if value is not None]
    return sum(known, Decimal("0.00")) if known else None


def _count(values: Iterable[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _times(quantity: int | None, price: Decimal | None) -> Decimal | None:
    return None if quantity is None or price is None else quantity * price
