"""What functions of the user's may not do to the process that calls them."""

import os
import posix
import threading
from collections.abc import Callable, Iterator

import pytest

from spark_jobs.config.hooks import HookEnded, calling, leave, replace, replace_with

NO = "/bin/false"


@pytest.fixture(autouse=True)
def own_ways_out() -> Iterator[None]:
    """The guard stays as long as the process; the tests' own gets its ways back."""
    yield
    for module in (os, posix):
        vars(module).update(_exit=leave, execv=replace, execve=replace_with)


@pytest.mark.parametrize(
    "way",
    [
        lambda: os.execv(NO, [NO]),
        lambda: os.execvp("false", ["false"]),
        lambda: os.execle(NO, NO, {}),
        lambda: os.execve(NO, [NO], {}),
    ],
    ids=["execv", "execvp", "execle", "execve"],
)
def test_another_program_cannot_take_the_place_of_the_process(way: Callable[[], None]) -> None:
    with pytest.raises(HookEnded, match="tried to end the process"), calling("hooks/shop.py:build"):
        way()


@pytest.mark.parametrize("way", [lambda: os._exit(0), lambda: posix._exit(0), lambda: os.execv("/bin/true", ["/bin/true"])])
def test_a_thread_that_a_function_has_left_behind_cannot_end_the_process(way: Callable[[], None]) -> None:
    returned, refused = threading.Event(), []

    def end_later() -> None:
        returned.wait()
        try:
            way()
        except HookEnded as ended:
            refused.append(ended)

    with calling("hooks/shop.py:build"):
        left = threading.Thread(target=end_later)
        left.start()
    returned.set()
    left.join()

    assert len(refused) == 1


@pytest.mark.system
def test_a_process_that_a_function_has_forked_may_become_another_program() -> None:
    with calling("hooks/shop.py:build"):
        if not (child := os.fork()):
            os.execv("/bin/true", ["/bin/true"])
        assert os.waitpid(child, 0)[1] == 0
