"""What a change is as a message: key, value, headers, and nothing at all for a delete."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.sinks.delivery import SinkBatch
from spark_jobs.sinks.kafka import as_messages

pytestmark = pytest.mark.spark

CHANGES = "id bigint, shop string, at timestamp, _operation string, _version bigint, _row string"
TOLD = SinkBatch("retail/sink.out/g1/stream/4", "retail", "out", "silver.orders", 1, "stream", 4, False)
AT = datetime(2024, 5, 1, 8, 10, 0, 123456, tzinfo=UTC)


def messages(spark: SparkSession, key: list[str], operation: str | None = None) -> list[dict[str, Any]]:
    changes = [(1, "Ulm", AT, "update", 7, "a"), (2, None, None, "delete", 8, "b")]
    rows = as_messages(
        spark.createDataFrame(changes, CHANGES), TOLD, ["id", "shop", "at"], key, operation
    ).collect()
    return [
        {
            **row.asDict(),
            "headers": {header["key"]: bytes(header["value"]).decode() for header in row["headers"]},
        }
        for row in rows
    ]


def test_a_message_has_its_key_its_columns_and_what_tells_a_repeat(spark: SparkSession) -> None:
    changed, deleted = messages(spark, ["id"])

    assert (changed["key"], deleted["key"]) == ("1", "2")
    assert json.loads(changed["value"]) == {"id": 1, "shop": "Ulm", "at": "2024-05-01T08:10:00.123456Z"}
    assert deleted["value"] is None
    said = {
        "weir.table": "retail.silver.orders",
        "weir.batch": TOLD.id,
        "weir.version": "7",
        "weir.row": "a",
        "weir.operation": "update",
    }
    assert changed["headers"] == said


def test_several_key_columns_are_an_object_and_every_change_may_have_its_operation(
    spark: SparkSession,
) -> None:
    _, deleted = messages(spark, ["id", "shop"], "op")

    assert json.loads(deleted["key"]) == {"id": 2, "shop": None}
    assert json.loads(deleted["value"]) == {"id": 2, "shop": None, "at": None, "op": "delete"}
