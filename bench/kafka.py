"""Messages per second from a topic into silver, beside a hand-written Spark job on the same topic. Needs
`weir setup --with kafka`.
"""

import json
import shutil
import sys
from datetime import UTC, datetime, timedelta

from confluent_kafka import Producer

from bench.measure import OUT, ROOT, measure, report
from bench.project import run_project, write_project
from tests.kafka.broker import Broker, broker

MESSAGES, ORDERS, PARTITIONS = 1_000_000, 900_000, 2
START = datetime(2026, 3, 1, tzinfo=UTC)
PIPELINE = """
pipeline: shop
sources:
  orders: {{format: kafka, servers: "{servers}", topic: orders}}
silver:
  orders:
    from: orders
    columns:
      order_id: {{type: string, from: _key}}
      customer_id: {{type: bigint, from: customer.id}}
      city: {{type: string, from: customer.address.city}}
      amount: {{type: "decimal(12,2)", from: payment.amount}}
      method: {{type: string, from: payment.method}}
      ordered_at: timestamp
      message: {{type: bigint, from: _offset}}
    key: order_id
    sequence_by: message
"""


def main() -> None:
    home = OUT / "kafka"
    shutil.rmtree(home, ignore_errors=True)
    with broker() as node:
        node.create_topic("orders", PARTITIONS)
        _send(node)
        write_project(home, {"conf/pipelines/shop.yml": PIPELINE.format(servers=node.servers)})
        print(f"{MESSAGES:,} messages from a topic into silver", flush=True)
        ours = run_project(home, "shop")
        print(f"  Weir alone    {ours}", flush=True)
        job = [
            sys.executable,
            "bench/handwritten/kafka.py",
            "--servers",
            node.servers,
            "--topic",
            "orders",
            "--lake",
            str(home / "by_hand"),
        ]
        theirs = measure(job, PYTHONPATH=str(ROOT))
        report("messages into silver", ours, [theirs], 1.3)
        print(
            f"  {MESSAGES / ours.seconds:,.0f} messages a second, by hand {MESSAGES / theirs.seconds:,.0f}",
            flush=True,
        )


def _send(node: Broker) -> None:
    """Most orders once, some a second time, with another amount."""
    producer = Producer({"bootstrap.servers": node.servers, "linger.ms": 50, "compression.type": "lz4"})
    for number in range(MESSAGES):
        order = number % ORDERS
        record = {
            "customer": {
                "id": order % 50_000,
                "address": {"city": f"city {order % 200}", "street": "a street"},
            },
            "payment": {"amount": f"{order % 500}.{number % 100:02}", "method": "card"},
            "ordered_at": (START + timedelta(seconds=order)).isoformat(),
            "note": "x" * 100,
        }
        producer.produce("orders", json.dumps(record), key=str(order), partition=order % PARTITIONS)
        if number % 10_000 == 0:
            producer.poll(0)
            producer.flush()
    producer.flush()


if __name__ == "__main__":
    main()
