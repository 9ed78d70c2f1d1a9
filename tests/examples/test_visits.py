"""docs/stateful.md: one file with sessions, dedup, a stream-stream join and state with a time to live."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.report.account import account_of
from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop

pytestmark = pytest.mark.spark

TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def clicks(*rows: tuple[str, int, str, int]) -> str:
    """(click, user, page, minutes after ten)"""
    lines = [
        (click, user, page, (TEN + timedelta(minutes=minutes)).isoformat())
        for click, user, page, minutes in rows
    ]
    return "".join(
        f'{{"click_id":"{c}","user_id":{u},"page":"{p}","clicked_at":"{at}"}}\n' for c, u, p, at in lines
    )


def orders(*rows: tuple[int, int, str, int]) -> str:
    lines = [
        (order, user, amount, (TEN + timedelta(minutes=minutes)).isoformat())
        for order, user, amount, minutes in rows
    ]
    return "".join(
        f'{{"order_id":{o},"user_id":{u},"amount":{a},"ordered_at":"{at}"}}\n' for o, u, a, at in lines
    )


def run(workshop: Workshop) -> dict[str, Any]:
    result = workshop.run("visits")
    assert result.exit_code == 0, result.message
    return {table.table: table.counts for table in result.tables}


def sessions(workshop: Workshop) -> list[tuple[Any, ...]]:
    rows = workshop.rows(
        "visits.gold.sessions", "user_id", "window_start", "window_end", "click_count", "page_count"
    )
    minute = timedelta(minutes=1)
    return sorted(
        (user, (start - TEN) // minute, (end - TEN) // minute, *rest) for user, start, end, *rest in rows
    )


def test_clicks_become_sessions_unique_clicks_and_clicks_with_orders(
    examples: Workshop, spark: SparkSession
) -> None:
    examples.land(
        "visits/clicks/1.json",
        clicks(("a", 1, "/", 0), ("b", 1, "/basket", 20), ("a", 1, "/", 0), ("c", 2, "/", 5)),
    )
    examples.land("visits/orders/1.json", orders((1, 1, "9.50", 30)))

    first = run(examples)

    assert sessions(examples) == [(1, 0, 50, 3, 2), (2, 5, 35, 1, 1)]
    assert examples.rows("visits.gold.unique_clicks", "click_id") == [("a",), ("b",), ("c",)]
    assert (
        first["gold.unique_clicks"].as_dict() | {"rows_in": 4, "inserted": 3, "duplicate": 1}
        == first["gold.unique_clicks"].as_dict()
    )
    for clicked, event, arrived, processed in examples.rows(
        "visits.gold.unique_clicks", "clicked_at", "_event_at", "_arrived_at", "_processed_at"
    ):
        assert clicked == event < arrived < processed, "the three times: of the fact, of its file, of the row"
    price = Decimal("9.50")
    assert examples.rows("visits.gold.clicks_with_orders", "click_id", "order_id", "amount") == [
        ("a", 1, price),
        ("a", 1, price),
        ("b", 1, price),
    ]
    assert examples.rows("visits.gold.first_clicks", "user_id", "click_id") == [(1, "a"), (2, "c")]

    examples.land("visits/clicks/2.json", clicks(("d", 2, "/", 200), ("e", 1, "/", 201)))
    examples.land("visits/orders/2.json", orders((2, 2, "1.00", 210)))
    run(examples)

    assert sessions(examples) == [
        (1, 0, 50, 3, 2),
        (1, 201, 231, 1, 1),
        (2, 5, 35, 1, 1),
        (2, 200, 230, 1, 1),
    ]
    found = examples.rows("visits.gold.clicks_with_orders", "click_id", "order_id")
    assert found == [("a", 1), ("a", 1), ("b", 1), ("c", None), ("d", 2)], (
        "the click that no order can follow any more has NULL"
    )
    assert examples.rows("visits.gold.first_clicks", "user_id", "click_id") == [(1, "a"), (2, "c")]

    examples.land("visits/clicks/3.json", clicks(("x", 1, "/late", 25), ("f", 1, "/", 202)))
    third = run(examples)

    assert sessions(examples) == [
        (1, 0, 55, 4, 3),
        (1, 201, 232, 2, 1),
        (2, 5, 35, 1, 1),
        (2, 200, 230, 1, 1),
    ], "sessions take it in"
    for table in ("unique_clicks", "clicks_with_orders"):
        assert third[f"gold.{table}"].late == 1
        [late] = examples.rows(f"visits.late.gold.{table}", "input", "event_at", "file", "line")
        assert late == ("silver.clicks", TEN + timedelta(minutes=25), "visits/clicks/3.json", 1)
    [behind] = examples.rows("visits.late.gold.clicks_with_orders", "watermark_at", "late_seconds", "reason")
    assert behind == (TEN + timedelta(minutes=191), 166 * 60.0, "it came after its table had seen later rows")
    assert examples.rows("visits.gold.unique_clicks", "click_id") == [
        ("a",),
        ("b",),
        ("c",),
        ("d",),
        ("e",),
        ("f",),
    ]
    assert [
        table["table"] for table in account_of(examples.project, "visits")["tables"] if table["missing"]
    ] == []
    verified = verify_pipeline(examples.project, "visits", PROFILE, start=lambda: nullcontext(spark))
    assert verified.exit_code == 0, verified
    assert verified.message.endswith("not recomputed: gold.first_clicks")
