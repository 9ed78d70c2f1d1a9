"""Asks a Kafka broker how far a topic goes, without a JVM: whether a run has anything to read."""

import logging
import re
from collections.abc import Mapping
from typing import Any

from spark_jobs.config.sources import KafkaSource

TIMEOUT_SECONDS = 10
SAME = ("security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm", "client.id")
RENAMED = {
    "ssl.truststore.location": "ssl.ca.location",
    "ssl.keystore.location": "ssl.keystore.location",
    "ssl.key.password": "ssl.key.password",
}
"""Settings of Java's client that this one knows, and by which name. Trust stores are PEM files, which both can read."""
CREDENTIAL = r'{}\s*=\s*"((?:[^"\\]|\\.)*)"'


class BrokerUnreachable(Exception):
    """No broker answers, or none that knows the topic: the servers, the topic and what was said."""

    def __init__(self, source: KafkaSource, said: str) -> None:
        self.servers, self.topic, self.said = source.servers, source.topic, said
        super().__init__(
            f"topic {source.topic!r} cannot be read at {source.servers}: {said}; "
            "start the broker, or correct `servers` and `topic`, and run again"
        )


def read_ends(source: KafkaSource, settings: Mapping[str, str]) -> dict[int, tuple[int, int]]:
    """Per partition the offset of its earliest message, and the one after its last that is committed."""
    from confluent_kafka import IsolationLevel, KafkaException, TopicPartition  # only where a topic is read
    from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

    quiet = logging.getLogger("weir.kafka")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    try:
        client = AdminClient({**client_settings(settings), "bootstrap.servers": source.servers}, logger=quiet)
        known = client.list_topics(timeout=TIMEOUT_SECONDS).topics
        if source.topic not in known:
            raise BrokerUnreachable(source, "there is no such topic")
        places = [TopicPartition(source.topic, partition) for partition in known[source.topic].partitions]
        found: list[dict[int, int]] = []
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
            asked = client.list_offsets(
                dict.fromkeys(places, spec), isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=TIMEOUT_SECONDS
            )
            found.append({place.partition: answer.result().offset for place, answer in asked.items()})
    except KafkaException as error:
        raise BrokerUnreachable(source, _say(error)) from error
    return {partition: (found[0][partition], end) for partition, end in sorted(found[1].items())}


def client_settings(java: Mapping[str, str]) -> dict[str, Any]:
    """The settings of Java's client, which Spark takes, as librdkafka calls them."""
    known: dict[str, Any] = {name: java[name] for name in SAME if name in java}
    known |= {name: java[of_java] for of_java, name in RENAMED.items() if of_java in java}
    for name in ("username", "password"):
        if found := re.search(CREDENTIAL.format(name), java.get("sasl.jaas.config", "")):
            known[f"sasl.{name}"] = re.sub(r"\\(.)", r"\1", found[1])
    return known


def _say(error: Exception) -> str:
    reason = error.args[0] if error.args else error
    said = reason.str() if hasattr(reason, "str") else str(reason)
    return str(said).splitlines()[0][:200]
