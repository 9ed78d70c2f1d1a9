"""What up.json says is held against the processes that there are: a number alone proves nothing."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from service.environ import MARKER
from service.processes import Process, boot_id, find_process, is_running
from service.state import Component, ServiceBusy, State, only_one, read_state, state_file, write_state
from service.stop import stop_service

# A process that waits in a session of its own, and a child of it in yet another one.
WAIT = (
    "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(1, flush=True); input()'],"
    " start_new_session=True)"
)


@pytest.fixture
def waiting() -> Iterator[subprocess.Popen[str]]:
    environ = {**os.environ, MARKER: "a-marker"}
    with subprocess.Popen(
        [sys.executable, "-c", WAIT],
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        yield child
        child.kill()


def recorded(pid: int) -> State:
    found = find_process(pid)
    assert found is not None
    since = "2026-11-17T02:00:00+00:00"
    return State(
        "a-marker",
        boot_id(),
        "http://127.0.0.1:1",
        since,
        (Component("scheduler", found.process, Path("/dev/null")),),
    )


def test_a_state_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "airflow_home").mkdir()
    state = recorded(os.getpid())

    write_state(tmp_path, state)

    assert read_state(tmp_path) == state
    assert state_file(tmp_path).stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("text", ["", "{", "[]", '{"components": [{}]}', '{"components": [], "unknown": 1}'])
def test_a_record_that_was_cut_is_none(tmp_path: Path, text: str) -> None:
    (tmp_path / "airflow_home").mkdir()
    state_file(tmp_path).write_text(text, encoding="utf-8")

    assert read_state(tmp_path) is None
    assert stop_service(tmp_path) is None
    assert not state_file(tmp_path).exists()


@pytest.mark.system
def test_all_that_bear_the_marker_belong_to_the_service_whatever_their_session(
    waiting: subprocess.Popen[str],
) -> None:
    found = recorded(waiting.pid).processes()

    assert waiting.pid in {one.process.pid for one in found}
    assert len({one.session for one in found}) == 2


@pytest.mark.system
def test_a_number_that_was_given_to_another_process_is_not_ours(waiting: subprocess.Popen[str]) -> None:
    state = recorded(waiting.pid)
    earlier = Component("scheduler", Process(waiting.pid, 1), Path("/dev/null"))
    stale = replace(state, marker="another", components=(earlier,))

    assert not is_running(earlier.process)
    assert stale.ended() == [earlier]
    assert stale.processes() == []


@pytest.mark.system
def test_nothing_from_before_the_boot_is_ours(waiting: subprocess.Popen[str]) -> None:
    before = replace(recorded(waiting.pid), boot="another boot")

    assert not before.is_up()
    assert before.processes() == []


@pytest.mark.system
def test_down_ends_the_children_of_a_service_whose_leader_was_killed(
    waiting: subprocess.Popen[str], tmp_path: Path
) -> None:
    (tmp_path / "airflow_home").mkdir()
    state = recorded(waiting.pid)
    write_state(tmp_path, state)
    waiting.kill()
    waiting.wait()
    assert [one.process.pid != waiting.pid for one in state.processes()] == [True]

    assert stop_service(tmp_path, print, grace_seconds=5) == state

    assert state.processes() == []
    assert read_state(tmp_path) is None


def test_a_second_up_or_down_at_the_same_time_is_refused(tmp_path: Path) -> None:
    with (
        only_one(tmp_path),
        pytest.raises(ServiceBusy, match="another `make up` or `make down`"),
        only_one(tmp_path),
    ):
        pass
