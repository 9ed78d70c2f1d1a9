"""docs/sources.md, Kafka: nested JSON, Avro and text from topics, flattened into tables; the word count from
a topic.
"""

import io
import json
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import fastavro
import pytest

from spark_jobs.report.account import account_of
from tests.conftest import ROOT, Workshop
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark

SCHEMA = json.loads((ROOT / "docs/examples/conf/schemas/payment.avsc").read_text(encoding="utf-8"))
PAID_AT = datetime(2026, 3, 1, 10, tzinfo=UTC)


def at_this_broker(examples: Workshop, pipeline: str, kafka: Broker) -> None:
    """The very file, but for the address, which is another in every test."""
    text = (examples.root / f"conf/pipelines/{pipeline}.yml").read_text(encoding="utf-8")
    examples.write(f"conf/pipelines/{pipeline}.yml", text.replace("localhost:9092", kafka.servers))


def payment(order_id: str, amount: str) -> bytes:
    content = io.BytesIO(b"\0\0\0\0\x07")
    content.seek(5)
    fastavro.schemaless_writer(
        content, SCHEMA, {"order_id": order_id, "amount": Decimal(amount), "paid_at": PAID_AT}
    )
    return content.getvalue()


def order(city: str, amount: float, *skus: str) -> str:
    lines = [{"sku": sku, "quantity": number} for number, sku in enumerate(skus, 1)]
    return json.dumps(
        {"customer": {"address": {"city": city}}, "payment": {"amount": amount}, "lines": lines}
    )


def reasons(examples: Workshop, table: str) -> list[tuple[Any, ...]]:
    return [
        (line, found[0]["value"])
        for line, found in examples.rows(f"kafka_orders.quarantine.silver.{table}", "line", "reasons")
    ]


def test_messages_become_rows_and_what_is_no_record_is_kept_and_set_aside(
    examples: Workshop, kafka: Broker
) -> None:
    at_this_broker(examples, "kafka_orders", kafka)
    for topic, partitions in {"shop.orders": 2, "shop.payments": 1, "shop.tills": 1}.items():
        kafka.create_topic(topic, partitions)
    kafka.send("shop.orders", order("Bern", 12.5, "a", "b"), key="1", shop="north")
    kafka.send("shop.orders", order("Basel", 3.0, "c"), order("Genf", 4.0), key="2", partition=1)
    kafka.send("shop.orders", "not json", b'{"caf\xe9": 1}', "{}", key="3", partition=1)
    kafka.send("shop.orders", None, key="2", partition=1)
    kafka.send("shop.payments", payment("1", "12.50"), payment("2", "3.00") + b"?", b"\0\0")
    kafka.send("shop.tills", 'says "hello"\n', key="till 7")

    result = examples.run("kafka_orders")

    assert result.exit_code == 0, result.message
    assert examples.rows("kafka_orders.silver.orders", "order_id", "city", "amount", "shop", "message") == [
        ("1", "Bern", Decimal("12.50"), "north", 0),
        ("3", None, None, None, 4),
    ]
    assert examples.rows("kafka_orders.silver.order_lines", "order_id", "sku", "quantity") == [
        ("1", "a", 1),
        ("1", "b", 2),
        ("2", "c", 1),
    ]
    assert examples.rows("kafka_orders.silver.payments", "order_id", "amount", "paid_at") == [
        ("1", Decimal("12.50"), PAID_AT)
    ]
    assert examples.rows("kafka_orders.silver.tills", "till", "said") == [("till 7", 'says "hello"\n')]
    assert reasons(examples, "orders") == [
        (3, "the value is not a JSON object"),
        (4, "the value is not UTF-8 text"),
    ]
    assert reasons(examples, "payments") == [
        (2, "the value does not fit the Avro schema"),
        (3, "the value does not fit the Avro schema"),
    ]
    kept = {
        line: json.loads(record)
        for line, record in examples.rows("kafka_orders.bronze.orders", "_line", "record")
        if line > 2
    }
    assert kept[3]["_value"] == "not json"
    assert kept[3]["_key"] == "3"
    assert kept[4]["_bytes"] == "eyJjYWbpIjogMX0="

    account = account_of(examples.project, "kafka_orders")
    assert {
        table["table"]: (table["rows_in"], table["missing"])
        for table in account["tables"]
        if "bronze" in table["table"]
    } == {
        "bronze.orders": (7, 0),
        "bronze.payments": (3, 0),
        "bronze.tills": (1, 0),
    }
    assert account["offsets"]["orders"] == {"kafka/shop.orders/0": [0, 1], "kafka/shop.orders/1": [0, 6]}
    assert examples.plan("kafka_orders").status == "nothing_to_do"


def test_the_word_count_from_a_topic(examples: Workshop, kafka: Broker) -> None:
    at_this_broker(examples, "words_kafka", kafka)
    kafka.create_topic("lines")
    kafka.send("lines", "cat dog", "Dog dog")

    examples.run("words_kafka")
    kafka.send("lines", "owl cat")
    examples.run("words_kafka")

    assert examples.rows("words_kafka.gold.word_count", "word", "word_count") == [
        ("cat", 2),
        ("dog", 3),
        ("owl", 1),
    ]
