"""A broker that talks TLS and asks for a certificate and a password: read and written by what the connections
file names.

The process keeps Spark's event log as well. Password and key stand in no file but those of the secrets, and
on no command line.
"""

import json
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from spark_jobs.landing.broker import client_settings
from spark_jobs.run.result import Status
from tests.conftest import ROOT, Workshop
from tests.faults.shop import start_weir
from tests.kafka.broker import Broker

WRONG = "not-the-password"
PIPELINE = """
pipeline: shop
sources:
  orders: {{format: kafka, servers: "{servers}", topic: {topic}, connection: readers}}
silver:
  orders:
    from: orders
    columns: {{id: int}}
    key: id
    sequence_by: id
sinks:
  orders: {{from: silver.orders, to: kafka, servers: "{servers}", topic: {topic}.out, connection: writers}}
"""


@pytest.mark.system
def test_a_secured_broker_is_read_and_written_and_nobody_else_learns_the_password(
    idle_workshop: Workshop, spark: SparkSession, kafka: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop = Workshop(idle_workshop.root, spark)
    (shop.root / ".envs").symlink_to(ROOT / ".envs")
    for topic in ("secured", "secured.out"):
        kafka.create_topic(topic)
    shop.write("conf/pipelines/shop.yml", PIPELINE.format(servers=kafka.secured_servers, topic="secured"))
    shop.write(
        "secrets/connections.yml", "readers: {settings_file: readers}\nwriters: {settings_file: writers}\n"
    )
    log_in(shop, kafka, readers=kafka.password, writers=WRONG)
    kafka.send("secured", '{"id": 1}', '{"id": 2}')

    code, said, commands = run_watched(shop)

    assert shop.rows("shop.silver.orders", "id") == [(1,), (2,)], said
    assert code == 1
    assert (
        "sink.orders failed: NotSent: messages cannot be sent to topic 'secured.out' at"
        f" {kafka.secured_servers}" in said
    )
    assert (
        "SaslAuthenticationException: Authentication failed: Invalid username or password; correct the"
        " settings_file of" in said
    )

    log_in(shop, kafka, readers=kafka.password, writers=kafka.password)
    delivered = shop.run("shop")

    assert delivered.exit_code == 0, delivered.message
    assert values_of(kafka, "secured.out", 2) == [{"id": 1}, {"id": 2}]

    log_in(shop, kafka, readers=WRONG, writers=kafka.password)
    monkeypatch.setattr("spark_jobs.landing.broker.TIMEOUT_SECONDS", 2)
    refused = shop.run_beside_others("shop")

    assert refused.status is Status.FAILED
    assert (
        "SASL authentication error: Authentication failed: Invalid username or password; correct the"
        " settings_file of" in refused.message
    )
    assert "the connection 'readers'" in refused.message

    key = (shop.root / "secrets" / "client.pem").read_text(encoding="utf-8").splitlines()[1]
    secrets = [text.encode() for text in (kafka.password, WRONG, key)]
    files = files_of(shop.root)
    telling = [name for name, content in files.items() if any(secret in content for secret in secrets)]
    assert sorted(telling) == ["secrets/client.pem", "secrets/readers", "secrets/writers"]
    assert any(
        b"SparkListenerApplicationStart" in content
        for name, content in files.items()
        if "spark-events" in name
    )
    assert any(b"java" in command for command in commands)
    assert not [secret for secret in secrets if secret in b"".join(commands) or secret.decode() in said]


def test_settings_of_javas_client_are_those_of_the_other() -> None:
    login = (
        'org.apache.kafka.common.security.plain.PlainLoginModule required username="ann" password="a\\"b";'
    )
    java = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": login,
        "ssl.truststore.location": "ca.pem",
    }
    own = {"ssl.keystore.type": "PEM", "ssl.keystore.location": "me.pem", "ssl.key.password": "c"}

    assert client_settings(java | own) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "ann",
        "sasl.password": 'a"b',
        "ssl.ca.location": "ca.pem",
        "ssl.certificate.location": "me.pem",
        "ssl.key.location": "me.pem",
        "ssl.key.password": "c",
    }


def log_in(shop: Workshop, kafka: Broker, **passwords: str) -> None:
    """As the user does it: a file for each connection, which nobody else may read."""
    key = kafka.authority.issue("client", shop.root / "secrets")
    for connection, password in passwords.items():
        shop.write(f"secrets/{connection}", kafka.client_settings(password, key)).chmod(0o600)


def run_watched(shop: Workshop) -> tuple[int, str, set[bytes]]:
    """`weir run` as a process with Spark's event log: its exit code, what it said, and all command lines on
    the machine meanwhile.
    """
    process, commands = start_weir(shop, "run", "shop", "--profile", "observed"), set[bytes]()
    while True:
        commands |= {read(file) for file in Path("/proc").glob("[0-9]*/cmdline")}
        try:
            _, said = process.communicate(timeout=0.2)
        except subprocess.TimeoutExpired:
            continue
        return process.returncode, said, commands


def read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except (FileNotFoundError, ProcessLookupError):  # it has ended
        return b""


def files_of(root: Path) -> dict[str, bytes]:
    """Every file below, unpacked where it is Spark's event log."""
    found = {}
    for file in (path for path in root.rglob("*") if path.is_file() and ".envs" not in path.parts):
        content = file.read_bytes()
        if file.suffix == ".zstd":
            content = pa.input_stream(str(file), compression="zstd").read()
        found[file.relative_to(root).as_posix()] = content
    return found


def values_of(kafka: Broker, topic: str, count: int) -> list[dict[str, int]]:
    consumer = Consumer({"bootstrap.servers": kafka.servers, "group.id": "test", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    try:
        return sorted(
            (json.loads(message.value() or b"") for message in consumer.consume(count, timeout=30)),
            key=lambda row: row["id"],
        )
    finally:
        consumer.close()
