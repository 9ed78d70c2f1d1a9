"""Calendar windows, bounds in measures, counts of different values, a zero watermark, windows over gold and
running totals: the same tables from the same files, in any order and any grouping into runs.
"""

import json
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa
import pyarrow.compute
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake import failpoints
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

BERLIN = ZoneInfo("Europe/Berlin")
SHOP = """
pipeline: shop
sources: {sales: {format: json, path: sales}}
silver:
  sales:
    from: sales
    columns: {id: bigint, version: int, shop: string, who: string, at: timestamp, amount: bigint, gone: boolean}
    key: id
    sequence_by: version
    event_time: at
    delete_when: gone
gold:
  per_day:
    from: silver.sales
    window: {calendar: day, zone: Europe/Berlin}
    group_by: shop
    measures:
      sales: count(*)
      revenue: sum(amount)
      people: count(DISTINCT who)
      about_people: approx_count_distinct(who)
      hours: (unix_timestamp(window_end) - unix_timestamp(window_start)) / 3600
      late_sales: count_if(at >= window_end - INTERVAL 6 HOURS)
  closed_days:
    from: silver.sales
    window: {calendar: day, zone: Europe/Berlin}
    measures: {sales: count(*), revenue: sum(amount)}
    watermark: 0 seconds
    emit: append
  visits:
    from: silver.sales
    window: {gap: 3 hours}
    group_by: who
    measures:
      sales: count(*)
      seconds: max(unix_timestamp(at) - unix_timestamp(window_start))
      until: date_format(window_end, 'HH')
  per_week:
    from: gold.per_day
    window: {calendar: week, zone: Europe/Berlin}
    group_by: shop
    measures: {sales: sum(sales), revenue: sum(revenue), days: count(*), most_people: max(people)}
  so_far:
    from: gold.per_day
    window: {calendar: day, zone: Europe/Berlin}
    group_by: shop
    measures: {revenue: sum(revenue)}
    running: {revenue_so_far: sum(revenue), days: count(*), best: max(revenue)}
"""
COLUMNS = {
    "per_day": (
        "window_start",
        "window_end",
        "shop",
        "sales",
        "revenue",
        "people",
        "about_people",
        "hours",
        "late_sales",
    ),
    "closed_days": ("window_start", "window_end", "sales", "revenue"),
    "visits": ("window_start", "window_end", "who", "sales", "seconds", "until"),
    "per_week": ("window_start", "window_end", "shop", "sales", "revenue", "days", "most_people"),
    "so_far": ("window_start", "window_end", "shop", "revenue", "revenue_so_far", "days", "best"),
}


def draw_sales(seed: int) -> list[dict[str, Any]]:
    """Around the change of clocks of March 2024, some exactly a gap apart; with corrections that move a sale
    and deletes.
    """
    random, start = Random(seed), datetime(2024, 3, 28, tzinfo=UTC)
    sales = []
    for version in (1, 2):
        for key in range(60):
            if version == 1 or random.random() < 0.4:
                at = start + timedelta(minutes=90 * random.randrange(80))
                sales.append(
                    {
                        "id": key,
                        "version": version,
                        "shop": random.choice("ab"),
                        "who": random.choice("uvwxyz"),
                        "at": at.strftime("%Y-%m-%dT%H:%M:%SZ"),
                        "amount": random.randrange(100),
                        "gone": version == 2 and random.random() < 0.3,
                    }
                )
    return sales


SALES = draw_sales(7)


def newest() -> list[dict[str, Any]]:
    found = {sale["id"]: sale for sale in sorted(SALES, key=lambda sale: int(sale["version"]))}
    return [sale for sale in found.values() if not sale["gone"]]


def expected_days() -> dict[tuple[datetime, str], tuple[int, int, int, float]]:
    """By hand, by the calendar of Python."""
    days = defaultdict[tuple[datetime, str], list[dict[str, Any]]](list)
    for sale in newest():
        day = datetime.fromisoformat(sale["at"]).astimezone(BERLIN).date()
        days[datetime(day.year, day.month, day.day, tzinfo=BERLIN).astimezone(UTC), sale["shop"]].append(sale)
    found = {}
    for (start, shop), sales in days.items():
        day = start.astimezone(BERLIN).date() + timedelta(days=1)
        end = datetime(day.year, day.month, day.day, tzinfo=BERLIN).astimezone(UTC)
        people, revenue = {sale["who"] for sale in sales}, sum(sale["amount"] for sale in sales)
        found[start, shop] = (len(sales), revenue, len(people), (end - start).total_seconds() / 3600)
    return found


def done(workshop: Workshop) -> None:
    found = workshop.run("shop")
    assert found.status in (Status.OK, Status.NOTHING_TO_DO), found.message


def land(workshop: Workshop, name: str, sales: list[dict[str, Any]]) -> None:
    workshop.land(f"sales/{name}.json", "".join(f"{json.dumps(sale)}\n" for sale in sales))


def gold(workshop: Workshop) -> dict[str, list[tuple[Any, ...]]]:
    return {name: workshop.rows(f"shop.gold.{name}", *columns) for name, columns in COLUMNS.items()}


@pytest.fixture(scope="module")
def at_once(new_workshop: Callable[[], Workshop]) -> Workshop:
    workshop = new_workshop()
    workshop.write("conf/pipelines/shop.yml", SHOP)
    land(workshop, "all", SALES)
    done(workshop)
    return workshop


def test_days_are_those_of_the_calendar(at_once: Workshop) -> None:
    columns = ("window_start", "shop", "sales", "revenue", "people", "hours")
    days = {tuple(row[:2]): tuple(row[2:]) for row in at_once.rows("shop.gold.per_day", *columns)}

    assert days == expected_days()
    assert {hours for *_, hours in days.values()} == {23.0, 24.0}
    assert at_once.rows("shop.gold.per_day", "people") == at_once.rows("shop.gold.per_day", "about_people")


def test_totals_are_those_of_the_days_so_far(at_once: Workshop) -> None:
    days, wanted = expected_days(), list[tuple[Any, ...]]()
    for shop in "ab":
        total = 0
        for number, start in enumerate(sorted(start for start, where in days if where == shop), 1):
            total += days[start, shop][1]
            wanted.append((start, shop, total, number))

    assert sorted(
        at_once.rows("shop.gold.so_far", "window_start", "shop", "revenue_so_far", "days")
    ) == sorted(wanted)


def test_a_verification_finds_the_same(at_once: Workshop) -> None:
    assert verified(at_once, "shop") == []


@pytest.mark.parametrize(
    ("table", "column"), [("so_far", "revenue_so_far"), ("per_week", "revenue"), ("visits", "seconds")]
)
def test_a_verification_finds_what_is_wrong(
    at_once: Workshop, workshop: Workshop, table: str, column: str
) -> None:
    workshop = at_once.copied(workshop.root / "copy")
    path = f"{workshop.project.lake}/shop/gold/{table}"
    rows = DeltaTable(path).to_pyarrow_table()
    at = rows.schema.get_field_index(column)
    more = pa.compute.add(rows[column], 1).cast(rows.schema.field(at).type)
    write_deltalake(path, rows.set_column(at, rows.schema.field(at), more), mode="overwrite")

    assert verified(workshop, "shop") == [f"gold.{table}"]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_order_and_grouping_do_not_matter(at_once: Workshop, workshop: Workshop, seed: int) -> None:
    random = Random(seed)
    workshop.write("conf/pipelines/shop.yml", SHOP)
    sales = random.sample(SALES, len(SALES))
    cuts = sorted(random.sample(range(1, len(sales)), 2))
    for number, (start, end) in enumerate(zip([0, *cuts], [*cuts, len(sales)], strict=True)):
        land(workshop, f"{number}", sales[start:end])
        if number == 1:
            table = random.choice(list(COLUMNS))
            with failpoints.arm(f"{random.choice(['write', 'gate'])}.after:gold.{table}=raise"):
                workshop.run_beside_others("shop")
        done(workshop)

    assert gold(workshop) == gold(at_once)
    assert verified(workshop, "shop") == []

    if seed == 1:
        rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["gold.per_day"], start=workshop._start)
        assert rebuilt.status is Status.OK, rebuilt.message
        assert gold(workshop) == gold(at_once)
