"""`down`: loads finish the batch at work, then what other DAGs run is asked to end, then Airflow's parts.
What is left is killed.

Airflow leaves a task five seconds between its signal and its death. So loads are asked by a signal of their
own, while the scheduler starts nothing more and waits for its workers: a load finishes its batch, and its
task says how it ended. Nothing with the service's marker remains.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from service.keys import write_private
from service.processes import Found, Process, arguments_of, is_running, variable_of
from service.state import State, going_down_file, only_one, read_state, state_file

PARENT = "WEIR_PARENT_PID"
"""By this variable a load knows its task (plugins/weir_process.py)."""
GRACE_SECONDS = 300.0
TELL_SECONDS = 15.0
REPORT_SECONDS = 10.0
"""How long a task has to say that its load has ended, one that has none at the moment to see that it is to
begin none, and a scheduler without tasks to end.
"""
LAST_SECONDS = 10.0
QUIET_SECONDS = 1.0
POLL_SECONDS = 0.2
Say = Callable[[str], None]


def stop_service(root: Path, say: Say = print, grace_seconds: float = GRACE_SECONDS) -> State | None:
    """Ends what `up` has started in this project; None when nothing was recorded."""
    with only_one(root):
        state = read_state(root)
        if state:
            end_service(root, state, say, grace_seconds)
        else:
            state_file(root).unlink(missing_ok=True)  # a record that was cut
        return state


def end_service(root: Path, state: State, say: Say, grace_seconds: float = GRACE_SECONDS) -> None:
    """Tasks first: they tell the API server how they ended."""
    end_tasks(root, state, say, grace_seconds)
    # alone: a child that hears it as well may wait for its parent for ever
    _signal(_leaders(state), signal.SIGTERM)
    _wait(lambda: _leaders(state), LAST_SECONDS)
    if not _wait(state.processes, QUIET_SECONDS):
        _signal(state.processes(), signal.SIGKILL)
        _wait(state.processes, LAST_SECONDS)
    going_down_file(root).unlink(missing_ok=True)
    state_file(root).unlink(missing_ok=True)


def end_tasks(root: Path, state: State, say: Say, grace_seconds: float) -> None:
    """Ends the scheduler, its workers, the tasks and what they have started."""
    asked = Asked(root)
    deadline = time.monotonic() + grace_seconds
    asked.ask(found for found in _tasks(state) if found.process.pid == _scheduler(state))
    _end_loads(state, asked, say, deadline)
    if not _wait(lambda: _beside_workers(state), REPORT_SECONDS):
        _end_others(state, asked, say, deadline)
    has_scheduler = any(found.process.pid == _scheduler(state) for found in _tasks(state))
    # Without one, a worker may still be saying how its task ended: it has a moment for that.
    _wait(lambda: _tasks(state), REPORT_SECONDS if has_scheduler else QUIET_SECONDS)
    # as workers that have lost their scheduler: they hear no other signal
    _signal(_tasks(state), signal.SIGKILL)


class Asked:
    """The processes that were asked to end: a second signal would end a load in the middle of its batch, also
    one of a second `down`.

    The file by which they are known also tells tasks that Airflow is going down (plugins/weir_operator.py).
    """

    def __init__(self, root: Path) -> None:
        self.file = going_down_file(root)
        self.known = _read_asked(self.file)
        self._write()

    def ask(self, processes: Iterable[Found], whole_group: bool = False) -> list[Found]:
        """Those that had not been asked before, and are now."""
        fresh = [found for found in processes if found.process not in self.known]
        self.known |= {found.process for found in fresh}
        if fresh:
            self._write()
        _signal(fresh, signal.SIGTERM, os.killpg if whole_group else os.kill)
        return fresh

    def _write(self) -> None:
        write_private(self.file, json.dumps([[process.pid, process.started] for process in self.known]))


def _read_asked(file: Path) -> set[Process]:
    try:
        return {Process(pid, started) for pid, started in json.loads(file.read_text(encoding="utf-8"))}
    except (FileNotFoundError, ValueError, TypeError):
        return set()


def _end_loads(state: State, asked: Asked, say: Say, deadline: float) -> None:
    """Asks every load once, also those that a task has just started, and waits for them."""
    started = tell_at = time.monotonic()
    while loads := _loads(state):
        now, names = time.monotonic(), ", ".join(_name(found) for found in loads)
        asked.ask(loads, whole_group=True)  # the JVM has a group of its own, and is not asked
        if now >= deadline:
            say(
                f"killed, as the time is over: {names}; what is published stays, and the next run goes on"
                " from there"
            )
            _signal(
                (found for found in state.processes() for load in loads if found.session == load.session),
                signal.SIGKILL,
            )
            _wait(lambda: _loads(state), LAST_SECONDS)
            break
        if now >= tell_at:
            waited = f"after {now - started:.0f} s" if tell_at > started else "now"
            say(f"waiting for the batch at work {waited}, {deadline - now:.0f} seconds more at most: {names}")
            tell_at = now + TELL_SECONDS
        time.sleep(POLL_SECONDS)


def _leaders(state: State) -> list[Found]:
    """The components that still run."""
    pids = {component.process.pid for component in state.components}
    return [found for found in state.processes() if found.process.pid in pids]


def _end_others(state: State, asked: Asked, say: Say, deadline: float) -> None:
    """Asks what is left of tasks: a worker hands the signal on to its task. Those whose worker is gone get it
    from here.
    """
    left = _beside_workers(state)
    tasks = {found.process.pid for found in _tasks(state)}
    parents = {found.parent for found in left}
    asked.ask(
        found for found in _tasks(state) if found.group == _scheduler(state) and found.process.pid in parents
    )
    asked.ask(found for found in left if found.parent not in tasks)
    if not _wait(lambda: _beside_workers(state), QUIET_SECONDS):
        seconds = max(0.0, deadline - time.monotonic())
        say(f"waiting for tasks of other DAGs to end, {seconds:.0f} seconds at most")
        if not _wait(lambda: _beside_workers(state), seconds):
            say("they did not, and are killed")


def _tasks(state: State) -> list[Found]:
    """The scheduler, its workers, the tasks and what the tasks have started, in whatever session: all but the
    other components.
    """
    others = {component.process.pid for component in state.components if component.name != "scheduler"}
    return [found for found in state.processes() if found.session not in others]


def _beside_workers(state: State) -> list[Found]:
    """The tasks and what they have started: the scheduler and its workers share a group, every task has its
    own.
    """
    return [found for found in _tasks(state) if found.group != _scheduler(state)]


def _loads(state: State) -> list[Found]:
    """The `weir` commands that tasks have started: each leads a session, and knows its task."""
    leaders = (found for found in _tasks(state) if found.session == found.process.pid != _scheduler(state))
    return [found for found in leaders if variable_of(found.process, PARENT) is not None]


def _scheduler(state: State) -> int:
    return next((component.process.pid for component in state.components if component.name == "scheduler"), 0)


def _name(load: Found) -> str:
    """As in `weir run retail`: what a person would type."""
    words = [word for word in arguments_of(load.process) if not word.startswith("-")]
    if len(words) > 1 and Path(words[0]).name.startswith("python"):
        words = words[1:]
    return " ".join([*(Path(word).name for word in words[:1]), *words[1:4]])


def _signal(processes: Iterable[Found], number: int, send: Callable[[int, int], None] = os.kill) -> None:
    for found in processes:
        if is_running(found.process):
            try:
                send(found.process.pid, number)
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
