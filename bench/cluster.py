"""A standalone Spark cluster as processes of this machine, on the loopback address: a run on it has a driver
whose JVM is its own.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SPARK_CLASS = str(Path(sys.executable).with_name("spark-class"))
HOST = "127.0.0.1"
SECONDS_TO_START = 60.0
# Master and workers do little themselves.
ENVIRON = {
    "SPARK_LOCAL_IP": HOST,
    "PYSPARK_PYTHON": sys.executable,
    "SPARK_DAEMON_JAVA_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True)
class Cluster:
    """A master at an address, and its workers. Each is a process group of its own, to which its executors
    belong.
    """

    address: str
    processes: dict[str, subprocess.Popen[bytes]]

    def kill(self, worker: str) -> None:
        """kill -9 of a worker and its executors."""
        os.killpg(self.processes[worker].pid, signal.SIGKILL)
        self.processes[worker].wait()


@contextmanager
def standalone_cluster(
    folder: Path, workers: int, cores: int, memory: str, environ: Mapping[str, str] = os.environ
) -> Iterator[Cluster]:
    """A master whose workers, of so many cores and so much memory each, work in the folder (worker-1, …); all
    end with the block.
    """
    port = free_port()
    cluster = Cluster(f"spark://{HOST}:{port}", {})
    parts = {"master": ["org.apache.spark.deploy.master.Master", "--port", str(port)]}
    for worker in (f"worker-{number}" for number in range(1, workers + 1)):
        size = ["--cores", str(cores), "--memory", memory, "--work-dir", str(folder / worker)]
        parts[worker] = ["org.apache.spark.deploy.worker.Worker", *size, cluster.address]
    try:
        for name, (main, *arguments) in parts.items():
            with open(folder / f"{name}.log", "wb") as log:
                command = [SPARK_CLASS, main, "--host", HOST, "--webui-port", "0", *arguments]
                said = {"stdin": subprocess.DEVNULL, "stdout": log, "stderr": log, "process_group": 0}
                cluster.processes[name] = subprocess.Popen(command, env={**environ, **ENVIRON}, **said)  # type: ignore[call-overload]
            if name == "master":
                _wait_for_port(port, cluster.processes[name])
        yield cluster
    finally:
        for process in cluster.processes.values():
            process.terminate()
        for process in cluster.processes.values():
            process.wait()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def _wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + SECONDS_TO_START
    while True:
        with socket.socket() as probe:
            if probe.connect_ex((HOST, port)) == 0:
                return
        if process.poll() is not None or time.monotonic() > deadline:
            raise RuntimeError("the master of the cluster has ended, or does not listen")
        time.sleep(0.2)
