"""The gate before the publish: what is held, what readers see meanwhile, and the ways on."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config.errors import UsageError
from spark_jobs.lake import failpoints, streams
from spark_jobs.lake.checkpoints import Checkpoint
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.report.account import sum_up
from spark_jobs.run.decisions import decide
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
    return (
        json.dumps({"id": number, "v": version, "person": person, "at": at, "cents": cents, "kind": kind})
        + "\n"
    )


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


def decided(
    workshop: Workshop, action: str, table: str = "silver.orders", seen: str | None = None
) -> RunResult:
    start = workshop._start
    who, why = "ada@here", "it is right"
    return decide(workshop.project, "shop", PROFILE, table, action, who, why, start=start, seen=seen)  # type: ignore[arg-type]


@contextmanager
def looking(workshop: Workshop) -> Iterator[list[tuple[int, ...]]]:
    """The ids that a reader of the silver table sees at every point of the write path,
    until the block ends.
    """
    seen = [tuple(ids(workshop))]

    def look(point: str, table: str, step: str) -> None:
        seen.append(tuple(ids(workshop)))

    with failpoints.deciding(look):
        yield seen


def test_rows_that_fail_a_rule_are_set_aside_with_all_their_reasons(workshop: Workshop) -> None:
    prepare(workshop)
    workshop.land(
        "orders/1.json", order(1) + order(2, cents=-5, kind="fax") + order(3, person=None) + '{"id":"x"}\n'
    )

    result = workshop.run("shop")

    assert result.exit_code == 0, result.message
    assert ids(workshop) == [1, 3]
    reasons = workshop.rows("shop.quarantine.silver.orders", "line", "reasons")[0][1]
    assert [(reason["rule"], reason["column"], reason["value"]) for reason in reasons] == [
        ("cents_not_negative", "cents", "-5"), ("known_kind", "kind", "fax"),
    ]  # fmt: skip
    found = {
        row["rule"]: (row["is_met"], row["rows"], row["failed"])
        for row in ledger(workshop).rows("expectations")
    }
    assert found["cents_not_negative"] == (False, 4, 1)
    assert found["person_known"] == (False, 2, 1)
    assert found["usual_mean"][0] is True
    assert result.warnings == (
        "silver.orders: person_known is not met (1 of 2 rows, 50.0%): Most orders name a person.",
    )
    assert missing(workshop) == {}


def test_a_held_batch_publishes_nothing_and_a_mended_rule_lets_all_of_it_pass_once(
    workshop: Workshop,
) -> None:
    prepare(workshop)
    workshop.land("orders/1.json", order(1))
    workshop.run("shop")
    before = workshop.versions()
    workshop.land("orders/2.json", order(2, cents=50_000) + order(3, cents=-1))

    with looking(workshop) as seen:
        held = workshop.run("shop")
    stopped = decided(workshop, "hold")
    again = workshop.run("shop")

    assert stopped.exit_code == 0, stopped.message
    assert len(seen) > 5
    assert set(seen) == {(1,)}, "a reader saw something else than the last good version"
    assert (held.status, again.status) == (Status.BLOCKED, Status.BLOCKED)
    assert held.exit_code == 4
    assert "usual_mean" in held.message
    assert "weir release shop silver.orders" in held.message
    said = "silver.orders: batch blocked, 1 row not published; failed rule: usual_mean (found 50000.0)"
    [blocked] = held.as_dict()["blocked"]
    finding = {
        "rule": "usual_mean",
        "found": "found 50000.0",
        "severity": "warning",
        "reason": "A mean above this is another unit.",
    }
    known = {
        "table": "silver.orders",
        "rules": ["usual_mean"],
        "rows": 1,
        "message": said,
        "seen": again.blocked[0].seen,
    }
    known |= {"actions": ["release", "set_aside", "hold"]}
    assert blocked == {**known, "findings": [finding], "stopped": None}
    assert again.blocked[0].stopped == {
        "by": "ada@here",
        "reason": "it is right",
    }, "whom nobody has to ask the same again"
    after = workshop.versions()
    assert {name: after[name] for name in before if "/_weir/" not in name and "bronze" not in name} == {
        name: version for name, version in before.items() if "/_weir/" not in name and "bronze" not in name
    }
    assert (
        "a batch that is blocked is judged again (usual_mean)"
        in workshop.plan("shop").as_dict()["reasons"][0]
    )
    prepare(workshop, mean=100_000)
    mended = workshop.run("shop")
    assert mended.exit_code == 0, mended.message
    assert mended.blocked == ()
    assert ids(workshop) == [1, 2]
    assert [row[0] for row in workshop.rows("shop.gold.per_hour", "order_count")] == [1, 1]
    assert missing(workshop) == {}
    assert workshop.run("shop").status is Status.NOTHING_TO_DO


@pytest.fixture(scope="module")
def blocked_at_once(new_workshop: Callable[[], Workshop]) -> Workshop:
    """A lake whose first batch is blocked; a row of it breaks a rule as well. Not to be touched: it is
    copied.
    """
    workshop = new_workshop()
    prepare(workshop)
    workshop.land("orders/1.json", order(1, cents=50_000) + order(2, cents=50_000) + order(3, cents=-1))
    assert workshop.run("shop").status is Status.BLOCKED
    return workshop


def test_a_released_batch_is_published_and_the_decision_is_recorded(
    blocked_at_once: Workshop, tmp_path: Path
) -> None:
    workshop = blocked_at_once.copied(tmp_path / "home")

    released = decided(workshop, "release")

    assert released.exit_code == 0, released.message
    assert ids(workshop) == [1, 2]
    decisions = [
        (row["action"], row["decided_by"], row["reason"]) for row in ledger(workshop).rows("decisions")
    ]
    assert decisions == [("release", "ada@here", "it is right")]
    assert [verdict.verdict for verdict in Verdicts(ledger(workshop)).all()] == ["blocked", "released"]
    workshop.land("orders/2.json", order(4, cents=50_000))
    assert workshop.run("shop").status is Status.BLOCKED, "a release is for one batch"


def test_a_batch_that_is_set_aside_goes_into_quarantine_and_later_ones_are_published(
    blocked_at_once: Workshop, tmp_path: Path
) -> None:
    workshop = blocked_at_once.copied(tmp_path / "home")
    workshop.land("orders/2.json", order(1, version=2) + order(2, version=2))

    aside = decided(workshop, "set_aside")
    after = workshop.run("shop")

    assert aside.exit_code == 0, aside.message
    assert after.exit_code == 0, after.message
    assert workshop.rows("shop.silver.orders", "id", "v") == [(1, 2), (2, 2)]
    kept = workshop.rows("shop.quarantine.silver.orders", "record", "reasons", "state")
    assert [(json.loads(record)["id"], reasons[0]["rule"], state) for record, reasons, state in kept] == [
        (1, "set aside", "open"), (2, "set aside", "open"), (3, "cents_not_negative", "open"),
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


def test_a_gold_table_is_held_while_its_silver_table_is_published_and_can_only_be_released(
    workshop: Workshop,
) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("expectations/shop/gold.per_hour.yml", GOLD)
    workshop.land("orders/1.json", order(1) + order(2))
    assert workshop.run("shop").exit_code == 0
    workshop.land("orders/2.json", order(11))

    held = workshop.run("shop")
    with pytest.raises(UsageError, match=r"TABLE: (.|\n)*there are none of its own to set aside"):
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
    only_ulm = only_ulm.replace(
        "expect_column_mean_to_be_between", "expect_column_distinct_values_to_be_in_set"
    )
    workshop.write("expectations/shop/silver.orders.yml", only_ulm)
    workshop.land("people/1.csv", "id,city,at\n1,Ulm,2024-01-01\n")
    workshop.land("orders/1.json", order(1))
    assert workshop.run("shop").exit_code == 0
    workshop.land("people/2.csv", "id,city,at\n1,Bonn,2024-02-01\n")
    # the row that is there would not meet it, but nobody asks it
    stricter = only_ulm.replace("min_value: 0", "min_value: 101")
    workshop.write("expectations/shop/silver.orders.yml", stricter)

    held = workshop.run("shop")
    shown = workshop.rows("shop.silver.orders", "id", "city")
    released = decided(workshop, "release")

    assert held.status is Status.BLOCKED
    assert shown == [(1, "Ulm")]
    assert released.exit_code == 0, released.message
    assert workshop.rows("shop.silver.orders", "id", "city") == [(1, "Bonn")]


STOCK = """
pipeline: shop
sources: {items: {format: json, path: items}}
silver:
  items:
    from: items
    columns: {id: bigint, v: int, kind: string, at: timestamp, price: bigint, gone: boolean}
    key: id
    sequence_by: v
    event_time: at
    delete_when: gone
gold:
  per_hour: {from: silver.items, window: {size: 1 hour}, measures: {item_count: count(*)}}
  per_kind: {from: silver.items, group_by: kind, measures: {top: max(price)}}
"""
NOT_EMPTY = """
expectations:
  has_rows:
    type: expect_table_row_count_to_be_between
    kwargs: {min_value: 1}
    on_fail: block
    scope: table
    reason: An empty table is a broken feed.
"""
CHEAP = """
expectations:
  cheap:
    type: expect_column_max_to_be_between
    kwargs: {column: top, max_value: 100}
    on_fail: block
    reason: Nothing here costs more.
"""


def item(number: int, version: int = 1, price: int = 10, gone: bool = False) -> str:
    return (
        json.dumps(
            {
                "id": number,
                "v": version,
                "kind": "a",
                "at": "2024-05-01T00:00:00Z",
                "price": price,
                "gone": gone,
            }
        )
        + "\n"
    )


def test_a_batch_that_only_removes_rows_is_judged_in_every_layer(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", STOCK)
    for table, scope in (("silver.items", "table"), ("gold.per_hour", "table"), ("gold.per_kind", "batch")):
        workshop.write(f"expectations/shop/{table}.yml", NOT_EMPTY.replace("scope: table", f"scope: {scope}"))
    workshop.land("items/1.json", item(1) + item(2))
    assert workshop.run("shop").exit_code == 0
    workshop.write(
        "conf/pipelines/shop.yml", STOCK.replace("delete_when: gone", "delete_when: gone\n    where: 'false'")
    )
    rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["silver.items"], start=workshop._start)
    workshop.write("conf/pipelines/shop.yml", STOCK)
    workshop.land("items/2.json", item(1, 2, gone=True) + item(2, 2, gone=True))

    held = workshop.run("shop")
    while_blocked = [row[0] for row in workshop.rows("shop.silver.items", "id")]
    released = decided(workshop, "release", "silver.items")

    assert (rebuilt.status, "has_rows (found 0)" in rebuilt.message) == (
        Status.BLOCKED,
        True,
    ), rebuilt.message
    assert held.status is Status.BLOCKED
    assert (
        "silver.items: batch blocked, which only removes rows; failed rule: has_rows (found 0)"
        in held.message
    )
    assert while_blocked == [1, 2]
    assert workshop.rows("shop.silver.items", "id") == []
    assert sorted(blocked.table for blocked in released.blocked) == [
        "gold.per_hour",
        "gold.per_kind",
    ], released.message
    assert (
        workshop.rows("shop.gold.per_hour", "item_count"),
        workshop.rows("shop.gold.per_kind", "top"),
    ) == ([(2,)], [(10,)])
    assert missing(workshop) == {}


def test_a_rebuild_is_judged_as_the_table_that_it_makes_and_not_by_its_first_batch(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta gives a table a thousand files at a time: here one."""
    workshop.write("conf/pipelines/shop.yml", STOCK.partition("gold:")[0])
    for number in (1, 2):
        workshop.land(f"items/{number}.json", item(number))
        assert workshop.run("shop").exit_code == 0
    workshop.write("expectations/shop/silver.items.yml", NOT_EMPTY.replace("min_value: 1", "min_value: 2"))
    read_rows = streams.read_rows

    def read_bounded(
        spark: SparkSession, path: str, files_per_batch: int = 1, checkpoint: Checkpoint | None = None
    ) -> DataFrame:
        return read_rows(spark, path, files_per_batch, checkpoint)

    monkeypatch.setattr(streams, "read_rows", read_bounded)

    rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["silver.items"], start=workshop._start)

    assert rebuilt.exit_code == 0, rebuilt.message
    assert workshop.rows("shop.silver.items", "id") == [(1,), (2,)]


def test_a_release_lets_nothing_pass_but_what_was_seen(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", STOCK)
    workshop.write("expectations/shop/gold.per_kind.yml", CHEAP)
    workshop.land("items/1.json", item(1, price=101))
    seen = workshop.run("shop").blocked[0].seen
    with failpoints.arm("write.before:gold.per_kind=raise"):
        cut = decided(workshop, "release", "gold.per_kind", seen)
    workshop.land("items/2.json", item(2, price=999_999_999))

    other = workshop.run("shop")
    late = decided(workshop, "release", "gold.per_kind", seen)
    with failpoints.arm("marker.before:gold.per_kind=raise"):
        published = decided(workshop, "release", "gold.per_kind", other.blocked[0].seen)
    again = workshop.run("shop")

    assert (cut.status, other.status, late.status) == (Status.FAILED, Status.BLOCKED, Status.BLOCKED)
    assert published.status is Status.FAILED
    assert (
        "the release by ada@here was about something else and does not hold (cheap: 101 then, 999999999 now"
        in other.message
    )
    assert "cheap: 101 then, 999999999 now; changed since: silver.items); nothing was decided" in late.message
    assert again.exit_code == 0, again.message
    assert workshop.rows("shop.gold.per_kind", "top") == [(999_999_999,)]
    assert [row["action"] for row in ledger(workshop).rows("decisions")] == ["release", "release"]


def test_a_batch_that_is_set_aside_and_cut_goes_into_quarantine_once(
    blocked_at_once: Workshop, tmp_path: Path
) -> None:
    workshop = blocked_at_once.copied(tmp_path / "home")

    for point in ("gate.after:silver.orders", "write.after:quarantine.silver.orders"):
        with failpoints.arm(f"{point}@stream=raise"):
            result = decided(workshop, "set_aside") if point.startswith("gate") else workshop.run("shop")
            assert result.status is Status.FAILED, result.message
    ended = workshop.run("shop")

    assert ended.exit_code == 0, ended.message
    kept = workshop.rows("shop.quarantine.silver.orders", "line", "reasons")
    assert [(line, reasons[0]["rule"]) for line, reasons in kept] == [
        (1, "set aside"),
        (2, "set aside"),
        (3, "cents_not_negative"),
    ]
    assert (ids(workshop), missing(workshop)) == ([], {})
    assert [verdict.verdict for verdict in Verdicts(ledger(workshop)).all()] == ["blocked", "set_aside"]


BILLING = """
pipeline: shop
sources:
  lines: {format: json, path: lines}
  invoices: {format: json, path: invoices}
  refunds: {format: json, path: refunds}
silver:
  lines: {from: lines, columns: {invoice: bigint, cents: bigint}}
  invoices: {from: invoices, columns: {id: bigint, at: timestamp}, event_time: at}
  refunds: {from: refunds, columns: {id: bigint, at: timestamp}, event_time: at}
gold:
  refunds_per_day: {from: silver.refunds, window: {size: 1 day}, measures: {refund_count: count(*)}}
"""
BILLED = """
expectations:
  has_invoice:
    type: expect_column_values_to_be_in_other_table
    kwargs: {column: invoice, other_table: silver.invoices, other_column: id}
    on_fail: block
    reason: A line without an invoice is paid by nobody.
  was_refunded:
    type: expect_column_values_to_be_in_other_table
    kwargs: {column: invoice, other_table: silver.refunds, other_column: id}
    on_fail: warn
    reason: Most are.
  few_refunds:
    type: unexpected_rows_expectation
    kwargs:
      unexpected_rows_query: >-
        SELECT line.* FROM {batch} AS line CROSS JOIN gold.refunds_per_day AS day WHERE day.refund_count > 5
    on_fail: block
    reason: More are a mistake.
"""
KNOWN_IDS = """
expectations:
  known_id:
    type: expect_column_max_to_be_between
    kwargs: {column: id, max_value: 10}
    on_fail: block
    reason: There are ten.
"""


def test_a_table_comes_after_those_that_its_rules_read_and_one_that_is_not_there_yet_is_empty(
    workshop: Workshop,
) -> None:
    workshop.write("conf/pipelines/shop.yml", BILLING)
    workshop.write("expectations/shop/silver.lines.yml", BILLED)
    workshop.write("expectations/shop/silver.invoices.yml", KNOWN_IDS)
    workshop.land("lines/1.json", '{"invoice": 1, "cents": 5}\n')
    workshop.land("invoices/1.json", '{"id": 1, "at": "2024-05-01T00:00:00Z"}\n')

    first = workshop.run("shop")
    workshop.land("lines/2.json", '{"invoice": 11, "cents": 5}\n')
    workshop.land("invoices/2.json", '{"id": 11, "at": "2024-05-01T00:00:00Z"}\n')
    held = workshop.run("shop")

    assert first.exit_code == 0, first.message
    assert first.warnings == ("silver.lines: was_refunded is not met (1 of 1 row, 100.0%): Most are.",)
    assert workshop.rows("shop.silver.lines", "invoice") == [(1,)]
    states = {run.table: run.state.value for run in held.tables}
    assert (states["silver.invoices"], states["silver.lines"]) == ("blocked", "not_reached"), held.message


VISITS = """
pipeline: shop
sources: {items: {format: json, path: items}, places: {format: json, path: places}}
dimensions:
  places:
    from: places
    key: id
    columns: {id: bigint, city: string, at: timestamp}
    sequence_by: at
    history: scd2
    ties: newest_arrival
silver:
  items:
    from: items
    columns: {id: bigint, v: int, kind: string, at: timestamp, seen: timestamp, gone: boolean}
    key: id
    sequence_by: v
    event_time: at
    delete_when: gone
gold:
  visits: {from: silver.items, window: {gap: 10 minutes}, group_by: kind, measures: {last: max(seen)}}
  closed: {from: silver.items, window: {size: 1 hour}, measures: {item_count: count(*)}, watermark: 1 hour, emit: append}
"""


def visit(number: int, version: int, hour: int, micros: int = 1, gone: bool = False) -> str:
    at, seen = f"2024-05-01T{hour:02}:00:00Z", f"2024-05-01T00:00:00.{micros:06}Z"
    return (
        json.dumps({"id": number, "v": version, "kind": str(number), "at": at, "seen": seen, "gone": gone})
        + "\n"
    )


def test_sessions_closed_windows_and_histories_that_shrink_are_judged(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", VISITS)
    for table, least in (("gold.visits", 2), ("gold.closed", 1), ("dimension.places", 3)):
        workshop.write(
            f"expectations/shop/{table}.yml", NOT_EMPTY.replace("min_value: 1", f"min_value: {least}")
        )
    workshop.land("items/1.json", visit(1, 1, 0) + visit(2, 1, 5))
    cities = [
        {"id": 1, "city": city, "at": f"2024-01-0{day}"}
        for day, city in enumerate(("Bonn", "Kiel", "Bonn"), 1)
    ]
    workshop.land("places/1.json", "".join(json.dumps(city) + "\n" for city in cities))
    assert workshop.run("shop").exit_code == 0
    workshop.land("items/2.json", visit(2, 2, 5, micros=2))
    assert workshop.run("shop").exit_code == 0
    last = [row[0].microsecond for row in workshop.rows("shop.gold.visits", "last")]
    workshop.land("items/3.json", visit(1, 2, 0, gone=True))
    workshop.land("places/2.json", json.dumps({"id": 1, "city": "Bonn", "at": "2024-01-02"}) + "\n")

    held = workshop.run("shop")

    assert last == [1, 2], "a measure that moved by a microsecond is another one"
    assert sorted(blocked.table for blocked in held.blocked) == [
        "dimension.places",
        "gold.closed",
        "gold.visits",
    ], held.message
    assert [
        len(workshop.rows(f"shop.{table}")) for table in ("gold.visits", "gold.closed", "dimension.places")
    ] == [2, 1, 3]


UNANSWERED = """
expectations:
  condition:
    type: expect_column_values_to_be_between
    kwargs: {column: v, max_value: 0, row_condition: 100 / price > 1, condition_parser: spark}
    on_fail: warn
    reason: Who knows.
  query:
    type: unexpected_rows_expectation
    kwargs: {unexpected_rows_query: "SELECT * FROM {batch} WHERE 100 / price > 1000"}
    on_fail: block
    reason: Who knows.
  clock:
    type: unexpected_rows_expectation
    kwargs: {unexpected_rows_query: "SELECT * FROM {batch} WHERE coalesce(at, kind) < at"}
    on_fail: warn
    reason: Who knows.
"""


def test_a_rule_whose_sql_fails_on_a_row_does_not_hold(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", STOCK.partition("gold:")[0])
    workshop.write("expectations/shop/silver.items.yml", UNANSWERED)
    workshop.land("items/1.json", item(1, price=0))

    result = workshop.run("shop")

    found = {row["rule"]: (row["is_met"], row["problem"]) for row in ledger(workshop).rows("expectations")}
    assert (result.status, "query: Spark: DIVIDE_BY_ZERO" in result.message) == (
        Status.FAILED,
        True,
    ), result.message
    assert found["condition"] == found["query"] == (False, "Spark: DIVIDE_BY_ZERO")
    assert found["clock"][0] is False
    assert "takes a time out of text" in found["clock"][1]
    assert workshop.rows("shop.silver.items") == []
