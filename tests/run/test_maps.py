"""Columns that Spark cannot compare: maps in a dimension with history, and taken from it by a lookup."""

import json
from contextlib import nullcontext

import pytest
from pyspark.sql import SparkSession

from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop

PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders}
  members: {format: json, path: members}
dimensions:
  members:
    from: members
    key: id
    columns: {id: bigint, at: timestamp, prices: "map<string,int>", more: "struct<tags:array<map<string,timestamp>>>"}
    sequence_by: at
    ties: newest_arrival
    history: scd2
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, at: timestamp}
    event_time: at
    lookup:
      members: {on: member, take: [prices, more]}
"""


def member(day: int, price: int, tagged_at: str = "2026-01-01T00:00:00.000001Z") -> str:
    fields = {
        "id": 1,
        "at": f"2026-01-{day:02}T00:00:00Z",
        "prices": {"a": price, "b": None},
        "more": {"tags": [{"t": tagged_at}]},
    }
    return json.dumps(fields) + "\n"


@pytest.mark.spark
def test_a_history_with_maps_is_kept_and_taken_and_corrected(workshop: Workshop, spark: SparkSession) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land(
        "members/1.json",
        member(1, 10) + member(2, 10) + member(3, 30) + member(4, 30, "2026-01-01T00:00:00.000002Z"),
    )
    workshop.land("orders/1.json", '{"id": 1, "member": 1, "at": "2026-01-02T12:00:00Z"}\n')
    first = workshop.run("shop")
    workshop.land("members/2.json", member(2, 20))

    second = workshop.run("shop")

    assert (first.exit_code, second.exit_code) == (0, 0), (first.message, second.message)
    days = [at.day for (at,) in workshop.rows("shop.dimension.members", "_valid_from")]
    assert sorted(days) == [
        1,
        2,
        3,
        4,
    ], "each says something else than the one before, the last by a microsecond"
    assert [dict(prices) for (prices,) in workshop.rows("shop.silver.orders", "prices")] == [
        {"a": 20, "b": None}
    ]
    verified = verify_pipeline(workshop.project, "shop", PROFILE, start=lambda: nullcontext(spark))
    assert verified.exit_code == 0, verified
