"""A real Airflow: up, what a second up and status say, the API's door, down while a task is at work, and
nothing left.
"""

import contextlib
import json
import os
import signal
import sqlite3
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.__main__ import main
from service.environ import HOST
from service.processes import PROC, arguments_of
from service.state import read_state

pytestmark = pytest.mark.airflow


def test_airflow_comes_up_serves_its_dags_and_goes_down_whole_when_loads_have_finished_their_batch(
    real_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {**os.environ, "WEIR_HOME": str(real_project), "WEIR_PORT": "0", "WEIR_USERS": "ada:viewer"}
    environ["WEIR_COMMAND"] = str(real_project / "weir")
    load = real_project / "load"

    assert main(["up"], environ) == 0, capsys.readouterr().err
    first = capsys.readouterr().out
    state = read_state(real_project)
    assert state is not None
    passwords = json.loads((real_project / "airflow_home" / "passwords.json").read_text(encoding="utf-8"))
    password = passwords["admin"]
    secrets = json.loads((real_project / "airflow_home" / "keys.json").read_text(encoding="utf-8")).values()
    assert f"Airflow is up: {state.url}   user admin" in first
    assert [f"password of {user}: {passwords[user]}" in first for user in ("admin", "ada")] == [True, True]
    assert "switched on" in first or "paused until you switch them on" in first, (
        "whatever has been read by then"
    )
    assert [secret for secret in secrets if secret in first] == []

    assert token(state.url, passwords["ada"], "ada")
    bearer = token(state.url, password)
    assert ask(f"{state.url}/api/v2/version", bearer)["version"] == "3.3.2"
    wait_for(lambda: {"busy", "loading", "retail"} <= paused_dags(state.url, bearer).keys(), "the DAGs")
    assert paused_dags(state.url, bearer)["retail"] is True
    ask(f"{state.url}/api/v2/dags/busy/dagRuns", bearer, {"logical_date": None})
    ask(f"{state.url}/api/v2/dags/loading/dagRuns", bearer, {"logical_date": None})
    wait_for(lambda: (real_project / "signals").exists() and load.exists(), "the tasks")
    listening = {address for found in state.processes() for address in listened_by(found.process.pid)}
    assert listening == {f"{HOST}:{state.url.rpartition(':')[2]}"}

    assert main(["up"], environ) == 0
    second = capsys.readouterr().out
    assert f"Airflow is up since {state.since}: {state.url}" in second
    assert [f"process {component.process.pid}" in second for component in state.components] == [True] * 4
    assert password not in second
    assert main(["status", "--json"], environ) == 0
    assert json.loads(capsys.readouterr().out)["unhealthy"] == []
    assert read_state(real_project) == state

    assert main(["down"], environ) == 0
    told = capsys.readouterr().out.splitlines()
    assert told[-1] == "Airflow is down"
    assert "seconds more at most: fake_load.py maintain shop" in told[0], told
    assert load.read_text(encoding="utf-8") == "begun 15 batch ", "asked once, and the batch is done"
    assert (real_project / "signals").read_text(encoding="utf-8") == "15 "
    assert states(real_project) == {"wait": ("failed", 1), "load": ("up_for_reschedule", 1)}
    assert state.processes() == []
    assert read_state(real_project) is None
    logs = [
        path.read_text(encoding="utf-8") for path in (real_project / "airflow_home" / "service").iterdir()
    ]
    assert [secret for secret in (*secrets, *passwords.values()) if any(secret in log for log in logs)] == []

    # What was stopped goes on after the next start, and says so. No try is lost to the stop, nor to an API
    # server that does not listen yet.
    load.unlink()
    assert main(["up"], environ) == 0, capsys.readouterr().err
    assert "2 DAGs are switched on, and load by schedule: busy, loading; " in capsys.readouterr().out
    wait_for(load.exists, "the load")
    assert states(real_project)["load"] == ("running", 1)
    assert [key for key in environ_of(at_work(real_project)) if key.startswith("AIRFLOW__")] == [], (
        "nor does it get Airflow's keys"
    )

    # The scheduler is killed: the load finishes its batch all the same, and nothing waits for workers that
    # nobody will ask any more.
    again = read_state(real_project)
    assert again is not None
    os.kill(again.of("scheduler").process.pid, signal.SIGKILL)
    began = time.monotonic()
    assert main(["down"], environ) == 0
    assert time.monotonic() - began < 60
    assert load.read_text(encoding="utf-8") == "begun 15 batch "
    assert "killed" not in capsys.readouterr().out
    assert states(real_project)["load"] == ("up_for_reschedule", 1)
    assert again.processes() == []


def states(project: Path) -> dict[str, tuple[str, int]]:
    """The state of each task, and its try."""
    with sqlite3.connect(project / "airflow_home" / "airflow.db") as database:
        return {
            task: (state, number)
            for task, state, number in database.execute(
                "SELECT task_id, state, try_number FROM task_instance"
            )
        }


def at_work(project: Path) -> int:
    """The process of the load."""
    state = read_state(project)
    assert state is not None
    return next(found.process.pid for found in state.processes() if "maintain" in arguments_of(found.process))


def environ_of(pid: int) -> dict[str, str]:
    lines = (PROC / str(pid) / "environ").read_bytes().decode().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def token(url: str, password: str, user: str = "admin") -> str:
    body = json.dumps({"username": user, "password": password}).encode()
    asked = urllib.request.Request(f"{url}/auth/token", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(asked, timeout=30) as answer:
        return str(json.load(answer)["access_token"])


def ask(url: str, bearer: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {bearer}", "Content-Type": "application/json"}
    data = json.dumps(body).encode() if body else None
    with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=30) as answer:
        told: dict[str, Any] = json.load(answer)
    return told


def paused_dags(url: str, bearer: str) -> dict[str, bool]:
    return {dag["dag_id"]: dag["is_paused"] for dag in ask(f"{url}/api/v2/dags", bearer)["dags"]}


def wait_for(is_there: Callable[[], bool], what: str) -> None:
    deadline = time.monotonic() + 120
    while not is_there():
        assert time.monotonic() < deadline, f"{what} did not come"
        time.sleep(0.2)


def listened_by(pid: int) -> set[str]:
    """The TCP addresses on which a process listens, from the sockets that it has open."""
    sockets = {target.removeprefix("socket:[").rstrip("]") for target in open_files(pid)}
    found = set()
    for table in ("tcp", "tcp6"):
        for line in (PROC / str(pid) / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
            _, local, _, state, *rest = line.split()
            if state == "0A" and rest[5] in sockets:
                host, port = local.split(":")
                found.add(
                    f"{'.'.join(str(int(host[at : at + 2], 16)) for at in (6, 4, 2, 0)) if len(host) == 8 else host}:{int(port, 16)}"
                )
    return found


def open_files(pid: int) -> set[str]:
    found = set()
    for link in (PROC / str(pid) / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed in the meantime
            found.add(os.readlink(link))
    return found
