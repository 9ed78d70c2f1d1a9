"""A lake of two pipelines whose tables delta-rs has made: what commands that look at rows need, without Spark."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.lake.layout import Lake
from tests.conftest import Workshop

SHOP = """
pipeline: shop
sources:
  orders: {format: json, path: orders}
silver:
  orders:
    from: orders
    columns: {id: bigint, email: {type: string, from: person.email, sensitive: true}, city: string, amount: "decimal(12,2)"}
    key: id
gold:
  per_city: {from: silver.orders, group_by: city, measures: {order_count: count(*)}}
"""
DEPOT = """
pipeline: depot
sources:
  orders: {format: json, path: depot}
  boxes: {format: json, path: boxes}
silver:
  orders: {from: orders, columns: {id: bigint}}
  boxes: {from: boxes, columns: {id: bigint}}
"""
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REASONS = pa.list_(pa.struct([("rule", pa.string()), ("column", pa.string()), ("value", pa.string())]))


def write_orders(shop: Workshop, *rows: tuple[int, str | None, str, str]) -> None:
    """A version of shop.silver.orders: id, email, city, amount."""
    ids, emails, cities, amounts = zip(*rows, strict=True)
    columns: dict[str, Any] = {
        "id": pa.array(ids, pa.int64()),
        "email": pa.array(emails, pa.string()),
        "city": pa.array(cities, pa.string()),
        "amount": pa.array(amounts, pa.string()).cast(pa.decimal128(12, 2)),
        "_processed_at": pa.array([NOON + timedelta(hours=len(rows))] * len(rows), pa.timestamp("us", "UTC")),
    }
    write_deltalake(
        Lake(shop.project.lake, "shop").table("silver.orders"), pa.table(columns), mode="overwrite"
    )


def write_quarantine(shop: Workshop) -> None:
    columns: dict[str, Any] = {
        "record": ['{"id": 7, "person": {"email": "eve@example.org"}, "city": "Rome"}'],
        "reasons": pa.array([[{"rule": "known", "column": "email", "value": "eve@example.org"}]], REASONS),
        "file": ["orders/a.json"],
    }
    write_deltalake(
        Lake(shop.project.lake, "shop").table("quarantine.silver.orders"), pa.table(columns), mode="overwrite"
    )


def write_bronze(shop: Workshop) -> None:
    columns: dict[str, Any] = {
        "record": ['{"id": 7, "person": {"email": "eve@example.org"}}', "no JSON: eve@example.org"],
        "_problem": [None, 'line 2: "eve@example.org" is not JSON'],
        "_line": [1, 2],
    }
    write_deltalake(
        Lake(shop.project.lake, "shop").table("bronze.orders"), pa.table(columns), mode="overwrite"
    )
