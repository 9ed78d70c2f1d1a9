"""A YARN of Hadoop's own daemons on the loopback address: a ResourceManager and a NodeManager, each a JVM, in
a temporary folder.

Their jars come from Maven, once, into .envs/yarn; the rest of their class path are the jars that Spark has.
The cluster's file system is a view of a folder, so that what lies there is not uploaded by every run, as on
HDFS.
"""

import json
import os
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyspark

from spark_jobs.session.install import Installation
from spark_jobs.session.jars import Jar, fetch, verify_jar
from spark_jobs.session.pack import make_environment
from tests.airflow.postgres import free_port
from tests.conftest import ROOT

JARS = ROOT / ".envs" / "yarn"
PINS = (
    Jar(
        "org.apache.hadoop",
        "hadoop-client-minicluster",
        "3.5.0",
        "06772d24529e59939915979b3edba204d367750ef7dc5120411f35221dd4818c",
    ),
    Jar(
        "org.bouncycastle",
        "bcprov-jdk18on",
        "1.82",
        "14cde2fdfaa8890480a8e5b67aceef0c90f96682c1e23c133bafdc9e0b3255ce",
    ),
    Jar(
        "org.bouncycastle",
        "bcpkix-jdk18on",
        "1.82",
        "bdc723e20834832ac6af136cb5b5ff05e43b71d4fa151cc6510d9212ee086e63",
    ),
    Jar(
        "org.bouncycastle",
        "bcutil-jdk18on",
        "1.82",
        "4420691958ad1c0ba275a6d6d8a6317adbdbdc9277055b6a72aa89c88cda8c7d",
    ),
)
DAEMONS = ("resourcemanager.ResourceManager", "nodemanager.NodeManager")
# Without Hadoop's native library every unpacked file is a `chmod` of its own: VFORK makes that bearable.
JAVA_OPTIONS = (
    "-Xmx384m",
    "-XX:+UseSerialGC",
    "-XX:TieredStopAtLevel=1",
    "-Djdk.lang.Process.launchMechanism=VFORK",
)
START_SECONDS = 120
FILE_SYSTEM = "viewfs://weir"
LOG4J = """rootLogger.level = info
rootLogger.appenderRef.console.ref = console
appender.console.type = Console
appender.console.name = console
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d %p %c{1}: %m%n%ex
"""


@dataclass(frozen=True)
class Yarn:
    """`conf` is what HADOOP_CONF_DIR names; `staging` and `environment` are on the cluster's file system."""

    folder: Path
    address: str
    staging: str = f"{FILE_SYSTEM}/staging"
    environment: str = f"{FILE_SYSTEM}/environment.tar"

    @property
    def conf(self) -> Path:
        return self.folder / "conf"

    def applications(self) -> list[tuple[str, str]]:
        """State and final status of every application, the oldest first."""
        found = (_ask(f"{self.address}/ws/v1/cluster/apps").get("apps") or {}).get("app", [])
        return [(app["state"], app["finalStatus"]) for app in sorted(found, key=lambda app: str(app["id"]))]

    def has_said(self, words: str) -> bool:
        """Whether a container has printed this. What Python prints goes to standard output, whatever it was
        meant for.
        """
        return any(
            words in file.read_text(encoding="utf-8", errors="replace")
            for file in self.folder.glob("logs/*/*/stdout")
        )


@contextmanager
def yarn(folder: Path) -> Iterator[Yarn]:
    """Until the end of the block; what containers have printed stays in the folder."""
    installed = Installation(ROOT)
    java = installed.java()
    JARS.mkdir(parents=True, exist_ok=True)
    fetch({JARS / jar.name: jar for jar in PINS if not (JARS / jar.name).exists()}, JARS, java)
    for jar in PINS:
        verify_jar(JARS / jar.name, jar.sha256)
    cluster = Yarn(folder, _write_conf(folder))
    (folder / "files").mkdir()
    (folder / "files" / "environment.tar").symlink_to(make_environment(installed))
    classes = f"{cluster.conf}:{JARS}/*:{Path(pyspark.__file__).parent}/jars/*"
    started = []
    try:
        for daemon in DAEMONS:
            with (folder / f"{daemon.partition('.')[0]}.log").open("wb") as log:
                command = [
                    str(java.command),
                    *JAVA_OPTIONS,
                    "-cp",
                    classes,
                    f"org.apache.hadoop.yarn.server.{daemon}",
                ]
                environ = {**os.environ, "JAVA_HOME": str(java.home)}
                started.append(
                    subprocess.Popen(
                        command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder, env=environ
                    )
                )
        _wait_for_a_node(cluster.address, started)
        yield cluster
    finally:
        for process in reversed(started):
            process.terminate()
        for process in started:
            process.wait()


def _write_conf(folder: Path) -> str:
    """The two files of HADOOP_CONF_DIR; gives the address of the ResourceManager's web services."""
    manager, node = "yarn.resourcemanager", "yarn.nodemanager"
    services = ("address", "scheduler.address", "resource-tracker.address", "admin.address", "webapp.address")
    addresses = {f"{manager}.{name}": f"127.0.0.1:{free_port()}" for name in services}
    site = {
        f"{manager}.hostname": "127.0.0.1",
        **addresses,
        f"{manager}.scheduler.class": (
            "org.apache.hadoop.yarn.server.resourcemanager.scheduler.fifo.FifoScheduler"
        ),
        f"{node}.address": "127.0.0.1:0",
        f"{node}.webapp.address": "127.0.0.1:0",
        f"{node}.localizer.address": f"127.0.0.1:{free_port()}",
        f"{node}.local-dirs": folder / "local",
        f"{node}.log-dirs": folder / "logs",
        f"{node}.resource.memory-mb": 6144,
        f"{node}.resource.cpu-vcores": 8,
        f"{node}.vmem-check-enabled": "false",
        f"{node}.disk-health-checker.enable": "false",
        "yarn.scheduler.minimum-allocation-mb": 256,
    }
    core = {
        "fs.defaultFS": f"{FILE_SYSTEM}/",
        "fs.viewfs.mounttable.weir.linkFallback": (folder / "files").as_uri(),
    }
    (folder / "conf").mkdir()
    for name, settings in (("yarn-site", site), ("core-site", core)):
        lines = "".join(
            f"<property><name>{key}</name><value>{value}</value></property>\n"
            for key, value in settings.items()
        )
        (folder / "conf" / f"{name}.xml").write_text(
            f"<configuration>\n{lines}</configuration>\n", encoding="utf-8"
        )
    (folder / "conf" / "log4j2.properties").write_text(LOG4J, encoding="utf-8")
    return f"http://{addresses[f'{manager}.webapp.address']}"


def _wait_for_a_node(address: str, started: list[subprocess.Popen[bytes]]) -> None:
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            if _ask(f"{address}/ws/v1/cluster/metrics")["clusterMetrics"]["activeNodes"]:
                return
        except (urllib.error.URLError, ConnectionError):
            pass
        if any(process.poll() is not None for process in started) or time.monotonic() > deadline:
            raise RuntimeError("a daemon of YARN has ended, or does not answer")
        time.sleep(0.2)


def _ask(address: str) -> dict[str, dict[str, list[dict[str, str]]]]:
    with urllib.request.urlopen(address, timeout=10) as answer:
        found: dict[str, dict[str, list[dict[str, str]]]] = json.load(answer)
        return found
