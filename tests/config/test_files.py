"""Files of a project are regular ones of a bounded size: nothing else is waited for or read without end."""

import os
import signal
from collections.abc import Iterator

import pytest

from tests.config.conftest import Workspace

FILES = [
    "conf/pipelines/shop.yml", "conf/pipelines/more.yml", "conf/profiles/local.yml", "conf/lakehouse.yml", "conf/sql/top.sql",
    "conf/hooks/shop.py", "expectations/shop/silver.orders.yml",
]  # fmt: skip
SECONDS = 30


@pytest.fixture
def no_waiting() -> Iterator[None]:
    """A call that waits for a pipe ends with an error, and does not hold up the tests."""

    def give_up(*_: object) -> None:
        raise AssertionError("waited for a pipe")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.setitimer(signal.ITIMER_REAL, SECONDS, 1)
    yield
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.usefixtures("no_waiting")
@pytest.mark.parametrize("file", FILES)
def test_a_pipe_in_place_of_a_file_is_refused_and_not_waited_for(workspace: Workspace, file: str) -> None:
    path = workspace.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    os.mkfifo(path)

    messages = [problem.message for problem in workspace.problems()]

    assert any("cannot be read: it is a pipe, not a regular file" in message for message in messages), (
        messages
    )


@pytest.mark.parametrize("file", FILES)
def test_a_link_to_a_device_without_an_end_is_refused(workspace: Workspace, file: str) -> None:
    path = workspace.root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    path.symlink_to("/dev/zero")

    messages = [problem.message for problem in workspace.problems()]

    assert any("cannot be read: it is a device, not a regular file" in message for message in messages), (
        messages
    )


def test_a_link_to_a_regular_file_is_read(workspace: Workspace) -> None:
    target = workspace.root / "conf/pipelines/shop.yml"
    moved = target.rename(workspace.root / "elsewhere.yml")
    target.symlink_to(moved)

    assert workspace.problems() == []


def test_aliases_that_multiply_what_they_name_are_refused(workspace: Workspace) -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]" for level in range(1, 9)]
    workspace.write("conf/pipelines/laughs.yml", "\n".join(lines))

    assert "more than 100,000 values" in workspace.problem().message
