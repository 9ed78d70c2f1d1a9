"""A lake with rows that wait for members, are deleted, or come too late: three runs leave what bronze gives,
and a row lost is named.
"""

import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from tests.conftest import Workshop
from tests.verify.conftest import Verify, checks, differing

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders:  {format: json, path: orders}
  visits:  {format: json, path: visits}
  members: {format: json, path: members}
dimensions:
  members: {from: members, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at, history: scd2}
  tiers:   {from: members, key: id, columns: {id: bigint, tier: string, at: timestamp}, sequence_by: at}
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, version: bigint, at: timestamp, gone: boolean}
    key: id
    sequence_by: version
    event_time: at
    delete_when: gone
    lookup: {members: {on: member, take: city, if_missing: park, give_up_after: 1 second}}
  visits:
    from: visits
    columns: {id: bigint, member: bigint, at: timestamp}
    event_time: at
    lookup: {tiers: {on: member, take: tier, if_missing: quarantine}}
gold:
  per_city: {from: silver.orders, window: {size: 1 hour}, group_by: city, measures: {order_count: count(*)}}
  shown:
    {from: silver.visits, window: {size: 1 hour}, measures: {ids: sum(id)}, watermark: 1 hour, emit: append, late: keep}
  repaired:
    {from: silver.visits, window: {size: 2 hours, slide: 1 hour}, group_by: tier, measures: {ids: sum(id)}, watermark: 1 hour}
"""


def order(number: int, version: int, member: int | None = 1, day: str = "2024-05-01") -> str:
    who = "" if member is None else f',"member":{member}'
    return f'{{"id":{number},"version":{version},"at":"{day}T10:00:00Z"{who}}}\n'


def gone(number: int, version: int) -> str:
    return f'{{"id":{number},"version":{version},"gone":true}}\n'


def visit(number: int, at: str, member: int = 1) -> str:
    return f'{{"id":{number},"at":"2024-05-01T{at}:00Z","member":{member}}}\n'


def member(number: int) -> str:
    return f'{{"id":{number},"city":"Ulm","tier":"gold","at":"2024-01-01"}}\n'


def close_feed(workshop: Workshop, source: str) -> None:
    path = workshop.root / "lake" / "shop" / "_weir" / "arrivals" / source
    arrivals = DeltaTable(path)
    schema = arrivals.to_pyarrow_table().schema
    mark = {"chunk": arrivals.version() + 1, "verdict": "closed", "arrived_at": datetime.now(UTC)}
    write_deltalake(
        path, pa.Table.from_pylist([dict.fromkeys(schema.names) | mark], schema=schema), mode="append"
    )


@pytest.fixture(scope="module")
def shop(new_workshop: Callable[[], Workshop]) -> Workshop:
    workshop = new_workshop()
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    deliveries = [
        {
            "members/1.json": member(1),
            "orders/1.json": (
                order(1, 1)
                + order(2, 1, member=7)
                + gone(4, 2)
                + gone(5, 1)
                + order(6, 1, member=None)
                + "x\n"
                + gone(7, 1)[1:]
            ),
            "visits/1.json": visit(1, "10:10") + visit(2, "12:10", member=9) + '{"id":3,"at":"2199-01-01"}\n',
            "visits/2.json": visit(4, "13:30"),
            # late: the file before it, of the same chunk, has moved the watermark
            "visits/3.json": visit(5, "10:30"),
        },
        {
            "orders/2.json": (
                order(4, 1)
                + order(5, 2)
                + order(3, 1)
                + order(3, 2, member=8)
                + order(8, 1)
                + order(8, 2)
                + gone(8, 2)
            ),
            "visits/4.json": visit(6, "10:20") + visit(7, "12:40"),
        },
        {
            "members/2.json": member(9),
            "orders/3.json": order(9, 1, member=8) + order(10, 1, day="2023-05-01") + order(1, 2),
            # the first is late: closed by the mark
            "visits/5.json": visit(8, "13:40") + visit(9, "14:10") + visit(10, "14:05", member=10),
        },
    ]
    for number, delivery in enumerate(deliveries):
        for path, text in delivery.items():
            workshop.land(path, text)
        result = workshop.run("shop")
        assert result.exit_code == 0, result.message
        if number == 1:
            close_feed(workshop, "visits")
    return workshop


def rewrite(
    workshop: Workshop, name: str, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]
) -> None:
    path = workshop.root / "lake" / "shop" / name
    rows = DeltaTable(path).to_pyarrow_table()
    shutil.rmtree(path)
    write_deltalake(
        path, pa.Table.from_pylist(change(sorted(rows.to_pylist(), key=repr)), schema=rows.schema)
    )


def test_rows_set_aside_are_where_bronze_puts_them_and_a_lost_one_is_named(
    shop: Workshop, verify: Verify
) -> None:
    found = verify(shop, "shop")

    assert {
        name: (check.problems, check.first, check.error) for name, check in differing(found).items()
    } == {}
    assert {
        name: check.rows for name, check in checks(found).items() if not name.startswith("dimension")
    } == {
        "quarantine.dimension.members": 0,
        "quarantine.dimension.tiers": 0,
        "silver.orders": 5,
        "quarantine.silver.orders": 2,
        "parked.silver.orders": 2,
        "deleted.silver.orders": 2,
        "silver.visits": 8,
        "quarantine.silver.visits": 2,
        "gold.per_city": 2,
        "gold.shown": 3,
        "late.gold.shown": 3,
        "gold.repaired": 6,
    }

    rewrite(shop, "parked/silver.orders", lambda rows: rows[1:])
    rewrite(shop, "late/gold.shown", lambda rows: rows[1:])
    rewrite(
        shop,
        "deleted/silver.orders",
        lambda rows: [row | {"version": 3} if row["id"] == 4 else row for row in rows],
    )
    rewrite(shop, "gold/shown", lambda rows: [*rows, rows[0] | {"window_start": None}])

    damaged = verify(shop, "shop", "silver.orders", "gold.shown")

    assert {
        name: (check.only_here, check.only_recomputed, check.different)
        for name, check in differing(damaged).items()
    } == {
        "parked.silver.orders": (0, 1, 0),
        "deleted.silver.orders": (0, 0, 1),
        "gold.shown": (1, 0, 0),
        "late.gold.shown": (0, 1, 0),
    }
    [gone_key] = checks(damaged)["deleted.silver.orders"].first
    assert (gone_key.key, gone_key.columns) == ({"id": "4"}, {"version": ("3", "2")})
    [late_row] = checks(damaged)["late.gold.shown"].first
    assert set(late_row.key) == {"window_start", "window_end", "file_id", "line"}
