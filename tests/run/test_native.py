"""Native stateful tables over time: rebuilt from what silver holds, behind their gate, and with rows that
come back from quarantine.
"""

import json
from contextlib import nullcontext
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.run.order import RunOrder
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.state import UnknownKey, read_state
from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop
from tests.verify.conftest import verified as differing_tables

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: feed
sources: {clicks: {format: json, path: clicks}, orders: {format: json, path: orders}}
silver:
  clicks: {from: clicks, columns: {id: string, user: {type: string, sensitive: true}, at: timestamp}, event_time: at}
  orders: {from: orders, columns: {id: string, user: string, at: timestamp}, event_time: at}
gold:
  once: {from: silver.clicks, where: id <> 'test', dedup: {on: id, within: 10 minutes}}
  pairs:
    join:
      kind: full
      left: {from: silver.clicks, watermark: 10 minutes}
      right: {from: silver.orders, watermark: 10 minutes}
      on: user
      within: {after: 5 minutes}
      take: {click: left.id, user: left.user, order: right.id}
"""

RULE = """
expectations:
  is_human:
    type: expect_column_values_to_not_match_regex
    kwargs: {column: user, regex: "^robot"}
    on_fail: quarantine
    reason: Robots order nothing.
"""


def rows(*found: tuple[str, str, int]) -> str:
    return "".join(
        f'{{"id":"{name}","user":"{user}","at":"2026-03-01T10:{minute:02}:00Z"}}\n'
        for name, user, minute in found
    )


def pairs(workshop: Workshop) -> list[tuple[Any, ...]]:
    return workshop.rows("feed.gold.pairs", "click", "order")


def test_a_native_table_begins_anew_from_all_that_silver_holds(
    workshop: Workshop, spark: SparkSession
) -> None:
    """An id is forgotten once the watermark has passed it, which moves between batches: a rebuild has one
    `a`, the runs had two.
    """
    workshop.write("conf/pipelines/feed.yml", PIPELINE)
    workshop.land("clicks/1.json", rows(("a", "u", 0), ("test", "u", 1)))
    workshop.land("orders/1.json", rows(("x", "u", 2), ("y", "v", 3)))
    first = workshop.run("feed")
    assert first.exit_code == 0, first.message
    workshop.land("clicks/2.json", rows(("b", "w", 41)))
    workshop.land("orders/2.json", rows(("z", "v", 42)))
    workshop.run("feed")
    workshop.land("clicks/3.json", rows(("a", "u", 43)))
    workshop.run("feed")
    assert workshop.rows("feed.gold.once", "id", "user") == [("a", "u"), ("a", "u"), ("b", "w")]
    assert pairs(workshop) == [("a", "x"), ("test", "x"), (None, "y")]

    held = read_state(
        spark, workshop.project.pipelines["feed"], "pairs", checkpoint(workshop, "pairs", 1), {}, 10
    )
    assert {store.name: store.rows for store in held.stores} == {"left": 2, "right": 1}
    assert "•••" in json.dumps(held.as_dict(), default=str, ensure_ascii=False)
    assert '"w"' not in json.dumps(held.as_dict(), default=str), "the user is sensitive"
    once = read_state(
        spark, workshop.project.pipelines["feed"], "once", checkpoint(workshop, "once", 1), {"id": "b"}, 10
    )
    assert [store.rows for store in once.stores] == [1]
    with pytest.raises(UnknownKey, match="--key: no store is keyed by page\n    allowed: id"):
        read_state(
            spark,
            workshop.project.pipelines["feed"],
            "once",
            checkpoint(workshop, "once", 1),
            {"page": "/"},
            10,
        )

    def start(order: RunOrder, consumed: Any) -> Any:
        return nullcontext(spark)

    rebuilt = rebuild_tables(workshop.project, "feed", PROFILE, ["silver.clicks"], start=start)
    assert rebuilt.exit_code == 0, rebuilt.message
    assert workshop.rows("feed.gold.once", "id") == [("a",), ("b",)]
    assert pairs(workshop) == [("a", "x"), ("test", "x"), (None, "y")]

    workshop.land("clicks/4.json", rows(("b", "w", 45), ("c", "v", 39)))
    after = workshop.run("feed")
    assert after.exit_code == 0, after.message
    assert workshop.rows("feed.gold.once", "id") == [("a",), ("b",), ("c",)]
    assert pairs(workshop) == [("a", "x"), ("c", "z"), ("test", "x"), (None, "y")]
    verified = verify_pipeline(workshop.project, "feed", PROFILE, start=lambda: nullcontext(spark))
    assert verified.exit_code == 0, verified


def test_a_row_without_a_partner_is_published_although_inputs_bring_rows_in_turn(workshop: Workshop) -> None:
    """Each run starts the query again, and Spark forgets how far an input without rows had come. A row that a
    rule quarantines shows it too, with the next one that is published.
    """
    workshop.write("conf/pipelines/feed.yml", PIPELINE)
    workshop.write("expectations/feed/silver.orders.yml", RULE)
    workshop.land("clicks/1.json", rows(("a", "u", 0)))
    workshop.land("orders/1.json", rows(("x", "v", 1)))
    deliveries = [
        ("clicks/2.json", rows(("b", "w", 40))),
        ("orders/2.json", rows(("q", "robot", 25))),
        ("orders/3.json", rows(("y", "w", 41), ("z", "t", 21))),
    ]
    held = {}
    for path, text in [("", ""), *deliveries, ("clicks/3.json", rows(("c", "s", 42)))]:
        if path:
            workshop.land(path, text)
        result = workshop.run("feed")
        assert result.exit_code == 0, result.message
        held[path] = pairs(workshop)
        if path == "orders/2.json":
            assert differing_tables(workshop, "feed") == []

    assert held["clicks/2.json"] == [], "the orders have come to 10:01"
    assert held["orders/2.json"] == [], "and no row came to the query since"
    assert held["orders/3.json"] == [("a", None), ("b", "y"), (None, "x"), (None, "z")]
    assert held["clicks/3.json"] == held["orders/3.json"]
    assert workshop.rows("feed.late.gold.pairs") == []
    offsets = sorted((workshop.root / "lake/feed/_weir/checkpoints/gold.pairs/g1/offsets").glob("[0-9]*"))
    assert {len(file.read_text(encoding="utf-8").splitlines()) for file in offsets} == {6}, (
        "sources as in checkpoints of before"
    )
    assert differing_tables(workshop, "feed") == []

    DeltaTable(workshop.root / "lake/feed/gold/pairs").delete("click = 'a'")
    assert differing_tables(workshop, "feed") == ["gold.pairs"]


def checkpoint(workshop: Workshop, table: str, generation: int) -> str:
    return f"{workshop.root}/lake/feed/_weir/checkpoints/gold.{table}/g{generation}"
