"""Messages become records in which the message's own fields cannot be written by its value."""

import json
from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession

from spark_jobs.bronze.messages import NOT_AN_OBJECT, NOT_AVRO, TAKES_OWN_NAME, message_rows
from spark_jobs.config.sources import KafkaSource

SOURCE = KafkaSource.model_validate({"format": "kafka", "servers": "localhost:9092", "topic": "orders"})
SENT_AT = datetime(2026, 1, 1, tzinfo=UTC)
MESSAGE = "topic string, partition int, offset bigint, timestamp timestamp, key binary, value binary, " + (
    "headers array<struct<key:string,value:binary>>"
)


@pytest.mark.spark
def test_a_value_that_is_no_object_is_named_and_none_can_write_the_fields_of_its_message(
    spark: SparkSession,
) -> None:
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
        '[{"id": 8}]': f"{NOT_AN_OBJECT}: it is an array",
        '"{}"': f"{NOT_AN_OBJECT}: it is a text in quotes",
        " -12.5e3": f"{NOT_AN_OBJECT}: it is a number",
        "null": f"{NOT_AN_OBJECT}: it is true, false or null",
        " ": f"{NOT_AN_OBJECT}: it is empty",
        '\ufeff{"id": 9}': f"{NOT_AN_OBJECT}: a byte order mark stands before it",
        "hello": NOT_AN_OBJECT,
    }
    headers = [("shop", b"first"), ("till", b"7"), ("shop", b"last")]
    rows = [
        ("orders", 0, place, SENT_AT, b"own", value.encode(), headers) for place, value in enumerate(expected)
    ]

    found = message_rows(spark.createDataFrame(rows, MESSAGE), SOURCE, None).orderBy("_line").collect()

    assert {value: row["_problem"] for value, row in zip(expected, found, strict=True)} == expected
    for place, (value, row) in enumerate(zip(expected, found, strict=True)):
        names = json.loads(row["record"], object_pairs_hook=lambda pairs: pairs)
        record = dict(names)
        assert len(record) == len(names), "each field once"
        assert (record["_key"], record["_offset"], record.get("_tombstone")) == ("own", place, None)
        assert record["_headers"] == [("till", "7"), ("shop", "last")]
        assert (record.get("_value") == value) is (row["_problem"] is not None)


@pytest.mark.spark
def test_a_message_that_is_too_long_is_set_aside_with_its_place_and_size(spark: SparkSession) -> None:
    long, short = b"x" * 900, b'{"id": 1}'
    sent = [
        (b"k", short, []),
        (b"k", b'{"id": "' + long * 2 + b'"}', []),
        (long, None, [("h", long)]),
        # short as it was sent, and longer than allowed as the text of a record
        (None, b'["' + b"\n" * 600 + b'"]', []),
        (None, b"[" + long[:500] + b"]", []),
    ]
    rows = [
        ("orders", 3, place, SENT_AT, key, value, headers)
        for place, (key, value, headers) in enumerate(sent, 7)
    ]
    source = SOURCE.model_copy(update={"bytes_per_record": 1000})

    found = message_rows(spark.createDataFrame(rows, MESSAGE), source, None).orderBy("_line").collect()

    assert [(row["_line"], row["record"] is None, row["_problem"]) for row in found] == [
        (8, False, None),
        (9, True, "a record of 1,811 bytes, longer than bytes_per_record allows: 1,000"),
        (10, True, "a record of 1,801 bytes, longer than bytes_per_record allows: 1,000"),
        (11, True, "a record of 1,316 bytes, longer than bytes_per_record allows: 1,000"),
        (12, False, f"{NOT_AN_OBJECT}: it is an array"),
    ]


@pytest.mark.spark
def test_an_avro_value_that_is_longer_than_its_bytes_say_is_set_aside_with_its_size(
    spark: SparkSession,
) -> None:
    nulls = {
        "type": "record",
        "name": "r",
        "fields": [{"name": "n", "type": {"type": "array", "items": "null"}}],
    }
    values = [b"\x04\0", b"\xd0\x0f\0", b"\x04", b"\0" * 2000]
    rows = [("orders", 0, place, SENT_AT, b"k", value, [("h", b"")]) for place, value in enumerate(values)]
    source = SOURCE.model_copy(update={"bytes_per_record": 1000, "value": "avro"})

    found = message_rows(spark.createDataFrame(rows, MESSAGE), source, nulls).orderBy("_line").collect()

    assert json.loads(found[0]["record"])["n"] == [None, None]
    assert [row["_problem"] for row in found] == [
        None,
        "a record of 4,008 bytes, longer than bytes_per_record allows: 1,000",
        NOT_AVRO,
        "a record of 2,002 bytes, longer than bytes_per_record allows: 1,000",
    ]
