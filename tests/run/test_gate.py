"""The gate before the publish: what is held, what readers see meanwhile, and the ways on."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from spark_jobs.config.errors import ConfigError
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.operations.account import sum_up
from spark_jobs.run.decide import decide
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import RunResult, Status
from tests.conftest import PROFILE, Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders}
  people: {format: csv, path: people}
dimensions:
  people: {from: people, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at, history: scd2}
silver:
  orders:
    from: orders
    columns: {id: bigint, v: int, person: bigint, at: timestamp, cents: bigint, kind: string}
    key: id
    sequence_by: v
    event_time: at
    lookup: {people: {on: person, take: city}}
gold:
  per_hour: {from: silver.orders, window: {size: 1 hour}, measures: {order_count: count(*), cents: sum(cents)}}
"""
RULES = """
expectations:
  cents_not_negative:
    type: expect_column_values_to_be_between
    kwargs: {column: cents, min_value: 0}
    on_fail: quarantine
    reason: Nobody is paid for buying.
  known_kind:
    type: expect_column_values_to_be_in_set
    kwargs: {column: kind, value_set: [web, till]}
    on_fail: quarantine
    reason: There are two ways to order.
  usual_mean:
    type: expect_column_mean_to_be_between
    kwargs: {column: cents, max_value: MEAN}
    on_fail: block
    reason: A mean above this is another unit.
  person_known:
    type: expect_column_values_to_not_be_null
    kwargs: {column: person}
    on_fail: warn
    reason: Most orders name a person.
"""


def order(number: int, version: int = 1, cents: int = 100, kind: str = "web", person: int | None = 1) -> str:
    at = f"2024-05-01T{number % 10:02}:00:00Z"
    return json.dumps({"id": number, "v": version, "person": person, "at": at, "cents": cents, "kind": kind}) + "\n"


def prepare(workshop: Workshop, mean: int = 1000) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("expectations/shop/silver.orders.yml", RULES.replace("MEAN", str(mean)))


def ids(workshop: Workshop) -> list[int]:
    return [row[0] for row in workshop.rows("shop.silver.orders", "id")]


def missing(workshop: Workshop) -> dict[str, int]:
    accounts = sum_up(workshop.project.pipelines["shop"], Lake(workshop.project.lake, "shop"))
    return {account["table"]: account["missing"] for account in accounts if account["missing"]}


def ledger(workshop: Workshop) -> Ledger:
    return Ledger(Lake(workshop.project.lake, "shop"))


def decided(workshop: Workshop, action: str, table: str = "silver.orders") -> RunResult:
    return decide(workshop.project, "shop", PROFILE, table, action, "ada@here", "it is right", start=workshop._start)  # type: ignore[arg-type]


@contextmanager
def polling(workshop: Workshop) -> Iterator[list[tuple[int, ...]]]:
    """The ids that a reader of the silver table sees, again and again, until the block ends."""
    seen, is_over = [tuple(ids(workshop))], threading.Event()

    def poll() -> None:
        while not is_over.wait(0.02):
            seen.append(tuple(ids(workshop)))

    reader = threading.Thread(target=poll)
    reader.start()
    try:
        yield seen
    finally:
        is_over.set()
        reader.join()


def test_rows_that_fail_a_rule_are_set_aside_with_all_their_reasons(workshop: Workshop) -> None:
    prepare(workshop)
    workshop.land("orders/1.json", order(1) + order(2, cents=-5, kind="fax") + order(3, person=None) + '{"id":"x"}\n')

    result = workshop.run("shop")

    assert result.exit_code == 0, result.message
    assert ids(workshop) == [1, 3]
    reasons = workshop.rows("shop.quarantine.silver.orders", "line", "reasons")[0][1]
    assert [(reason["rule"], reason["column"], reason["value"]) for reason in reasons] == [
        ("cents_not_negative", "cents", "-5"), ("known_kind", "kind", "fax"),
    ]  # fmt: skip
    found = {row["rule"]: (row["is_met"], row["rows"], row["failed"]) for row in ledger(workshop).rows("expectations")}
    assert found["cents_not_negative"] == (False, 4, 1)
    assert found["person_known"] == (False, 2, 1)
    assert found["usual_mean"][0] is True
    assert result.warnings == ("silver.orders: person_known is not met (1 of 2 rows, 50.0%): Most orders name a person.",)
    assert missing(workshop) == {}


def test_a_held_batch_publishes_nothing_and_a_mended_rule_lets_all_of_it_pass_once(workshop: Workshop) -> None:
    prepare(workshop)
    workshop.land("orders/1.json", order(1))
    workshop.run("shop")
    before = workshop.versions()
    workshop.land("orders/2.json", order(2, cents=50_000) + order(3, cents=-1))

    with polling(workshop) as seen:
        held = workshop.run("shop")
    again = workshop.run("shop")

    assert set(seen) == {(1,)}, "a reader saw something else than the last good version"
    assert (held.status, again.status) == (Status.BLOCKED, Status.BLOCKED)
    assert held.exit_code == 4
    assert "usual_mean" in held.message
    assert "weir release shop silver.orders" in held.message
    said = "silver.orders: 1 rows are held and none is published, because of usual_mean (found 50000.0)"
    assert held.as_dict()["held"] == [{"table": "silver.orders", "rules": ["usual_mean"], "rows": 1, "message": said}]
    after = workshop.versions()
    assert {name: after[name] for name in before if "/_weir/" not in name and "bronze" not in name} == {
        name: version for name, version in before.items() if "/_weir/" not in name and "bronze" not in name
    }
    assert "a batch that is held is judged again (usual_mean)" in workshop.plan("shop").as_dict()["reasons"][0]
    prepare(workshop, mean=100_000)
    mended = workshop.run("shop")
    assert mended.exit_code == 0, mended.message
    assert mended.held == ()
    assert ids(workshop) == [1, 2]
    assert [row[0] for row in workshop.rows("shop.gold.per_hour", "order_count")] == [1, 1]
    assert missing(workshop) == {}
    assert workshop.run("shop").status is Status.NOTHING_TO_DO


def test_a_released_batch_is_published_and_the_decision_is_recorded(workshop: Workshop) -> None:
    prepare(workshop)
    workshop.land("orders/1.json", order(1, cents=50_000))
    assert workshop.run("shop").status is Status.BLOCKED

    released = decided(workshop, "release")

    assert released.exit_code == 0, released.message
    assert ids(workshop) == [1]
    decisions = [(row["action"], row["decided_by"], row["reason"]) for row in ledger(workshop).rows("decisions")]
    assert decisions == [("release", "ada@here", "it is right")]
    assert [verdict.verdict for verdict in Verdicts(ledger(workshop)).all()] == ["blocked", "released"]
    workshop.land("orders/2.json", order(2, cents=50_000))
    assert workshop.run("shop").status is Status.BLOCKED, "a release is for one batch"


def test_a_batch_that_is_set_aside_goes_into_quarantine_and_later_ones_are_published(workshop: Workshop) -> None:
    prepare(workshop)
    workshop.land("orders/1.json", order(1, cents=50_000) + order(2, cents=50_000))
    assert workshop.run("shop").status is Status.BLOCKED
    workshop.land("orders/2.json", order(1, version=2) + order(2, version=2))

    aside = decided(workshop, "set_aside")
    after = workshop.run("shop")

    assert aside.exit_code == 0, aside.message
    assert after.exit_code == 0, after.message
    assert workshop.rows("shop.silver.orders", "id", "v") == [(1, 2), (2, 2)]
    kept = workshop.rows("shop.quarantine.silver.orders", "record", "reasons", "state")
    assert [(json.loads(record)["id"], reasons[0]["rule"], state) for record, reasons, state in kept] == [
        (1, "set aside", "open"), (2, "set aside", "open"),
    ]  # fmt: skip
    assert missing(workshop) == {}
    assert decided(workshop, "set_aside").status is Status.NOTHING_TO_DO


GOLD = """
expectations:
  few_orders_an_hour:
    type: expect_column_max_to_be_between
    kwargs: {column: order_count, max_value: 1}
    on_fail: block
    scope: table
    reason: There is one till.
"""


def test_a_gold_table_is_held_while_its_silver_table_is_published_and_can_only_be_released(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("expectations/shop/gold.per_hour.yml", GOLD)
    workshop.land("orders/1.json", order(1) + order(2))
    assert workshop.run("shop").exit_code == 0
    workshop.land("orders/2.json", order(11))

    held = workshop.run("shop")
    with pytest.raises(ConfigError, match="there are none of its own to set aside"):
        decided(workshop, "set_aside", "gold.per_hour")
    shown = [row[0] for row in workshop.rows("shop.gold.per_hour", "order_count")]
    rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["gold.per_hour"], start=workshop._start)
    released = decided(workshop, "release", "gold.per_hour")

    assert held.status is Status.BLOCKED
    assert "set-aside" not in held.message
    assert sorted(ids(workshop)) == [1, 2, 11]
    assert shown == [1, 1]
    assert (rebuilt.status, rebuilt.exit_code) == (Status.BLOCKED, 4)
    assert released.exit_code == 0, released.message
    assert sorted(row[0] for row in workshop.rows("shop.gold.per_hour", "order_count")) == [1, 2]


def test_a_correction_by_a_dimension_passes_the_gate_as_well(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    only_ulm = RULES.replace("column: cents, max_value: MEAN", "column: city, value_set: [Ulm]")
    only_ulm = only_ulm.replace("expect_column_mean_to_be_between", "expect_column_distinct_values_to_be_in_set")
    workshop.write("expectations/shop/silver.orders.yml", only_ulm)
    workshop.land("people/1.csv", "id,city,at\n1,Ulm,2024-01-01\n")
    workshop.land("orders/1.json", order(1))
    assert workshop.run("shop").exit_code == 0
    workshop.land("people/2.csv", "id,city,at\n1,Bonn,2024-02-01\n")
    stricter = only_ulm.replace("min_value: 0", "min_value: 101")  # the row that is there would not meet it, but nobody asks it
    workshop.write("expectations/shop/silver.orders.yml", stricter)

    held = workshop.run("shop")
    shown = workshop.rows("shop.silver.orders", "id", "city")
    released = decided(workshop, "release")

    assert held.status is Status.BLOCKED
    assert shown == [(1, "Ulm")]
    assert released.exit_code == 0, released.message
    assert workshop.rows("shop.silver.orders", "id", "city") == [(1, "Bonn")]
