"""The guide's word count from a socket, by an always-on stream: its bronze query stays open while increments
come and go.
"""

import os
import signal
import socket
import threading
import time
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.run import stopping
from spark_jobs.run.result import RunResult, Status
from spark_jobs.stream.always_on import Orders, stream_pipeline
from spark_jobs.stream.health import Health, Heartbeat
from spark_jobs.stream.trigger import Trigger
from tests.conftest import PROFILE, SharedSession, Workshop

pytestmark = pytest.mark.spark

PATIENCE = 240.0


def counts(workshop: Workshop) -> dict[str, int]:
    path = workshop.root / "lake" / "words_socket" / "gold" / "word_count"
    return (
        dict(workshop.rows("words_socket.gold.word_count", "word", "word_count"))
        if DeltaTable.is_deltatable(str(path))
        else {}
    )


def wait_for(workshop: Workshop, expected: dict[str, int]) -> None:
    until = time.monotonic() + PATIENCE
    while counts(workshop) != expected:
        assert time.monotonic() < until, f"it took too long; counted so far: {counts(workshop)}"
        time.sleep(0.1)


def test_words_from_a_socket_are_counted_while_they_come(examples: Workshop, spark: SparkSession) -> None:
    results: list[RunResult] = []
    with socket.create_server(("127.0.0.1", 0)) as server, stopping.listening({}):
        file = examples.root / "conf" / "pipelines" / "words_socket.yml"
        file.write_text(
            file.read_text(encoding="utf-8").replace("9999", str(server.getsockname()[1])), encoding="utf-8"
        )

        def stream() -> None:
            pulse = Heartbeat(Health("words_socket", "", datetime.now(UTC)))
            orders = Orders(Trigger("as-fast-as-possible"), give_up_after=1)
            results.append(
                stream_pipeline(
                    examples.project, "words_socket", PROFILE, orders, pulse, SharedSession(spark)
                )
            )

        thread = threading.Thread(target=stream)
        thread.start()
        server.settimeout(PATIENCE)
        sender, _ = server.accept()
        with sender:
            sender.sendall(b"apache spark\napache hadoop\n")
            wait_for(examples, {"apache": 2, "spark": 1, "hadoop": 1})
            sender.sendall(b"spark\n")
            wait_for(examples, {"apache": 2, "spark": 2, "hadoop": 1})
            os.kill(os.getpid(), signal.SIGTERM)
            thread.join(PATIENCE)

    assert not thread.is_alive()
    assert (results[0].status, results[0].message[:18]) == (Status.OK, "stopped by SIGTERM")
    progress = Ledger(Lake(examples.project.lake, "words_socket")).rows("progress")
    assert sum(row["rows"] for row in progress if row["table"] == "bronze.lines") == 3
    assert [line for (line,) in examples.rows("words_socket.silver.lines", "line")] == [
        "apache hadoop",
        "apache spark",
        "spark",
    ]
