"""What functions of the user's may not do to the process that calls them."""

import os
from collections.abc import Callable

import pytest

from spark_jobs.config.hooks import HookEnded, calling

NO = "/bin/false"


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
    before = os.execv
    with pytest.raises(HookEnded, match="tried to end the process"), calling("hooks/shop.py:build"):
        way()
    assert os.execv is before


@pytest.mark.system
def test_a_process_that_a_function_has_forked_may_become_another_program() -> None:
    with calling("hooks/shop.py:build"):
        if not (child := os.fork()):
            os.execv("/bin/true", ["/bin/true"])
        assert os.waitpid(child, 0)[1] == 0
