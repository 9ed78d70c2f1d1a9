"""Which test is at work, and which processes it starts: a test that starts one is marked `system`, or it
fails.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

STARTING = (
    "subprocess.Popen",
    "os.fork",
    "os.forkpty",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "pty.spawn",
)
"""What Python says to those who listen, when a process is about to start (PEP 578)."""


class Watch:
    """Notes what is started while somebody looks. Python cannot forget a listener: there is one for each
    process.
    """

    def __init__(self) -> None:
        self.is_on = False
        self.started: list[str] = []
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self.is_on and event in STARTING:
            self.started.append(f"{event}: {_command(arguments)}")

    @contextmanager
    def looking(self) -> Iterator[None]:
        self.is_on, self.started = True, []
        try:
            yield
        finally:
            self.is_on = False

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What tests share starts its processes in whichever test comes first: they are
        not that test's own.
        """
        was_on, self.is_on = self.is_on, False
        try:
            yield
        finally:
            self.is_on = was_on


WATCH = Watch()


def _command(arguments: tuple[Any, ...]) -> str:
    """The program with its first words: of Popen the second argument, of others what there is."""
    said = arguments[1] if len(arguments) > 1 else arguments[:1]
    words = [str(word) for word in said] if isinstance(said, list | tuple) else [str(said)]
    return " ".join(words[:3])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[Any]:
    if item.get_closest_marker("system"):
        return (yield)
    with WATCH.looking():
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[Any]:
    outcome = yield
    if WATCH.is_on and WATCH.started:
        pytest.fail(f"it starts a process, and is not marked `system`: {WATCH.started[0]}", pytrace=False)
    return outcome
