"""A topic as a source, with a broker that is killed, a run that is cut, transactions, and messages that are
gone.
"""

import json
from typing import Any

import pytest
from confluent_kafka import Producer, TopicPartition

from spark_jobs.lake.failpoints import Failpoint
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.run import bronze, bronze_writes
from tests.conftest import Workshop
from tests.kafka.broker import Broker

PIPELINE = """
pipeline: shop
sources:
  orders: {{format: kafka, servers: "{servers}", topic: {topic}, offsets_per_batch: 4}}
silver:
  orders:
    from: orders
    columns: {{id: int}}
"""


def declare(workshop: Workshop, kafka: Broker, topic: str) -> None:
    kafka.create_topic(topic)
    workshop.write("conf/pipelines/shop.yml", PIPELINE.format(servers=kafka.servers, topic=topic))


def numbers(*ids: int) -> list[str]:
    return [json.dumps({"id": number}) for number in ids]


def ids(workshop: Workshop, table: str = "silver") -> list[int]:
    if table == "silver":
        return sorted(number for (number,) in workshop.rows("shop.silver.orders", "id"))
    return sorted(json.loads(record)["id"] for (record,) in workshop.rows("shop.bronze.orders", "record"))


def of_bronze(ledger: Ledger) -> list[dict[str, Any]]:
    return [row for row in ledger.rows("progress") if row["table"] == "bronze.orders"]


@pytest.mark.spark
def test_nothing_is_lost_or_doubled_by_a_broker_that_is_killed_and_a_run_that_is_cut(
    workshop: Workshop, kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    declare(workshop, kafka, "restarted")
    kafka.send("restarted", *numbers(*range(10)))
    register, append = vars(bronze)["register_batch"], bronze_writes.append_records

    def restart_the_broker(feed: Any, batch: str, *rest: Any) -> Any:
        if batch == "1.1":
            kafka.stop(at_once=True)
            kafka.start()
        return register(feed, batch, *rest)

    def cut_after_the_write(records: Any, batch: Any, chunks: Any) -> None:
        append(records, batch, chunks)
        if batch.number == 2:
            raise Failpoint("cut")

    monkeypatch.setattr(bronze, "register_batch", restart_the_broker)
    monkeypatch.setattr(bronze, "append_records", cut_after_the_write)
    cut = workshop.run("shop")
    monkeypatch.undo()
    kafka.stop(at_once=True)
    kafka.start()
    kafka.send("restarted", *numbers(10, 11))

    result = workshop.run("shop")

    assert (cut.exit_code, result.exit_code) == (1, 0), (cut.message, result.message)
    assert ids(workshop, "bronze") == ids(workshop) == list(range(12))
    ledger = Ledger(Lake(str(workshop.root / "lake"), "shop"))
    assert [row["rows_in"] for row in ledger.batches("bronze.orders", 1)] == [4, 4, 2, 2]
    told = sorted(
        tuple(row[name] for name in ("batch", "backlog_messages", "max_partition_lag"))
        for row in of_bronze(ledger)
    )
    assert told == [
        (0, 6, 6),
        (1, 2, 2),
        (2, None, None),
        (3, 0, 0),
    ], "Spark does not look again for a batch that was begun before"
    assert workshop.plan("shop").status == "nothing_to_do"


@pytest.mark.spark
def test_messages_of_transactions_count_once_they_are_committed_and_what_is_gone_stops_the_run(
    workshop: Workshop, kafka: Broker
) -> None:
    declare(workshop, kafka, "kept")
    producer = Producer({"bootstrap.servers": kafka.servers, "transactional.id": "t", "log_level": 0})
    producer.init_transactions()
    for start, end in (
        (0, producer.commit_transaction),
        (10, producer.abort_transaction),
        (20, producer.commit_transaction),
    ):
        producer.begin_transaction()
        for value in numbers(start, start + 1):
            producer.produce("kept", value)
        producer.flush()  # else those of an aborted one are never sent
        end()

    first = workshop.run("shop")

    assert first.exit_code == 0, first.message
    assert ids(workshop, "bronze") == ids(workshop) == [0, 1, 20, 21]
    assert workshop.plan("shop").status == "nothing_to_do"

    kafka.send("kept", *numbers(30, 31, 32))
    admin = kafka.admin()
    for deleted in admin.delete_records([TopicPartition("kept", 0, 11)]).values():
        deleted.result(30)
    lost = workshop.run("shop")

    assert lost.exit_code == 1
    assert "no longer has all that was to be read" in lost.message
    assert "declare a source of another name" in lost.message
    assert ids(workshop) == [0, 1, 20, 21]


@pytest.mark.spark
@pytest.mark.parametrize("messages_now", [1, 5])
def test_a_topic_that_was_deleted_and_made_anew_is_not_read_on_from_the_middle(
    workshop: Workshop, kafka: Broker, messages_now: int
) -> None:
    name = f"anew{messages_now}"
    declare(workshop, kafka, name)
    kafka.send(name, *numbers(0, 1, 2))
    first = workshop.run("shop")
    assert first.exit_code == 0, first.message

    admin = kafka.admin()
    for deleted in admin.delete_topics([name]).values():
        deleted.result(30)
    kafka.create_topic(name)
    kafka.send(name, *numbers(*range(10, 10 + messages_now)))
    lost = workshop.run("shop")

    assert lost.exit_code == 1
    assert "no longer has all that was to be read" in lost.message
    assert ids(workshop, "bronze") == ids(workshop) == [0, 1, 2]


def test_a_broker_that_does_not_answer_is_named(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("spark_jobs.landing.broker.TIMEOUT_SECONDS", 1)
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE.format(servers="127.0.0.1:9", topic="orders"))

    result = idle_workshop.run_beside_others("shop")

    assert result.exit_code == 1
    assert "topic 'orders' cannot be read at 127.0.0.1:9" in result.message
