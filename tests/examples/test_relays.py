"""docs/always-on.md, Continuous: hot_readings.yml by Spark's continuous trigger, killed and started again."""

import json
import threading
import time
from datetime import UTC, datetime

import pytest
from confluent_kafka import Consumer, TopicPartition

from spark_jobs.run import stopping
from spark_jobs.run.result import RunResult, Status
from spark_jobs.stream.always_on import Orders, stream_pipeline
from spark_jobs.stream.health import Health, Heartbeat
from spark_jobs.stream.trigger import parse_trigger
from tests.conftest import PROFILE, ROOT, SharedSession, Workshop
from tests.examples.test_kafka import at_this_broker
from tests.faults.shop import start_weir
from tests.kafka.broker import Broker

pytestmark = pytest.mark.spark

CONTINUOUS = "continuous 1 second"
PATIENCE = 240.0


def reading(sensor: str, celsius: object) -> str:
    return json.dumps({"sensor": sensor, "celsius": celsius})


def alarms(consumer: Consumer, count: int) -> list[tuple[str, str, object]]:
    """So many of them, as they come."""
    found: list[tuple[str, str, object]] = []
    until = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < until, f"only {found} came"
        for message in consumer.consume(count - len(found), timeout=1):
            value = json.loads(message.value() or b"")
            found.append(((message.key() or b"").decode(), value["sensor"], value["celsius"]))
    return found


def test_a_relay_that_is_killed_loses_nothing_and_may_send_twice(
    examples: Workshop, kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    (examples.root / ".envs").symlink_to(ROOT / ".envs")
    at_this_broker(examples, "hot_readings", kafka)
    for topic in ("readings", "alarms"):
        kafka.create_topic(topic)
    consumer = Consumer({"bootstrap.servers": kafka.servers, "group.id": "test", "log_level": 0})
    consumer.assign([TopicPartition("alarms", 0, 0)])
    kafka.send(
        "readings", reading("a", 81.5), reading("b", 20), "no object", reading("c", "warm"), reading("d", 99)
    )

    process = start_weir(examples, "stream", "hot_readings", "--trigger", CONTINUOUS)
    try:
        first = alarms(consumer, 2)
        beside = stream(examples).status
    finally:
        process.kill()
        process.communicate()
    kafka.send("readings", reading("e", 120))
    again = stream_here(examples, consumer, "e", monkeypatch)

    assert first == [("a", "a", 81.5), ("d", "d", 99.0)]
    assert again[-1] == ("e", "e", 120.0)
    assert set(again) <= {*first, ("e", "e", 120.0)}, "repeats alone"
    assert beside is Status.LEASED
    assert not list((examples.root / "lake").rglob("_delta_log")), "no table knows of it"
    consumer.close()


def test_partitions_that_would_wait_for_a_core_for_ever_are_told_of(
    examples: Workshop, kafka: Broker
) -> None:
    at_this_broker(examples, "hot_readings", kafka)
    text = (examples.root / "conf/pipelines/hot_readings.yml").read_text(encoding="utf-8")
    examples.write("conf/pipelines/hot_readings.yml", text.replace("topic: readings", "topic: many_readings"))
    kafka.create_topic("many_readings", partitions=3)

    refused = stream(examples)

    assert refused.status is Status.FAILED
    assert (
        "the relays read 3 partitions and need as many cores, but Spark has 2: set `master: local[3]`"
        in refused.message
    )


def stream(examples: Workshop) -> RunResult:
    """As `weir stream`, in the tests' session; one failure ends it."""
    assert examples.spark is not None
    orders, pulse = (
        Orders(parse_trigger(CONTINUOUS), give_up_after=1),
        Heartbeat(Health("hot_readings", CONTINUOUS, datetime.now(UTC))),
    )
    return stream_pipeline(
        examples.project, "hot_readings", PROFILE, orders, pulse, SharedSession(examples.spark)
    )


def stream_here(
    examples: Workshop, consumer: Consumer, last: str, monkeypatch: pytest.MonkeyPatch
) -> list[tuple[str, str, object]]:
    """Go on in the tests' session, until the alarm of this sensor has come: then a stop is asked for."""
    is_enough, found = threading.Event(), list[tuple[str, str, object]]()
    monkeypatch.setattr(stopping, "asked_by", lambda: "a test" if is_enough.is_set() else None)

    def wait() -> None:
        while not found or found[-1][1] != last:
            found.extend(alarms(consumer, 1))
        is_enough.set()

    waiting = threading.Thread(target=wait)
    waiting.start()
    until = time.monotonic() + PATIENCE
    # the JVM of the killed process keeps the pipeline until it has ended
    while (result := stream(examples)).status is Status.LEASED:
        assert time.monotonic() < until, result.message
        waiting.join(0.2)
    waiting.join()
    assert result.status is Status.OK, result.message
    return found
