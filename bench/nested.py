"""A pipeline of nested JSON orders, whose amount is computed from an array of items, with two dimensions; and
the files that it reads.
"""

import json
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from bench.project import write_project

CUSTOMERS, STORES = 100_000, 500
STATUSES = ("placed", "paid", "sent", "returned")
FIRST = datetime(2024, 1, 1, tzinfo=UTC)
HOURS = 90 * 24
PIPELINE = """
pipeline: nested
sources:
  orders:    {format: json, path: nested/orders}
  customers: {format: csv, path: nested/customers}
  stores:    {format: csv, path: nested/stores}
dimensions:
  customers:
    from: customers
    key: customer_id
    columns: {customer_id: bigint, segment: string, changed_at: timestamp}
    sequence_by: changed_at
  stores:
    from: stores
    key: store_id
    columns: {store_id: int, city: string, changed_at: timestamp}
    sequence_by: changed_at
silver:
  orders:
    from: orders
    columns:
      order_id: bigint
      ordered_at: timestamp
      updated_at: timestamp
      customer_id: {type: bigint, from: customer.id}
      channel: {type: string, from: customer.channel}
      store_id: int
      status: string
      items: "array<struct<sku:string,quantity:int,price:decimal(10,2)>>"
      amount:
        type: decimal(12,2)
        sql: "aggregate(items, CAST(0 AS DECIMAL(12,2)), (total, item) -> CAST(total + item.quantity * item.price AS DECIMAL(12,2)))"
    key: order_id
    sequence_by: updated_at
    event_time: {column: ordered_at, future: 1 day}
    lookup:
      customers: {on: customer_id, take: [segment]}
      stores: {on: store_id, take: [city]}
gold:
  revenue_per_hour:
    from: silver.orders
    window: {size: 1 hour}
    group_by: [city]
    measures: {order_count: count(*), revenue: sum(amount)}
"""


def nested_project(home: Path, **files: str) -> None:
    write_project(home, {"conf/pipelines/nested.yml": PIPELINE, **files})


def write_dimensions(landing: Path) -> None:
    at = FIRST.strftime("%Y-%m-%dT%H:%M:%SZ")
    _write_sheet(
        landing,
        "customers",
        "customer_id,segment,changed_at",
        (f"{number},s{number % 7},{at}" for number in range(CUSTOMERS)),
    )
    _write_sheet(
        landing,
        "stores",
        "store_id,city,changed_at",
        (f"{number},city {number % 60},{at}" for number in range(STORES)),
    )


def write_orders(landing: Path, name: str, first: int, count: int, files: int) -> int:
    """Lands orders of about 280 bytes, in so many files; gives their bytes. One in ten is a newer version of
    the order ten before it.
    """
    folder, random, size = landing / "nested" / "orders", Random(first), 0
    folder.mkdir(parents=True, exist_ok=True)
    for number in range(files):
        start, end = first + count * number // files, first + count * (number + 1) // files
        text = "".join(_line(order, random) for order in range(start, end))
        size += (folder / f"{name}-{number:05d}.json").write_text(text, encoding="utf-8")
    return size


def _write_sheet(landing: Path, name: str, header: str, rows: Iterable[str]) -> None:
    folder = landing / "nested" / name
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "all.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")


def _line(number: int, random: Random) -> str:
    order_id = number - 10 if number % 10 == 9 and number >= 10 else number
    ordered_at = FIRST + timedelta(hours=order_id * 7919 % HOURS, seconds=order_id % 3600)
    items = [
        {
            "sku": f"sku-{random.randrange(5000):05d}",
            "quantity": random.randrange(1, 9),
            "price": random.randrange(100, 99999) / 100,
        }
        for _ in range(random.randrange(1, 4))
    ]
    record = {
        "order_id": order_id,
        "ordered_at": ordered_at.strftime("%Y-%m-%dT%H:%M:%SZ"),
        "updated_at": (ordered_at + timedelta(minutes=number % 600)).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "customer": {"id": random.randrange(CUSTOMERS), "channel": random.choice(("web", "app", "shop"))},
        "store_id": random.randrange(STORES),
        "status": random.choice(STATUSES),
        "items": items,
    }
    return json.dumps(record, separators=(",", ":")) + "\n"
