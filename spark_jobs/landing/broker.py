"""Asks a Kafka broker how far a topic goes, without a JVM: whether a run has anything to read."""

import logging
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from spark_jobs.config.connections import mend_login
from spark_jobs.config.sources import KafkaSource

TIMEOUT_SECONDS = 10
NO_ID = "A"
"""An id of zeros, in base64, is all of these."""
SAME = (
    "security.protocol", "sasl.mechanism", "ssl.endpoint.identification.algorithm", "ssl.key.password",
    "ssl.keystore.password", "client.id",
)  # fmt: skip
CREDENTIAL = r'{}\s*=\s*"((?:[^"\\]|\\.)*)"'
REFUSED = (
    "_AUTHENTICATION",
    "_SSL",
    "SASL_AUTHENTICATION_FAILED",
    "UNSUPPORTED_SASL_MECHANISM",
    "TOPIC_AUTHORIZATION_FAILED",
)
START = "start the broker, or correct `servers` and `topic`, and run again"
NAME_ONE = "; a broker that asks for TLS or a login needs a `connection` (docs/sources.md)"
"""Where none is named: such a broker says nothing that a client could read."""


class BrokerUnreachable(Exception):
    """No broker answers, or none that knows the topic: the servers, the topic and what was said."""

    def __init__(self, source: KafkaSource, said: str, way_out: str = START) -> None:
        self.servers, self.topic, self.said = source.servers, source.topic, said
        super().__init__(f"topic {source.topic!r} cannot be read at {source.servers}: {said}; {way_out}")


def read_ends(source: KafkaSource, settings: Mapping[str, str]) -> dict[int, tuple[int, int]]:
    """Per partition the offset of its earliest message, and the one after its last that is committed."""
    from confluent_kafka import IsolationLevel, TopicPartition  # only where a topic is read
    from confluent_kafka.admin import OffsetSpec  # type: ignore[attr-defined]

    with _asking(source, settings) as client:
        known = client.list_topics(timeout=TIMEOUT_SECONDS).topics
        if source.topic not in known:
            raise BrokerUnreachable(source, "there is no such topic")
        places = [TopicPartition(source.topic, partition) for partition in known[source.topic].partitions]
        found: list[dict[int, int]] = []
        for spec in (OffsetSpec.earliest(), OffsetSpec.latest()):  # type: ignore[no-untyped-call]
            asked = client.list_offsets(
                dict.fromkeys(places, spec),
                isolation_level=IsolationLevel.READ_COMMITTED,
                request_timeout=TIMEOUT_SECONDS,
            )
            found.append({place.partition: answer.result().offset for place, answer in asked.items()})
    return {partition: (found[0][partition], end) for partition, end in sorted(found[1].items())}


def read_topic_id(source: KafkaSource, settings: Mapping[str, str]) -> str | None:
    """What makes a topic another one than that which had its name before; None where brokers do not say: old
    ones, and some services that speak Kafka's protocol. Whether they answer at all is for those to say who
    read the topic.
    """
    from confluent_kafka import TopicCollection  # only where a topic is read

    try:
        with _asking(source, settings) as client:
            asked = client.describe_topics(TopicCollection([source.topic]), request_timeout=TIMEOUT_SECONDS)
            found = str(asked[source.topic].result().topic_id)
    except BrokerUnreachable:
        return None
    return found if found.strip(NO_ID) else None


@contextmanager
def _asking(source: KafkaSource, settings: Mapping[str, str]) -> Iterator[Any]:
    """A client for questions to the brokers. BrokerUnreachable where they do not answer one, or let nobody
    in.
    """
    from confluent_kafka import KafkaException
    from confluent_kafka.admin import AdminClient

    quiet = logging.getLogger("weir.kafka")
    quiet.addHandler(logging.NullHandler())
    quiet.propagate = False
    heard: list[Any] = []
    known_settings = {
        **client_settings(settings),
        "bootstrap.servers": source.servers,
        "error_cb": heard.append,
    }
    try:
        client = AdminClient(known_settings, logger=quiet)
    except KafkaException as error:  # a file that is not there, or no PEM
        raise BrokerUnreachable(
            source, _say(error.args[0]), f"{mend_login(source.connection)}, and run again"
        ) from None
    try:
        yield client
    except KafkaException as error:
        client.poll(0)  # hands over what was heard
        refused = next((said for said in [*heard, error.args[0]] if said.name() in REFUSED), None)
        if refused is not None:
            raise BrokerUnreachable(
                source, _say(refused), f"{mend_login(source.connection)}, and run again"
            ) from None
        raise BrokerUnreachable(
            source, _say(error.args[0]), START if source.connection else f"{START}{NAME_ONE}"
        ) from None


def client_settings(java: Mapping[str, str]) -> dict[str, Any]:
    """The settings of Java's client, which Spark takes, as librdkafka calls them. Keys and certificates are
    PEM files, which both read.
    """
    known: dict[str, Any] = {name: java[name] for name in SAME if name in java}
    if "ssl.truststore.location" in java:
        known["ssl.ca.location"] = java["ssl.truststore.location"]
    if "ssl.keystore.location" in java:
        names = (
            ("ssl.certificate.location", "ssl.key.location")
            if java.get("ssl.keystore.type") == "PEM"
            else ("ssl.keystore.location",)
        )
        known |= dict.fromkeys(names, java["ssl.keystore.location"])
    for name in ("username", "password"):
        if found := re.search(CREDENTIAL.format(name), java.get("sasl.jaas.config", "")):
            known[f"sasl.{name}"] = re.sub(r"\\(.)", r"\1", found[1])
    return known


def _say(error: Any) -> str:
    """Without the time that it took, and whatever follows the first line."""
    return re.sub(r" \(after .*| \(_\w+\)$", "", str(error.str()).splitlines()[0])[:200]
