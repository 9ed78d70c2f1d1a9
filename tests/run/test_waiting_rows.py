"""Facts that come before their members: parked, quarantined or unknown; released, given up, corrected."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

import pytest

from spark_jobs.run import register
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders:  {format: json, path: orders}
  members: {format: json, path: members}
  shops:   {format: json, path: shops}
dimensions:
  members: {from: members, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at, history: scd2}
  shops:   {from: shops, key: id, columns: {id: bigint, street: string, v: int}, sequence_by: v}
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, shop: bigint, v: int, at: timestamp}
    key: id
    sequence_by: v
    event_time: at
    lookup:
      members: {on: member, take: city, if_missing: park, give_up_after: 7 days}
      shops:   {on: shop, take: street, if_missing: quarantine}
  items:
    from: orders
    explode: items
    columns: {id: bigint, member: bigint, at: timestamp, sku: {type: string, from: items.sku}}
    event_time: at
    lookup:
      members: {on: member, take: city, if_missing: park}
gold:
  per_city:
    from: silver.orders
    window: {size: 1 hour}
    group_by: city
    measures: {order_count: count(*)}
"""


def order(number: int, member: int | None, shop: int | None = 1, version: int = 1) -> str:
    fields = {"id": number, "member": member, "shop": shop, "v": version, "at": "2024-05-02T10:00:00Z"}
    text = ",".join(
        f'"{name}":{value if isinstance(value, int) else chr(34) + str(value) + chr(34)}'
        for name, value in fields.items()
        if value
    )
    return f'{{{text},"items":[{{"sku":"a"}},{{"sku":"a"}}]}}\n'


def member(number: int, city: str) -> str:
    return f'{{"id":{number},"city":"{city}","at":"2024-05-01T00:00:00Z"}}\n'


def run(workshop: Workshop) -> dict[str, Any]:
    result = workshop.run("shop")
    assert result.exit_code == 0, result.message
    return {table.table: table for table in result.tables}


def waiting(workshop: Workshop, table: str) -> list[tuple[Any, ...]]:
    found = workshop.rows(f"shop.{table}", "file", "line", "element", "reasons")
    return [
        (file, line, element, [reason["rule"] for reason in reasons])
        for file, line, element, reasons in found
    ]


def test_facts_wait_for_their_members_and_come_in_with_them(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("shops/1.json", '{"id":1,"street":"Elm","v":1}\n')
    workshop.land(
        "orders/1.json", order(1, 7) + order(2, None) + order(3, 7, shop=9) + order(4, 7, version=2)
    )

    first = run(workshop)

    assert workshop.rows("shop.silver.orders", "id", "city", "street") == [(2, None, "Elm")]
    assert waiting(workshop, "parked.silver.orders") == [
        ("orders/1.json", 1, 0, ["member of members"]),
        ("orders/1.json", 4, 0, ["member of members"]),
    ]
    assert waiting(workshop, "quarantine.silver.orders") == [("orders/1.json", 3, 0, ["member of shops"])]
    assert (first["silver.orders"].counts.parked, first["silver.orders"].counts.quarantined) == (2, 1)
    assert [row[:3] for row in waiting(workshop, "parked.silver.items")] == [
        ("orders/1.json", line, e) for line in (1, 3, 4) for e in (1, 2)
    ]

    workshop.land("members/1.json", member(7, "Rome"))
    workshop.land("orders/2.json", order(4, None, version=3))
    second = run(workshop)

    assert workshop.rows("shop.silver.orders", "id", "v", "city") == [
        (1, 1, "Rome"),
        (2, 1, None),
        (4, 3, None),
    ]
    assert waiting(workshop, "parked.silver.orders") == []
    assert waiting(workshop, "quarantine.silver.orders") == [("orders/1.json", 3, 0, ["member of shops"])]
    items = [(1, "Rome"), (2, None), (3, "Rome"), (4, "Rome"), (4, None)]
    assert workshop.rows("shop.silver.items", "id", "sku", "city") == sorted(
        [(n, "a", city) for n, city in items * 2], key=repr
    )
    counts = second["silver.orders"].counts
    assert (counts.rows_in, counts.inserted, counts.superseded, counts.parked, counts.quarantined) == (
        1,
        2,
        1,
        -2,
        0,
    )

    workshop.land("shops/2.json", '{"id":9,"street":"Oak","v":1}\n')
    run(workshop)

    assert workshop.rows("shop.silver.orders", "id", "city", "street")[2] == (3, "Rome", "Oak")
    assert waiting(workshop, "quarantine.silver.orders") == []
    hour = datetime(2024, 5, 2, 10, tzinfo=UTC)
    assert workshop.rows("shop.gold.per_city", "window_start", "city", "order_count") == [
        (hour, "Rome", 2),
        (hour, None, 2),
    ]


def test_a_fact_is_given_up_when_files_go_on_arriving_and_corrected_when_its_member_comes_at_last(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("shops/1.json", '{"id":1,"street":"Elm","v":1}\n')
    workshop.land("orders/1.json", order(1, 7))
    run(workshop)

    class Later:
        @staticmethod
        def now(zone: tzinfo) -> datetime:
            return datetime.now(zone) + timedelta(days=8)

    workshop.land("orders/2.json", order(2, None))
    with monkeypatch.context() as patch:
        patch.setattr(register, "datetime", Later)
        run(workshop)
    assert workshop.rows("shop.silver.orders", "id", "city") == [(1, None), (2, None)]
    assert waiting(workshop, "parked.silver.orders") == []

    workshop.land("members/1.json", member(7, "Rome"))
    third = run(workshop)

    assert workshop.rows("shop.silver.orders", "id", "city") == [(1, "Rome"), (2, None)]
    assert third["silver.orders"].corrected == 1
