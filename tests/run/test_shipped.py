"""The shipped pipelines over the sample: after every delivery each table is what plain Python computes from
the landed files.
"""

from collections import Counter, defaultdict
from contextlib import nullcontext
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from spark_jobs.sample.write import write_sample
from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop
from tests.sample.oracle.answers import true_answers

pytestmark = pytest.mark.spark

GAP, WATERMARK = timedelta(minutes=30), timedelta(minutes=15)
PIPELINES = {
    "retail": [
        "dimension.customers",
        "dimension.products",
        "silver.orders",
        "silver.order_lines",
        "gold.revenue_per_hour",
        "gold.top_products",
    ],
    "clickstream": ["silver.clicks", "gold.clicks_per_page", "gold.page_funnel"],
}


def assert_true(workshop: Workshop, pipeline: str) -> None:
    """Every table, and the numbers of quarantined and filtered rows, against the true answers."""
    answers = true_answers(workshop.landing)
    for table in PIPELINES[pipeline]:
        columns = list(answers[table][0])
        assert workshop.rows(f"{pipeline}.{table}", *columns) == sorted(
            (tuple(row.values()) for row in answers[table]), key=repr
        ), table
    accounts = {
        row["table"]: row
        for row in sum_up(workshop.project.pipelines[pipeline], Lake(workshop.project.lake, pipeline))
    }
    expected = {row["table"]: row for row in answers["counts"] if row["table"] in accounts}
    for table, row in expected.items():
        assert {name: accounts[table][name] for name in ("quarantined", "filtered")} == {
            name: row[name] for name in ("quarantined", "filtered")
        }, table
        rows = workshop.rows(f"{pipeline}.quarantine.{table}", "line") if row["quarantined"] else []
        assert len(rows) == row["quarantined"], table
    assert {table: row["missing"] for table, row in accounts.items()} == dict.fromkeys(accounts, 0)


def assert_true_board(workshop: Workshop) -> None:
    """The sales board, run on what retail has published, is what the plain answers of all orders and
    customers add up to.
    """
    result = workshop.run("sales_board")
    assert result.exit_code == 0, result.message
    answers = true_answers(workshop.landing)
    days, segments = defaultdict[tuple[Any, ...], list[Any]](list), defaultdict[Any, list[Any]](list)
    for order in answers["silver.orders"]:
        day = order["ordered_at"].replace(hour=0, minute=0, second=0, microsecond=0)
        days[day, order["segment"]].append(order["amount"])
        segments[order["segment"]].append(order["amount"])
    expected = [(*key, len(amounts), _sum(amounts)) for key, amounts in days.items()]
    board = "sales_board.gold.revenue_per_day"
    assert workshop.rows(board, "window_start", "segment", "order_count", "revenue") == sorted(
        expected, key=repr
    )
    customers = Counter(row["segment"] for row in answers["dimension.customers"] if row["_valid_to"] is None)
    totals = [
        (name, count, len(segments[name]), _sum(segments[name]) or 0) for name, count in customers.items()
    ]
    found = workshop.rows("sales_board.gold.segments", "segment", "customer_count", "order_count", "revenue")
    assert found == sorted(totals, key=repr)


def assert_true_sessions(workshop: Workshop) -> None:
    """By hand from the clicks that were not late: a session is over once half an hour without a click lies
    behind the watermark.
    """
    clicks = workshop.rows("clickstream.silver.clicks", "user_id", "clicked_at", "_seen_until")
    on_time = [(user, at) for user, at, seen in clicks if seen is None or at > seen - WATERMARK]
    assert 0 < len(clicks) - len(on_time) == len(workshop.rows("clickstream.late.gold.user_sessions", "line"))
    sessions: list[list[Any]] = []
    for user, at in sorted(on_time, key=lambda click: (str(click[0]), click[1])):
        if sessions and sessions[-1][0] == user and at < sessions[-1][2] + GAP:
            sessions[-1][2:] = [at, sessions[-1][3] + 1]
        else:
            sessions.append([user, at, at, 1])
    over = [
        tuple(session) for session in sessions if session[2] + GAP <= max(at for _, at in on_time) - WATERMARK
    ]
    found = workshop.rows(
        "clickstream.gold.user_sessions", "user_id", "started_at", "ended_at", "click_count"
    )
    assert found == sorted(over, key=repr)


def assert_verified(workshop: Workshop, pipeline: str, spark: SparkSession) -> None:
    """`weir verify` finds every table as bronze gives it, and each has rows to compare."""
    found = verify_pipeline(workshop.project, pipeline, PROFILE, start=lambda: nullcontext(spark))
    assert (found.exit_code, found.status) == (0, "ok"), [
        check for check in found.tables if not check.is_equal
    ]
    assert set(PIPELINES[pipeline]) <= {check.table for check in found.tables if check.rows}


def _sum(amounts: list[Any]) -> Any:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_every_delivery_leaves_the_true_answers(
    shipped: Workshop, spark: SparkSession, pipeline: str
) -> None:
    for increment in range(2):
        write_sample(shipped.landing, orders=200, increment=increment)

        result = shipped.run(pipeline)

        assert result.exit_code == 0, result.message
        assert_true(shipped, pipeline)
        if pipeline == "retail":
            assert_true_board(shipped)
        if pipeline == "clickstream" and increment:
            assert_true_sessions(shipped)
    assert_verified(shipped, pipeline, spark)
    before = shipped.versions()
    assert Workshop(shipped.root, None).run(pipeline).status == "nothing_to_do"
    assert shipped.versions() == before


@pytest.mark.system  # `make test` has groupings of small pipelines: tests/faults/test_properties.py
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_all_deliveries_at_once_leave_the_true_answers(shipped: Workshop, pipeline: str) -> None:
    for increment in range(3):
        write_sample(shipped.landing, orders=200, increment=increment)

    result = shipped.run(pipeline)

    assert result.exit_code == 0, result.message
    assert_true(shipped, pipeline)
    if pipeline == "retail":
        assert_true_board(shipped)
    else:
        assert_true_sessions(shipped)
