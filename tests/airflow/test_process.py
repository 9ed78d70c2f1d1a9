"""The child process itself, without Airflow."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
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
    source = f"import subprocess, sys; subprocess.Popen([{sys.executable!r}, '-c', 'import time; time.sleep(3600)']); sys.exit(1)"
    started = time.monotonic()

    finished = follow(python(source, tmp_path), print, grace_seconds=30)

    assert finished == Finished(1, "")
    assert time.monotonic() - started < 30


def test_a_child_that_ends_when_asked_is_not_killed(tmp_path: Path) -> None:
    source = f"import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(7)); {READY}; signal.pause()"
    child = python(source, tmp_path)

    finished = follow(child, lambda line: end_group(child, grace_seconds=30), grace_seconds=30)

    assert finished == Finished(7, "")


def test_a_child_that_does_not_hear_is_killed_after_the_grace(tmp_path: Path) -> None:
    source = f"import signal, sys\nsignal.signal(signal.SIGTERM, signal.SIG_IGN); {READY}\nwhile True: signal.pause()"
    child = python(source, tmp_path)

    finished = follow(child, lambda line: end_group(child, grace_seconds=0.1), grace_seconds=30)

    assert finished == Finished(-signal.SIGKILL, "")


def test_the_command_knows_its_parent_and_what_else_it_is_told(tmp_path: Path) -> None:
    source = "import os; print(os.environ['WEIR_PARENT_PID'], os.getppid(), os.environ['WEIR_ORIGIN'])"

    finished = follow(start([sys.executable, "-c", source], tmp_path, {"WEIR_ORIGIN": "here"}), print, grace_seconds=5)

    assert finished == Finished(0, f"{os.getpid()} {os.getpid()} here")


def test_a_process_with_a_group_of_its_own_is_not_asked_but_does_not_outlive_the_grace(tmp_path: Path) -> None:
    """As the JVM: asked to end it would cut the batch that the command is about to finish."""
    other = "import signal, sys; signal.signal(signal.SIGTERM, lambda *_: sys.exit(9)); print('up', flush=True); signal.pause()"
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


def test_a_number_that_may_be_another_process_by_now_is_not_signalled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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
