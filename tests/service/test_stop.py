"""`down` and the loads: each is asked once, finishes its batch, and is killed only when the time is over.
Processes stand for Airflow's.
"""

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from service.container import API
from service.environ import MARKER
from service.processes import boot_id, find_process, is_running
from service.state import Component, State, going_down_file, read_state, write_state
from service.stop import PARENT, stop_service
from tests.airflow.webhook import serving

pytestmark = pytest.mark.system
SCHEDULER = "import signal; print(flush=True); signal.pause()"
# It says which signals it heard, and works on for a second after the first one.
LOAD = """
import signal, sys, time
heard = []
signal.signal(signal.SIGTERM, lambda number, frame: heard.append(number))
print("begun", flush=True)
while not heard:
    time.sleep(0.05)
time.sleep(float(sys.argv[1]))
print("batch", *heard, flush=True)
"""


# A task that has no load at the moment: it looks whether Airflow is going down, and needs a moment to say so.
TASK = """
import pathlib, sys, time
print("begun", flush=True)
while not pathlib.Path(sys.argv[1]).exists():
    time.sleep(0.05)
time.sleep(0.5)
print("rescheduled", flush=True)
"""


def spawn(source: str, *arguments: str, **environ: str) -> subprocess.Popen[str]:
    child = subprocess.Popen(
        [sys.executable, "-c", source, *arguments],
        env={**os.environ, MARKER: "a-marker", **environ},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert child.stdout is not None
    child.stdout.readline()
    return child


@pytest.fixture
def scheduler(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    (tmp_path / "airflow_home").mkdir()
    with spawn(SCHEDULER) as child:
        found = find_process(child.pid)
        assert found is not None
        since = "2026-11-17T02:00:00+00:00"
        write_state(
            tmp_path,
            State(
                "a-marker",
                boot_id(),
                "http://127.0.0.1:1",
                since,
                (Component("scheduler", found.process, Path("/dev/null")),),
            ),
        )
        yield child
        child.kill()


def test_a_load_is_asked_once_and_finishes_its_batch(
    scheduler: subprocess.Popen[str], tmp_path: Path
) -> None:
    said: list[str] = []
    with spawn(LOAD, "1", **{PARENT: "1"}) as load:
        stop_service(tmp_path, said.append, grace_seconds=30)

        assert load.stdout is not None
        assert load.stdout.read() == "batch 15\n"
    assert said[0].startswith("waiting for the batch at work now, 30 seconds more at most")
    assert scheduler.wait() == -15
    assert read_state(tmp_path) is None
    assert not going_down_file(tmp_path).exists()


def test_after_a_killed_scheduler_a_load_finishes_as_well(
    scheduler: subprocess.Popen[str], tmp_path: Path
) -> None:
    scheduler.kill()
    scheduler.wait()
    with spawn(LOAD, "0.5", **{PARENT: "1"}) as load:
        stop_service(tmp_path, print, grace_seconds=30)

        assert load.stdout is not None
        assert load.stdout.read() == "batch 15\n"


def test_a_task_without_a_load_has_time_to_see_that_it_is_to_begin_none(
    scheduler: subprocess.Popen[str], tmp_path: Path
) -> None:
    with spawn(TASK, str(going_down_file(tmp_path))) as task:
        stop_service(tmp_path, print, grace_seconds=30)

        assert task.stdout is not None
        assert task.stdout.read() == "rescheduled\n"
        assert task.wait() == 0


def test_a_load_that_needs_too_long_is_killed_and_that_is_said(
    scheduler: subprocess.Popen[str], tmp_path: Path
) -> None:
    said: list[str] = []
    with spawn(LOAD, "60", **{PARENT: "1"}) as load:
        stop_service(tmp_path, said.append, grace_seconds=0.5)

        assert load.wait() == -9
    assert said[-1].startswith("killed, as the time is over: ")
    assert "what is published stays" in said[-1]


def test_a_second_down_waits_and_does_not_ask_again(
    scheduler: subprocess.Popen[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with spawn(LOAD, "2", **{PARENT: "1"}) as load:
        with monkeypatch.context() as patched:
            patched.setattr(time, "sleep", interrupt)
            with pytest.raises(KeyboardInterrupt):
                stop_service(tmp_path, print, grace_seconds=30)
        assert going_down_file(tmp_path).stat().st_mode & 0o777 == 0o600

        stop_service(tmp_path, print, grace_seconds=30)

        assert load.stdout is not None
        assert load.stdout.read() == "batch 15\n"


def interrupt(*_: object) -> None:
    raise KeyboardInterrupt


def test_with_nothing_at_work_down_is_quick_and_says_nothing(
    scheduler: subprocess.Popen[str], tmp_path: Path
) -> None:
    said: list[str] = []
    state = read_state(tmp_path)
    assert state is not None
    began = time.monotonic()

    stop_service(tmp_path, said.append)

    assert time.monotonic() - began < 5
    assert said == []
    assert not is_running(state.components[0].process)
    assert replace(state, components=()).processes() == []


def test_the_scheduler_of_a_container_lets_a_load_finish_its_batch(tmp_path: Path) -> None:
    """Its `airflow` starts a load, and waits."""
    environ = container(tmp_path)

    with scheduler_of(environ) as main:
        wait_for(tmp_path / "load")
        main.terminate()
        said, _ = main.communicate(timeout=60)

    assert main.returncode == 0
    assert (tmp_path / "load").read_text(encoding="utf-8") == "begun 15 batch "
    assert "waiting for the batch at work" in said


def test_the_scheduler_of_a_container_begins_when_the_api_server_answers(tmp_path: Path) -> None:
    """After a boot the containers start in any order, and a task would lose its try."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        address = probe.getsockname()
    url = f"http://127.0.0.1:{address[1]}"
    environ = container(tmp_path) | {API: f"{url}/execution/"}

    with scheduler_of(environ) as main:
        assert main.stdout is not None
        assert main.stdout.readline() == f"waiting for the API server at {url}\n"
        assert not (tmp_path / "load").exists()
        with serving(ThreadingHTTPServer(address, Healthy)):
            wait_for(tmp_path / "load")
        main.terminate()
        main.communicate(timeout=60)

    assert main.returncode == 0


def test_the_scheduler_of_a_container_ends_at_once_while_it_waits_for_the_api_server(tmp_path: Path) -> None:
    with scheduler_of(container(tmp_path) | {API: "http://127.0.0.1:1/execution/"}) as main:
        assert main.stdout is not None
        main.stdout.readline()
        main.terminate()

        assert main.wait(timeout=30) == 130
    assert not (tmp_path / "load").exists()


class Healthy(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"metadatabase": {"status": "healthy"}}')

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def container(root: Path) -> dict[str, str]:
    """The environment of a project whose `airflow` starts a load, and waits."""
    command = root / ".envs" / "airflow" / "bin" / "airflow"
    command.parent.mkdir(parents=True)
    (root / "airflow_home").mkdir()
    load = f'{PARENT}=1 setsid "{sys.executable}" "{Path(__file__).with_name("fake_load.py")}" run shop'
    command.write_text(
        f"#!/bin/sh\n{load} &\ntrap 'exit 0' TERM\nwhile :; do sleep 0.1; done\n", encoding="utf-8"
    )
    command.chmod(0o755)
    return {**os.environ, "WEIR_HOME": str(root), "WEIR_FAKE_BATCH_SECONDS": "1"}


def scheduler_of(environ: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "service", "scheduler"]
    return subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True)


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, "the load does not begin"
        time.sleep(0.1)
