"""`weir history`: a run with Spark's event log is found in Spark's own history server."""

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.session.settings import event_log_folder
from tests.conftest import ROOT, weir_environ

pytestmark = pytest.mark.system

PATIENCE = 120.0
STARTED = 1_714_564_800_000


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def project(tmp_path: Path) -> Path:
    for file in ("lakehouse.yml", "log4j2.properties", "profiles/observed.yml"):
        target = tmp_path / "conf" / file
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((ROOT / "conf" / file).read_bytes())
    (tmp_path / ".envs").symlink_to(ROOT / ".envs")
    return tmp_path


def history(root: Path, port: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "spark_jobs.cli", "history", "--port", str(port)]
    environ = weir_environ(WEIR_HOME=str(root))
    return subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def applications(port: int) -> list[dict[str, Any]]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/api/v1/applications", timeout=10) as answer:
            found: list[dict[str, Any]] = json.load(answer)
            return found
    except (
        OSError,
        json.JSONDecodeError,
    ):  # not there yet, or busy with its start: it answers with a page before it answers with JSON
        return []


def test_without_an_event_log_it_says_how_to_get_one(tmp_path: Path) -> None:
    server = history(project(tmp_path), free_port())
    said = server.communicate(timeout=PATIENCE)[1]

    assert server.returncode == 3
    assert "weir run retail --profile observed" in said


def test_an_application_of_the_event_log_is_shown(tmp_path: Path) -> None:
    log = event_log_folder(project(tmp_path) / "logs") / "app-1"
    started = {
        "Event": "SparkListenerApplicationStart",
        "App Name": "weir retail",
        "App ID": "app-1",
        "Timestamp": STARTED,
        "User": "weir",
    }
    events = [{"Event": "SparkListenerLogStart", "Spark Version": "4.2.0"}, started]
    log.write_text(
        "".join(
            json.dumps(event, separators=(",", ":")) + "\n"
            for event in [*events, {"Event": "SparkListenerApplicationEnd", "Timestamp": STARTED + 1000}]
        )
    )
    port = free_port()
    server = history(tmp_path, port)
    try:
        until = time.monotonic() + PATIENCE
        while not (found := applications(port)) and time.monotonic() < until and server.poll() is None:
            time.sleep(0.2)
        server.send_signal(signal.SIGTERM)
        said = server.communicate(timeout=PATIENCE)
    finally:
        server.kill()

    assert [application["name"] for application in found] == ["weir retail"], said
    assert server.returncode == 128 + signal.SIGTERM, said
