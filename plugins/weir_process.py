"""Runs the `weir` command as a child with a session of its own, so that it can be ended with everything it
started.

Asked to end, `weir` finishes the batch at work. Its JVM has a process group of its own within the session,
and is not asked.

Its stderr is the progress, handed on line by line; the last line of its stdout is the result.
"""

import contextlib
import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from weir_environ import handed_on, own_variables

POLL_SECONDS = 0.05
PARENT = "WEIR_PARENT_PID"
"""By it `weir` knows whom it works for: without that process, killed perhaps, it stops by itself."""
PROCESSES = Path("/proc")


@dataclass(frozen=True)
class Finished:
    """How the child ended: its exit code (negative: the signal that ended it) and the last line of its
    stdout.
    """

    exit_code: int
    last_line: str


def start(
    argv: Sequence[str], folder: Path, environ: Mapping[str, str] | None = None
) -> subprocess.Popen[str]:
    """Starts the command in the folder of its project, with what it may have of this process's variables and
    these on top.
    """
    return subprocess.Popen(
        argv,
        cwd=folder,
        env={**handed_on(os.environ, own_variables(folder)), **(environ or {}), PARENT: str(os.getpid())},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def follow(child: subprocess.Popen[str], say: Callable[[str], None], grace_seconds: float) -> Finished:
    """Hands every line of progress to `say` while the child runs, and returns how it ended. Leaves nothing of
    its session behind.
    """
    assert child.stdout is not None
    assert child.stderr is not None
    last_lines: deque[str] = deque(maxlen=1)
    reader = threading.Thread(target=_keep_last, args=(child.stdout, last_lines), daemon=True)
    # Beside the reading: a process that outlives the child keeps stderr open, and reading alone would wait
    # for it for ever.
    reaper = threading.Thread(target=_reap, args=(child, grace_seconds), daemon=True)
    reader.start()
    reaper.start()
    for line in child.stderr:
        if line.strip():
            say(line.rstrip())
    reaper.join()
    reader.join()
    return Finished(child.returncode, last_lines[0] if last_lines else "")


def _reap(child: subprocess.Popen[str], grace_seconds: float) -> None:
    """Collect the child last: until then its number, by which its group and session are known, is given to no
    other process. Where there is no /proc, only the child itself is known.
    """
    if PROCESSES.is_dir():
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        end_group(child, grace_seconds)
    child.wait()


def _keep_last(lines: IO[str], kept: deque[str]) -> None:
    kept.extend(line.strip() for line in lines if line.strip())


def end_group(child: subprocess.Popen[str], grace_seconds: float) -> None:
    """Asks the child's group to end, and kills what is left of its session after the grace. Does nothing when
    all have ended.

    A child that was collected is not signalled any more: its number may be another's by now.
    """
    if not _is_alive(child):
        return
    _signal_group(child, signal.SIGTERM)
    deadline = time.monotonic() + grace_seconds
    while time.monotonic() < deadline:
        if not _is_alive(child):
            return
        time.sleep(POLL_SECONDS)
    while _is_alive(child):  # again for what was being started meanwhile
        _signal_group(child, signal.SIGKILL)
        for process in _session(child):
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(POLL_SECONDS)


def _is_alive(child: subprocess.Popen[str]) -> bool:
    """Whether anything is left of what the child started, or of itself. One that has ended and was not
    collected yet is not alive.
    """
    if child.returncode is not None:
        return False
    if PROCESSES.is_dir():
        return bool(_session(child))
    return child.poll() is None


def _signal_group(child: subprocess.Popen[str], number: int) -> None:
    """The group's id is the child's: it leads its own session."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, number)


def _session(child: subprocess.Popen[str]) -> list[int]:
    """The processes of the child's session, in whatever group. Where there is no /proc, none: a JVM without
    parent ends by itself.
    """
    found = []
    for entry in PROCESSES.iterdir() if PROCESSES.is_dir() else ():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):  # it has just ended
                # pid (name) state parent group session …; the name may be anything
                state, _, _, session = (
                    (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()[:4]
                )
                if int(session) == child.pid and state not in "ZX":
                    found.append(int(entry.name))
    return found
