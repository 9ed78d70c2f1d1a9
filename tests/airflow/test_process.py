"""The child process itself, without Airflow."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from weir_environ import handed_on, own_variables
from weir_process import Finished, end_group, follow, start

pytestmark = pytest.mark.system

READY = "print('ready', file=sys.stderr, flush=True)"


def python(source: str, folder: Path) -> subprocess.Popen[str]:
    return start([sys.executable, "-c", source], folder)


def test_progress_is_handed_on_and_the_last_line_is_the_result(tmp_path: Path) -> None:
    source = "import sys; print('one\\n\\ntwo é', file=sys.stderr); print('x'); print('{}'); sys.exit(3)"
    said: list[str] = []

    finished = follow(python(source, tmp_path), said.append, grace_seconds=5)

    assert finished == Finished(3, "{}")
    assert said == ["one", "two é"]


def test_much_output_on_both_sides_does_not_block(tmp_path: Path) -> None:
    source = "import sys\nfor n in range(20000): print(n); print(n, file=sys.stderr)"
    said: list[str] = []

    finished = follow(python(source, tmp_path), said.append, grace_seconds=5)

    assert finished == Finished(0, "19999")
    assert len(said) == 20000


def test_a_process_that_outlives_the_command_is_ended_with_it(tmp_path: Path) -> None:
    source = (
        f"import subprocess, sys; subprocess.Popen([{sys.executable!r}, '-c', 'import time;"
        " time.sleep(3600)']); sys.exit(1)"
    )
    started = time.monotonic()

    finished = follow(python(source, tmp_path), print, grace_seconds=30)

    assert finished == Finished(1, "")
    assert time.monotonic() - started < 30


def test_a_child_that_ends_when_asked_is_not_killed(tmp_path: Path) -> None:
    source = (
        f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); {READY}; signal.pause()"
    )
    child = python(source, tmp_path)

    finished = follow(child, lambda line: end_group(child, grace_seconds=30), grace_seconds=30)

    assert finished == Finished(7, "")


def test_a_child_that_does_not_hear_is_killed_after_the_grace(tmp_path: Path) -> None:
    source = (
        f"import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}\nwhile True:"
        " signal.pause()"
    )
    child = python(source, tmp_path)

    finished = follow(child, lambda line: end_group(child, grace_seconds=0.1), grace_seconds=30)

    assert finished == Finished(-signal.SIGKILL, "")


def test_the_command_knows_its_parent_and_what_else_it_is_told(tmp_path: Path) -> None:
    source = "import os; print(os.environ['WEIR_PARENT_PID'], os.getppid(), os.environ['WEIR_ORIGIN'])"

    finished = follow(
        start([sys.executable, "-c", source], tmp_path, {"WEIR_ORIGIN": "here"}), print, grace_seconds=5
    )

    assert finished == Finished(0, f"{os.getpid()} {os.getpid()} here")


def test_neither_the_command_nor_what_it_starts_gets_airflows_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "lakehouse.yml").write_text(
        "landing: a\nlake: b\nhand_on: [BILLING_*]\n", encoding="utf-8"
    )
    kept = {
        "AWS_SECRET_ACCESS_KEY": "mine",
        "SPARK_CONF_DIR": "/spark",
        "WEIR_LAKE": "/lake",
        "BILLING_TOKEN": "asked for",
    }
    secrets = {
        "AIRFLOW__CORE__FERNET_KEY": "hush",
        "AIRFLOW__API_AUTH__JWT_SECRET": "hush",
        "AIRFLOW_CONN_SHOP": "hush",
    }
    secrets |= {
        "WEIR_AIRFLOW_DATABASE": "hush",
        "WEIR_AIRFLOW__API__SECRET_KEY": "hush",
        "OTHER_TOKEN": "hush",
    }
    for name, value in (kept | secrets).items():
        monkeypatch.setenv(name, value)
    other = "print(flush=True); input()"
    source = f"""
import signal, subprocess, sys
with subprocess.Popen([sys.executable, "-c", {other!r}], stdin=subprocess.PIPE, stdout=subprocess.PIPE, process_group=0) as other:
    other.stdout.readline()
    print(other.pid, file=sys.stderr, flush=True)
    signal.pause()
"""
    child, found = python(source, tmp_path), list[dict[str, str]]()

    def look(line: str) -> None:
        if line.isdecimal():
            found.extend(environ_of(pid) for pid in (child.pid, int(line)))
            end_group(child, grace_seconds=0.1)

    follow(child, look, grace_seconds=0.1)

    assert len(found) == 2
    for environ in found:
        assert kept.items() <= environ.items()
        assert "hush" not in environ.values()
        assert environ["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("text", ["lake: [", "landing: a\nlake: b\nhand_on: [AIRFLOW__CORE__FERNET_KEY]\n"])
def test_a_lakehouse_file_that_cannot_be_used_hands_on_nothing_of_its_own(tmp_path: Path, text: str) -> None:
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "lakehouse.yml").write_text(text, encoding="utf-8")

    assert own_variables(tmp_path) == ()


def test_no_pattern_of_ones_own_reaches_airflows_keys() -> None:
    assert handed_on({"AIRFLOW__API__SECRET_KEY": "hush", "AIM": "asked for"}, ["A*"]) == {"AIM": "asked for"}


def environ_of(pid: int) -> dict[str, str]:
    """As the kernel has it: what the process was started with."""
    lines = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
    return dict(line.split("=", 1) for line in lines if "=" in line)


def test_a_process_with_a_group_of_its_own_is_not_asked_but_does_not_outlive_the_grace(
    tmp_path: Path,
) -> None:
    """As the JVM: asked to end it would cut the batch that the command is about to finish."""
    other = (
        "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); print('up', flush=True);"
        " signal.pause()"
    )
    source = f"""
import os, signal, subprocess, sys
other = subprocess.Popen([sys.executable, "-c", {other!r}], stdout=subprocess.PIPE, text=True, process_group=0)
other.stdout.readline()
signal.signal(signal.SIGTERM, lambda *_: (print(other.pid, other.poll()), sys.exit(6)))
{READY}
signal.pause()
"""
    child = python(source, tmp_path)

    finished = follow(child, lambda line: end_group(child, grace_seconds=0.5), grace_seconds=0.5)

    pid, ended_with = finished.last_line.split()
    assert (finished.exit_code, ended_with) == (6, "None")
    assert not Path("/proc", pid, "exe").exists()  # nor is it there as one that nobody has waited for


def test_a_number_that_may_be_another_process_by_now_is_not_signalled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    child = python("", tmp_path)
    follow(child, print, grace_seconds=5)
    signalled: list[int] = []
    monkeypatch.setattr("weir_process.PROCESSES", _all_of_session(tmp_path, child.pid))
    monkeypatch.setattr(os, "killpg", lambda group, number: signalled.append(group))
    monkeypatch.setattr(os, "kill", lambda pid, number: signalled.append(pid))

    end_group(child, grace_seconds=0)

    assert signalled == []


def _all_of_session(folder: Path, session: int) -> Path:
    """A /proc in which the number has been given again, to a process that leads a session."""
    (folder / "proc" / str(session)).mkdir(parents=True)
    (folder / "proc" / str(session) / "stat").write_text(f"{session} (other) S 1 {session} {session} 0")
    return folder / "proc"
