"""A run that is asked to stop finishes the batches at work and begins no other. Asked by SIGTERM, by SIGINT
(Ctrl-C), or by the end of the process that started it, where WEIR_PARENT_PID names that. A second signal ends
it at once, as a kill would. The next run goes on.

Signals belong to the process, and so does what is kept here.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType

from spark_jobs.config.hooks import leave

PARENT = "WEIR_PARENT_PID"
"""Names the process that started this one, and without which it has nobody to work for."""
LOOK_SECONDS = 1.0
SIGNALS = (signal.SIGTERM, signal.SIGINT)
NOTICE = "stopping after the current batch (press Ctrl-C again to stop immediately)"


class NotBegun(Exception):
    """A batch, or a table, was left for the next run, because this one was asked to stop."""

    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"stopped by {why}")


@dataclass
class _State:
    asked: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)
    why: str = ""
    is_working: bool = False
    tell: Callable[[str], None] = lambda line: None


_state = _State()


def asked_by() -> str | None:
    """What has asked for the stop, as in SIGTERM; None while nobody has."""
    return _state.why if _state.asked.is_set() else None


def check() -> None:
    """NotBegun where a stop is asked for: called before anything new begins."""
    if _state.asked.is_set():
        raise NotBegun(_state.why)


def pause(seconds: float) -> None:
    """Wait, but no longer than until a stop is asked for."""
    _state.asked.wait(seconds)


def say_stopped(why: str, done: str = "nothing was begun") -> str:
    return f"stopped by {why}: {done}; what is published stays: run again to resume"


def begin_work() -> None:
    """From here on a signal lets the batches at work end. Before it, when Spark is not there yet, it stops
    the process at once.
    """
    _state.is_working = True


def tell_by(tell: Callable[[str], None]) -> None:
    """Where the notice is said that a stop is coming."""
    _state.tell = tell


@contextmanager
def listening(environ: Mapping[str, str] = os.environ) -> Iterator[None]:
    """Hear the signals, and watch the parent, for the block. A stop before the work has begun ends it with
    KeyboardInterrupt.
    """
    global _state
    _state = _State()
    before = {number: signal.signal(number, _hear) for number in SIGNALS}
    threading.Thread(target=_watch, args=(_state, _parent(environ)), name="stop watch", daemon=True).start()
    try:
        yield
    finally:
        _state.ended.set()
        for number, handler in before.items():
            signal.signal(number, handler)
        _state = _State()


def _parent(environ: Mapping[str, str]) -> int | None:
    named = environ.get(PARENT, "")
    return int(named) if named.isdecimal() else None


def _hear(number: int, _frame: FrameType | None) -> None:
    """Python runs this in the main thread, between any two of its steps: it takes no lock that the main
    thread could hold.
    """
    if _state.asked.is_set():
        os.write(2, b"ended at once: what is published stays, run again to resume\n")
        leave(128 + number)  # the JVM ends with this process; a batch that is cut is done again
    _state.why = _state.why or signal.Signals(number).name
    _state.asked.set()
    if not _state.is_working:
        raise KeyboardInterrupt


def _watch(state: _State, parent: int | None) -> None:
    """Say that a stop is coming, once it is asked for; ask for it when the parent is gone."""
    while not state.asked.wait(LOOK_SECONDS):
        if state.ended.is_set():
            return
        if parent is not None and os.getppid() != parent:
            state.why = f"the end of process {parent}, which had started it"
            os.kill(os.getpid(), signal.SIGTERM)
            state.asked.wait()
    if state.is_working:
        state.tell(NOTICE)
