"""Runs the `weir` command as a child with a process group of its own, so that it can be ended with everything it started (the JVM).

Its stderr is the progress, handed on line by line; the last line of its stdout is the result.
"""

import os
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Finished:
    """How the child ended: its exit code (negative: the signal that ended it) and the last line of its stdout."""

    exit_code: int
    last_line: str


def start(argv: Sequence[str], folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        argv,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
        errors="replace",
        start_new_session=True,
    )


def follow(child: subprocess.Popen[str], say: Callable[[str], None], grace_seconds: float) -> Finished:
    """Hands every line of progress to `say` while the child runs, and returns how it ended. Leaves nothing of its group behind."""
    assert child.stdout is not None
    assert child.stderr is not None
    last_lines: deque[str] = deque(maxlen=1)
    reader = threading.Thread(target=_keep_last, args=(child.stdout, last_lines), daemon=True)
    # Beside the reading: a process that outlives the child keeps stderr open, and reading alone would wait for it for ever.
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
    child.wait()
    end_group(child, grace_seconds)


def _keep_last(lines: IO[str], kept: deque[str]) -> None:
    kept.extend(line.strip() for line in lines if line.strip())


def end_group(child: subprocess.Popen[str], grace_seconds: float) -> None:
    """Asks the child's whole group to end, and kills what is left of it after the grace. Does nothing when all have ended."""
    if not _signal_group(child, signal.SIGTERM):
        return
    deadline = time.monotonic() + grace_seconds
    while time.monotonic() < deadline:
        child.poll()  # a child that has ended and was not waited for would keep its group alive
        if not _signal_group(child, 0):
            return
        time.sleep(POLL_SECONDS)
    _signal_group(child, signal.SIGKILL)


def _signal_group(child: subprocess.Popen[str], number: int) -> bool:
    """Whether there was still a process to receive it. The group's id is the child's: it leads its own session."""
    try:
        os.killpg(child.pid, number)
    except ProcessLookupError:
        return False
    return True
