"""docs/examples/conf/pipelines/sinks_kafka.yml, as docs/sinks.md shows it: what was published, by key,
through a run that dies.
"""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake import failpoints
from spark_jobs.run.result import Status
from tests.conftest import ROOT, Workshop
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark


@pytest.fixture
def example(tmp_path: Path, spark: SparkSession, kafka: Broker) -> Workshop:
    """The example, with the address of the test's broker in the place of the one that it shows, and topics of
    the test's own.
    """
    shutil.copytree(ROOT / "docs" / "examples", tmp_path, dirs_exist_ok=True)
    workshop = Workshop(tmp_path, spark)
    pipeline = (tmp_path / "conf/pipelines/sinks_kafka.yml").read_text(encoding="utf-8")
    workshop.write(
        "conf/pipelines/sinks_kafka.yml",
        pipeline.replace("localhost:9092", kafka.servers).replace("topic: ", f"topic: {tmp_path.name}."),
    )
    workshop.write("conf/lakehouse.yml", "landing: landing\nlake: lake\nprofile: local\nkeep_reports: 0\n")
    for topic in ("orders", "order_log"):
        kafka.create_topic(f"{tmp_path.name}.{topic}", partitions=2)
    return workshop


def order(number: int, shop: str, amount: str, version: int = 1, op: str = "I") -> str:
    said = {
        "order_id": number,
        "shop": shop,
        "amount": amount,
        "updated_at": f"2024-05-01T09:0{version}:00Z",
        "op": op,
    }
    return json.dumps(said) + "\n"


def messages(spark: SparkSession, kafka: Broker, topic: str) -> list[dict[str, Any]]:
    """In the order of each partition."""
    reader = (
        spark.read.format("kafka").option("kafka.bootstrap.servers", kafka.servers).option("subscribe", topic)
    )
    rows = reader.option("includeHeaders", "true").load().orderBy("partition", "offset").collect()
    found = []
    for row in rows:
        value = json.loads(bytes(row["value"])) if row["value"] is not None else None
        headers = {header["key"]: bytes(header["value"]).decode() for header in row["headers"]}
        found.append({"key": bytes(row["key"]).decode(), "value": value, **headers})
    return found


def test_a_topic_has_what_was_published_and_says_what_is_a_repeat(
    example: Workshop, spark: SparkSession, kafka: Broker
) -> None:
    example.land("sinks_kafka/orders/1.json", order(1, "Ulm", "10.50") + order(2, "Bonn", "7.25"))
    assert example.run("sinks_kafka").exit_code == 0
    example.land(
        "sinks_kafka/orders/2.json",
        order(1, "Ulm", "11.00", 2) + order(2, "Bonn", "7.25", 2, "D") + order(3, "Ulm", "1.00"),
    )
    # the messages are sent, and the batch does not know
    with failpoints.arm("write.after:sink.orders@stream=raise"):
        assert example.run("sinks_kafka").status is Status.FAILED

    result = example.run("sinks_kafka")

    assert result.exit_code == 0, result.message
    sent = messages(spark, kafka, f"{example.root.name}.orders")
    once = {(message["weir.batch"], message["weir.row"]): message for message in sent}
    assert (len(sent), len(once)) == (8, 5), "the batch was sent twice, and the headers tell"
    newest = {message["key"]: message["value"] for message in sent}
    assert newest == {
        "1": {"order_id": 1, "shop": "Ulm", "amount": 11.0},
        "2": None,
        "3": {"order_id": 3, "shop": "Ulm", "amount": 1.0},
    }
    assert sorted((message["key"], message["weir.operation"]) for message in once.values()) == [
        ("1", "insert"), ("1", "update"), ("2", "delete"), ("2", "insert"), ("3", "insert"),
    ]  # fmt: skip
    assert {message["weir.table"] for message in sent} == {"sinks_kafka.silver.orders"}
    assert all(message["weir.version"].isdigit() for message in sent)
    log = {
        (message["weir.batch"], message["weir.row"]): message
        for message in messages(spark, kafka, f"{example.root.name}.order_log")
    }
    assert sorted((message["key"], message["value"]["order_id"]) for message in log.values()) == [
        ("Bonn", 2), ("Bonn", 2), ("Ulm", 1), ("Ulm", 1), ("Ulm", 3),
    ]  # fmt: skip
    counts = {table.table: table.counts for table in result.tables}["sink.orders"]
    assert (counts.rows_in, counts.inserted, counts.updated, counts.deleted) == (3, 1, 1, 1)


def test_a_broker_that_is_gone_fails_the_sink_and_nothing_else(
    example: Workshop, spark: SparkSession, kafka: Broker
) -> None:
    pipeline = (example.root / "conf/pipelines/sinks_kafka.yml").read_text(encoding="utf-8")
    nobody = pipeline.replace(kafka.servers, "127.0.0.1:9").replace(
        "orders, columns", 'orders, options: {max.block.ms: "2000"}, columns'
    )
    example.write("conf/pipelines/sinks_kafka.yml", nobody)
    example.land("sinks_kafka/orders/1.json", order(1, "Ulm", "10.50"))

    failed = example.run("sinks_kafka", "bronze.orders", "silver.orders", "sink.orders")

    assert failed.status is Status.FAILED
    assert "sink.orders failed" in failed.message
    assert example.rows("sinks_kafka.silver.orders", "order_id") == [(1,)]
    example.write("conf/pipelines/sinks_kafka.yml", pipeline)
    assert example.run("sinks_kafka").exit_code == 0
