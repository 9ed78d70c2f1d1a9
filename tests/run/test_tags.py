"""Rules with `on_fail: tag`: a published row names the rules of today that it fails, whatever came first: the
row, its member or the rule.
"""

import json
from collections import Counter
from collections.abc import Callable
from datetime import UTC, datetime
from random import Random

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.report.collect import collect_report
from spark_jobs.report.facts import RuleState
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

SHOP = """
pipeline: shop
sources:
  orders:  {format: json, path: orders}
  members: {format: csv, path: members}
dimensions:
  members:
    from: members
    key: id
    columns: {id: bigint, city: string, at: timestamp}
    sequence_by: at
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, version: int, at: timestamp, amount: bigint, parts: bigint}
    key: id
    sequence_by: version
    event_time: at
    lookup: {members: {on: member, take: city}}
  lines:
    from: orders
    explode: lines
    columns: {id: bigint, member: bigint, sku: {type: string, from: lines.sku}}
    lookup: {members: {on: member, take: city}}
"""
GOLD = """
gold:
  doubtful:
    from: silver.orders
    window: {size: 1 hour}
    measures:
      order_count: count(*)
      tagged: count_if(size(_failed_rules) > 0)
      unusual: count_if(array_contains(_failed_rules, 'amount_is_usual'))
  by_rule: {sql: sql/by_rule.sql}
"""
BY_RULE = (
    "SELECT rule, count(*) AS orders FROM silver.orders"
    " LATERAL VIEW explode(_failed_rules) AS rule GROUP BY rule"
)
ORDER_RULES = """
expectations:
  id_is_positive:
    {type: expect_column_values_to_be_between, kwargs: {column: id, min_value: LEAST}, on_fail: quarantine, reason: so}
  amount_is_usual:
    {type: expect_column_values_to_be_between, kwargs: {column: amount, max_value: MOST}, on_fail: tag, reason: so}
  city_is_known:
    {type: expect_column_values_to_not_be_null, kwargs: {column: city}, on_fail: tag, reason: so}
  parts_are_even:
    type: expect_column_values_to_not_be_null
    kwargs: {column: city, row_condition: "6 / parts > 2", condition_parser: spark}
    on_fail: tag
    reason: A condition that fails on a row is not met.
"""
LINE_RULES = """
expectations:
  sku_or_city:
    type: expect_column_pair_values_to_be_equal
    kwargs: {column_A: sku, column_B: city}
    on_fail: tag
    reason: so
"""
CITIES = {1: "Bonn", 2: "Köln"}
ORDERS = [
    {
        "id": number % 9 - 1,
        "member": number % 4,
        "version": number,
        "at": f"2024-01-01T0{number % 5}:10:00Z",
        "amount": number * 3,
        "parts": number % 4,
        "lines": [{"sku": "Bonn"}, {"sku": "Köln"}, {"sku": None}][: number % 4],
    }
    for number in range(24)
]


def rules(workshop: Workshop, most: int, least: int = 1) -> None:
    text = ORDER_RULES.replace("MOST", str(most)).replace("LEAST", str(least))
    workshop.write("expectations/shop/silver.orders.yml", text)
    workshop.write("expectations/shop/silver.lines.yml", LINE_RULES)


def land(workshop: Workshop, name: str, orders: list[dict[str, object]]) -> None:
    workshop.land(f"orders/{name}.json", "".join(f"{json.dumps(order)}\n" for order in orders))


def land_members(workshop: Workshop, *ids: int) -> None:
    for number in ids:
        row = f"{number},{CITIES[number]},2024-01-01 00:00:00"
        workshop.land(f"members/{number}.csv", f"id,city,at\n{row}\n")


def expected(most: int) -> dict[int, list[str]]:
    """By hand: the newest version of each key, and what it fails."""
    newest = {order["id"]: order for order in ORDERS if int(str(order["id"])) >= 1}
    found = {}
    for key, order in newest.items():
        has_city, parts = order["member"] in CITIES, int(str(order["parts"]))
        fails = {
            "amount_is_usual": int(str(order["amount"])) > most,
            "city_is_known": not has_city,
            "parts_are_even": parts == 0 or (6 / parts > 2 and not has_city),
        }
        found[int(str(key))] = [name for name, is_failed in fails.items() if is_failed]
    return found


def tags(workshop: Workshop) -> dict[int, list[str]]:
    return dict(workshop.rows("shop.silver.orders", "id", "_failed_rules"))


def tables(workshop: Workshop) -> dict[str, list[tuple[object, ...]]]:
    return {
        "orders": workshop.rows("shop.silver.orders", "id", "city", "amount", "_failed_rules"),
        "lines": workshop.rows("shop.silver.lines", "id", "sku", "city", "_failed_rules"),
        "doubtful": workshop.rows("shop.gold.doubtful", "window_start", "order_count", "tagged", "unusual"),
        "by_rule": workshop.rows("shop.gold.by_rule", "rule", "orders"),
    }


def done(workshop: Workshop) -> None:
    found = workshop.run("shop")
    assert found.status is Status.OK, found.message


@pytest.fixture(scope="module")
def at_once(new_workshop: Callable[[], Workshop]) -> Workshop:
    """Everything in one run, by the last rules."""
    workshop = new_workshop()
    workshop.write("conf/pipelines/shop.yml", SHOP + GOLD)
    workshop.write("conf/sql/by_rule.sql", BY_RULE)
    rules(workshop, 60)
    land(workshop, "all", ORDERS)
    land_members(workshop, 1, 2)
    done(workshop)
    return workshop


def test_rows_name_the_rules_that_they_fail(at_once: Workshop) -> None:
    assert tags(at_once) == expected(60)
    assert {len(names) for names in tags(at_once).values()} >= {0, 1, 2}
    assert verified(at_once, "shop") == []


def test_the_report_counts_them_and_finds_nothing_to_warn_of(at_once: Workshop) -> None:
    [run] = [
        row["run_id"]
        for row in Ledger(Lake(at_once.project.lake, "shop")).rows("runs")
        if row["event"] == "ended"
    ]
    report = collect_report(at_once.project, "shop", run, datetime(2030, 1, 1, tzinfo=UTC))
    [orders] = [table for table in report.tables if table.name == "silver.orders"]
    found = {rule.name: (rule.state, rule.failed) for rule in orders.rules}

    failed = Counter(name for names in expected(60).values() for name in names)
    assert {name: found[name] for name in failed} == {
        name: (RuleState.TAGGED, count) for name, count in failed.items()
    }
    assert not any("amount_is_usual" in note for note in report.verdict.notes)


@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.soak)])
def test_the_order_of_rows_members_and_rules_does_not_matter(
    at_once: Workshop, workshop: Workshop, seed: int
) -> None:
    random = Random(seed)
    workshop.write("conf/pipelines/shop.yml", SHOP + GOLD)
    workshop.write("conf/sql/by_rule.sql", BY_RULE)
    shuffled = random.sample(ORDERS, len(ORDERS))
    rules(workshop, 10, least=5)
    land(workshop, "a", shuffled[:9])
    land_members(workshop, *random.choice([(), (1,), (2,)]))
    done(workshop)
    land(workshop, "b", shuffled[9:15])
    rules(workshop, 25, least=1)
    done(workshop)
    assert verified(workshop, "shop") == []
    rules(workshop, 60, least=1)
    land(workshop, "c", shuffled[15:])
    land_members(workshop, 1, 2)
    done(workshop)

    # what came while ids had to be 5 or more is in quarantine: judged again it is published
    assert workshop.rows("shop.silver.lines", "id") == at_once.rows("shop.silver.lines", "id")
    rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["silver.orders"], start=workshop._start)
    assert rebuilt.status is Status.OK, rebuilt.message
    assert tables(workshop) == tables(at_once)
    assert verified(workshop, "shop") == []


def test_a_rule_that_changes_corrects_the_rows_that_are_there_and_only_those(
    at_once: Workshop, workshop: Workshop
) -> None:
    workshop = at_once.copied(workshop.root / "copy")
    before = dict(workshop.rows("shop.silver.orders", "id", "_processed_at"))
    rules(workshop, 55)

    with failpoints.arm("write.after:silver.orders@reenrich._failed_rules=raise"):
        assert workshop.run("shop").status is Status.FAILED
    done(workshop)

    assert tags(workshop) == expected(55) != expected(60)
    changed = {key for key in expected(55) if expected(55)[key] != expected(60)[key]}
    after = dict(workshop.rows("shop.silver.orders", "id", "_processed_at"))
    assert {key for key in after if after[key] != before[key]} == changed
    assert verified(workshop, "shop") == []
    assert workshop.run("shop").status is Status.NOTHING_TO_DO


def test_rules_of_a_run_that_came_to_no_end_leave_no_trace(at_once: Workshop, workshop: Workshop) -> None:
    workshop = at_once.copied(workshop.root / "copy")
    rules(workshop, 0)
    land(workshop, "more", [{**ORDERS[5], "id": 99}])
    with failpoints.arm("marker.after:silver.orders@stream=raise"):
        assert workshop.run("shop").status is Status.FAILED
    rules(workshop, 60)

    done(workshop)

    assert tags(workshop) == {**expected(60), 99: []}
    assert verified(workshop, "shop") == []


def test_rules_of_a_first_run_that_came_to_no_end_leave_no_trace(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", SHOP)
    rules(workshop, 0)
    land(workshop, "all", ORDERS)
    with failpoints.arm("marker.after:silver.orders@stream=raise"):
        assert workshop.run("shop").status is Status.FAILED
    for table in ("orders", "lines"):
        (workshop.root / f"expectations/shop/silver.{table}.yml").unlink()

    done(workshop)

    assert {tuple(names) for names in tags(workshop).values()} == {()}
    assert verified(workshop, "shop") == []


def test_a_lake_without_tags_gets_them_and_loses_them_with_the_last_rule(workshop: Workshop) -> None:
    counted = "\ngold:\n  hourly: {from: silver.orders, window: {size: 1 hour}, measures: {order_count: count(*)}}\n"
    workshop.write("conf/pipelines/shop.yml", SHOP + counted)
    land(workshop, "a", ORDERS[:12])
    done(workshop)
    assert "_failed_rules" not in workshop.project.pipelines["shop"].silver["orders"].columns

    rules(workshop, 60, least=-9)
    land(workshop, "b", ORDERS[12:])
    land_members(workshop, 1, 2)
    done(workshop)
    assert {key: names for key, names in tags(workshop).items() if key > 0} == expected(60)
    assert verified(workshop, "shop") == []

    for table in ("orders", "lines"):
        (workshop.root / f"expectations/shop/silver.{table}.yml").unlink()
    land(workshop, "c", [{**ORDERS[5], "id": 99}])
    done(workshop)
    assert {tuple(names) for names in tags(workshop).values()} == {()}
    assert verified(workshop, "shop") == []


def test_a_verification_finds_a_row_that_says_something_else(at_once: Workshop, workshop: Workshop) -> None:
    workshop = at_once.copied(workshop.root / "copy")
    path = f"{workshop.project.lake}/shop/silver/orders"
    rows = DeltaTable(path).to_pyarrow_table()
    tagged = [
        names if key != 3 else ["city_is_known"]
        for key, names in zip(rows["id"].to_pylist(), rows["_failed_rules"].to_pylist(), strict=True)
    ]
    assert tagged != rows["_failed_rules"].to_pylist()
    at = rows.schema.get_field_index("_failed_rules")
    damaged = rows.set_column(at, rows.schema.field(at), pa.array(tagged, rows.schema.field(at).type))
    write_deltalake(path, damaged, mode="overwrite")

    assert verified(workshop, "shop") == ["silver.orders"]
