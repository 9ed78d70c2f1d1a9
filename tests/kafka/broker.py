"""A Kafka broker for tests: one node, KRaft, plain Java on a free port of the loopback address, its log in a
temporary folder.

On a second port it talks TLS, asks for a client's certificate, and lets only `ann` in, with her password.

Its jars come from Maven through the Ivy that pyspark brings, once, into .envs/kafka, and are held to
jars.sha256.
"""

import hashlib
import os
import secrets
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from spark_jobs.session.install import Installation
from spark_jobs.session.jars import ivy_alone, ivy_jar
from tests.airflow.postgres import free_port
from tests.conftest import ROOT
from tests.kafka.certificates import Authority

VERSION = "4.1.0"
JARS, SUMS = ROOT / ".envs" / "kafka" / VERSION, Path(__file__).with_name("jars.sha256")
START_SECONDS = 120
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
MEMORY = ("-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")


class Broker:
    """A node that can be stopped, killed and started again over the same log."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.servers, self.secured_servers = f"127.0.0.1:{self.port}", f"127.0.0.1:{free_port()}"
        self.authority, self.password = Authority(folder), secrets.token_hex(12)
        self.process: subprocess.Popen[bytes] | None = None
        controller = free_port()
        settings = {
            "process.roles": "broker,controller", "node.id": 1, "controller.quorum.voters": f"1@127.0.0.1:{controller}",
            "listeners": f"PLAINTEXT://{self.servers},SECURED://{self.secured_servers},CONTROLLER://127.0.0.1:{controller}",
            "advertised.listeners": f"PLAINTEXT://{self.servers},SECURED://{self.secured_servers}",
            "controller.listener.names": "CONTROLLER", "log.dirs": folder / "log", "auto.create.topics.enable": "false",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,SECURED:SASL_SSL,CONTROLLER:PLAINTEXT",
            "listener.name.secured.ssl.keystore.type": "PEM",
            "listener.name.secured.ssl.keystore.location": self.authority.issue("broker", folder),
            "listener.name.secured.ssl.truststore.type": "PEM", "listener.name.secured.ssl.truststore.location": self.authority.certificate,
            "listener.name.secured.ssl.client.auth": "required", "listener.name.secured.sasl.enabled.mechanisms": "PLAIN",
            "listener.name.secured.plain.sasl.jaas.config": f'{PLAIN} required user_ann="{self.password}";',
            "offsets.topic.replication.factor": 1,
            "transaction.state.log.replication.factor": 1, "transaction.state.log.min.isr": 1, "offsets.topic.num.partitions": 1,
            "transaction.state.log.num.partitions": 1, "group.initial.rebalance.delay.ms": 0, "log.retention.check.interval.ms": 500,
            "log.segment.delete.delay.ms": 0, "log.initial.task.delay.ms": 100,
        }  # fmt: skip
        self.settings = folder / "server.properties"
        self.settings.write_text(
            "".join(f"{name}={value}\n" for name, value in settings.items()), encoding="utf-8"
        )
        subprocess.run(
            [*self._java(), "kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(self.settings)],
            check=True, capture_output=True,
        )  # fmt: skip

    def start(self) -> None:
        """Returns when it answers."""
        with (self.folder / "broker.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*self._java(), "kafka.Kafka", str(self.settings)], stdout=log, stderr=log
            )
        self.admin().list_topics(timeout=START_SECONDS)

    def stop(self, *, at_once: bool = False) -> None:
        if self.process is not None:
            (self.process.kill if at_once else self.process.terminate)()
            self.process.wait(60)
            self.process = None

    def client_settings(self, password: str, key: Path) -> str:
        """What lets a client of Java in at the secured port, as its settings file says it."""
        return f"""# as Kafka's own pages write it, over several lines
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config={PLAIN} required \\
    username="ann" \\
    password="{password}";
ssl.truststore.type=PEM
ssl.truststore.location={self.authority.certificate}
ssl.keystore.type=PEM
ssl.keystore.location={key}
"""

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})

    def create_topic(self, name: str, partitions: int = 1, **config: str) -> None:
        topic = NewTopic(
            name,
            num_partitions=partitions,
            replication_factor=1,
            config={k.replace("_", "."): v for k, v in config.items()},
        )
        admin = self.admin()  # its answers end with it
        for made in admin.create_topics([topic]).values():
            made.result(START_SECONDS)

    def send(
        self,
        topic: str,
        *values: bytes | str | None,
        key: str | None = None,
        partition: int = 0,
        **headers: str,
    ) -> None:
        """Returns when all of them are in the log."""
        producer = Producer(
            {"bootstrap.servers": self.servers, "acks": "all", "linger.ms": 5, "log_level": 0}
        )
        failed: list[str] = []
        for value in values:
            producer.produce(
                topic, value, key=key, partition=partition, headers=list(headers.items()) or None,
                on_delivery=lambda error, _: failed.append(str(error)) if error else None,
            )  # fmt: skip
            producer.poll(0)
        if producer.flush(60) or failed:
            raise KafkaException(f"not all messages were delivered: {failed[:1]}")

    def _java(self) -> list[str]:
        return [str(Installation(ROOT).java().command), *MEMORY, "-cp", f"{JARS}/*"]


@contextmanager
def broker() -> Iterator[Broker]:
    fetch_jars()
    folder = Path(tempfile.mkdtemp(prefix="weir-kafka-"))
    node = Broker(folder)
    try:
        node.start()
        yield node
    finally:
        node.stop(at_once=True)
        shutil.rmtree(folder, ignore_errors=True)


def fetch_jars() -> None:
    """Once, all or none: what Ivy brings is compared with the list before it is put in place."""
    if JARS.is_dir():
        return
    JARS.parent.mkdir(parents=True, exist_ok=True)
    expected = {line.split()[1]: line.split()[0] for line in SUMS.read_text(encoding="utf-8").splitlines()}
    with tempfile.TemporaryDirectory(dir=JARS.parent) as scratch:
        command = [
            str(Installation(ROOT).java().command),
            "-jar",
            str(ivy_jar()),
            "-confs",
            "default",
            "-types",
            "jar",
            "bundle",
        ]
        command += ["-dependency", "org.apache.kafka", "kafka_2.13", VERSION]
        with ivy_alone():
            ended = subprocess.run(
                [*command, "-retrieve", f"{scratch}/jars/[artifact]-[revision].[ext]"],
                check=False,
                capture_output=True,
                text=True,
                cwd=scratch,
            )
        if ended.returncode:
            raise RuntimeError(f"Ivy could not fetch the broker's jars:\n{ended.stdout}\n{ended.stderr}")
        fetched = {
            path.name: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in Path(scratch, "jars").iterdir()
        }
        if fetched != expected:
            wrong = sorted(
                name for name in {**fetched, **expected} if fetched.get(name) != expected.get(name)
            )
            raise RuntimeError(f"the broker's jars are not those of {SUMS.name}: {', '.join(wrong)}")
        os.replace(Path(scratch, "jars"), JARS)
