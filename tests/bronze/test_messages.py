"""Messages become records in which the message's own fields cannot be written by its value."""

import json
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from spark_jobs.bronze.messages import NOT_AN_OBJECT, TAKES_OWN_NAME, message_rows
from spark_jobs.config.sources import KafkaSource

SOURCE = KafkaSource.model_validate({"format": "kafka", "servers": "localhost:9092", "topic": "orders"})
SENT_AT = datetime(2026, 1, 1, tzinfo=UTC)
MESSAGE = "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, " + (
    "headers array<struct<key:string,value:binary>>"
)


@pytest.mark.spark
def test_no_value_can_write_the_fields_of_its_message(spark: SparkSession) -> None:
    expected = {
        '{"id": 1, "note": "_key and _offset"}': None,
        '{"id": 2, "inner": {"_offset": 9}, "_id": 5}': None,
        '{"id": 3, "_offset": 99}': f"{TAKES_OWN_NAME}_offset",
        '{"id": 4, "_tombstone": true, "_key": "k"}': f"{TAKES_OWN_NAME}_key, _tombstone",
        r'{"id": 5, "\u005fke\u0079": "k"}': f"{TAKES_OWN_NAME}_key",
        '{"id": 6, "_KEY": "k"}': f"{TAKES_OWN_NAME}_key",
        r'{"id": 7, "_\u004bEY": "k"}': f"{TAKES_OWN_NAME}_key",
        "{'_timestamp': 1}": f"{TAKES_OWN_NAME}_timestamp",
        '{"_headers": {"shop": "x"}}],"x":[{"a":2}': f"{TAKES_OWN_NAME}_headers",
        '{"id": NaN, "_partition": 3}': NOT_AN_OBJECT,
    }
    headers = [("shop", b"first"), ("till", b"7"), ("shop", b"last")]
    rows = [("orders", 0, place, SENT_AT, b"own", value.encode(), headers) for place, value in enumerate(expected)]

    found = message_rows(spark.createDataFrame(rows, MESSAGE), SOURCE, None).orderBy("_line").collect()

    assert {value: row["_problem"] for value, row in zip(expected, found, strict=True)} == expected
    for place, (value, row) in enumerate(zip(expected, found, strict=True)):
        names = json.loads(row["record"], object_pairs_hook=lambda pairs: pairs)
        record = dict(names)
        assert len(record) == len(names), "each field once"
        assert (record["_key"], record["_offset"], record.get("_tombstone")) == ("own", place, None)
        assert record["_headers"] == [("till", "7"), ("shop", "last")]
        assert (record.get("_value") == value) is (row["_problem"] is not None)
