"""Versions that delete their key: the row goes, and no older change brings it back."""

from datetime import UTC, datetime

import pytest

from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders:
    from: orders
    columns: {id: bigint, v: int, op: string, at: timestamp, amount: {type: int, required: true}}
    key: id
    sequence_by: v
    event_time: at
    delete_when: op = 'D'
gold:
  per_hour: {from: silver.orders, window: {size: 1 hour}, measures: {order_count: count(*), amount: sum(amount)}}
"""


def upsert(number: int, version: int, hour: int, amount: int = 1) -> str:
    return f'{{"id":{number},"v":{version},"op":"U","at":"2024-05-01T{hour:02}:00:00Z","amount":{amount}}}\n'


def delete(number: int, version: int) -> str:
    return f'{{"id":{number},"v":{version},"op":"D"}}\n'


def at(hour: int) -> datetime:
    return datetime(2024, 5, 1, hour, tzinfo=UTC)


def test_a_delete_removes_the_row_and_an_older_change_never_revives_it(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land(
        "orders/1.json",
        upsert(1, 1, 8)
        + upsert(2, 1, 9)
        + upsert(3, 1, 9)
        + delete(4, 5)
        + upsert(5, 1, 9)
        + '{"id":6,"op":"D"}\n',
    )
    assert workshop.run("shop").exit_code == 0
    workshop.land("orders/2.json", delete(1, 3) + delete(2, 1) + upsert(4, 4, 9) + upsert(3, 2, 10, amount=5))
    second = {table.table: table.counts for table in workshop.run("shop").tables}["silver.orders"]

    assert workshop.rows("shop.silver.orders", "id", "v") == [(3, 2), (5, 1)]
    assert workshop.rows("shop.deleted.silver.orders", "id", "v") == [(1, 3), (2, 1), (4, 5)]
    assert (second.rows_in, second.deleted, second.superseded, second.updated, second.grown) == (
        4,
        2,
        1,
        1,
        -2,
    )
    assert sorted(workshop.rows("shop.gold.per_hour", "window_start", "order_count", "amount")) == [
        (at(9), 1, 1),
        (at(10), 1, 5),
    ]
    assert [
        reasons[0]["column"] for (reasons,) in workshop.rows("shop.quarantine.silver.orders", "reasons")
    ] == ["v"]

    workshop.land("orders/3.json", upsert(1, 2, 8) + upsert(2, 1, 9) + upsert(4, 6, 11) + delete(1, 3))
    third = {table.table: table.counts for table in workshop.run("shop").tables}["silver.orders"]

    assert workshop.rows("shop.silver.orders", "id", "v") == [(3, 2), (4, 6), (5, 1)]
    assert (third.rows_in, third.inserted, third.superseded, third.duplicate) == (4, 1, 2, 1)
