"""`down`: asks the tasks to stop, then the other parts, and kills what is left after a grace. Nothing with the service's marker remains."""

import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from spark_jobs.service.processes import Found, is_running
from spark_jobs.service.state import State, only_one, read_state, state_file

GRACE_SECONDS = 120.0
QUIET_SECONDS = 3.0
LAST_SECONDS = 10.0
POLL_SECONDS = 0.1


def stop_service(root: Path, say: Callable[[str], None] = print, grace_seconds: float = GRACE_SECONDS) -> State | None:
    """Ends what `up` has started in this project; None when nothing was recorded."""
    with only_one(root):
        state = read_state(root)
        if state:
            end_service(root, state, say, grace_seconds)
        else:
            state_file(root).unlink(missing_ok=True)  # a record that was cut
        return state


def end_service(root: Path, state: State, say: Callable[[str], None], grace_seconds: float = GRACE_SECONDS) -> None:
    """Tasks first: they tell the API server how they ended."""
    _end_tasks(state, say, grace_seconds)
    _signal(state.processes(), signal.SIGTERM)
    if not _wait(state.processes, LAST_SECONDS):
        _signal(state.processes(), signal.SIGKILL)
        _wait(state.processes, LAST_SECONDS)
    state_file(root).unlink(missing_ok=True)


def _end_tasks(state: State, say: Callable[[str], None], grace_seconds: float) -> None:
    """Signals the scheduler and its workers, no more: a worker hands the signal on to its task, the task to `weir`, and a second one
    would end `weir` in the middle of a batch. Tasks whose worker is gone get it from here."""
    workers = {component.process.pid for component in state.components if component.name == "scheduler"}
    _signal((found for found in _tasks(state) if found.group in workers), signal.SIGTERM)
    if not _wait(lambda: _tasks(state), QUIET_SECONDS):
        if any(found.group not in workers for found in _tasks(state)):
            say(f"waiting for running tasks to finish their batch, {grace_seconds:.0f} seconds at most")
        _signal(_orphans(state, workers), signal.SIGTERM)
        if not _wait(lambda: _tasks(state), grace_seconds):
            say("they did not, and are killed: what they have published stays, and the next run goes on from there")
            _signal(_tasks(state), signal.SIGKILL)


def _tasks(state: State) -> list[Found]:
    """The scheduler, its workers, the tasks and what the tasks have started, in whatever session: all but the other components."""
    others = {component.process.pid for component in state.components if component.name != "scheduler"}
    return [found for found in state.processes() if found.session not in others]


def _orphans(state: State, workers: set[int]) -> list[Found]:
    """Tasks, or what they have started, that have outlived the process that would hand the signal on."""
    tasks = _tasks(state)
    alive = {found.process.pid for found in tasks}
    return [found for found in tasks if found.group not in workers and found.parent not in alive]


def _signal(processes: Iterable[Found], number: int) -> None:
    for found in processes:
        if is_running(found.process):
            try:
                os.kill(found.process.pid, number)
            except ProcessLookupError:
                continue


def _wait(left: Callable[[], Sequence[Found]], seconds: float) -> bool:
    """Whether nothing is left before the time is over."""
    deadline = time.monotonic() + seconds
    while left():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_SECONDS)
    return True
