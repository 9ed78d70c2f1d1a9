"""What functions of the user's may not do to the process that calls them."""

import os
import posix
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.config.hooks import HookEnded, HookRaised, calling, leave, replace, replace_with

NO = "/bin/false"


@pytest.fixture(autouse=True)
def own_ways_out() -> Iterator[None]:
    """The guard stays as long as the process; the tests' own gets its ways back."""
    yield
    for module in (os, posix):
        vars(module).update(_exit=leave, execv=replace, execve=replace_with)


@pytest.mark.parametrize(
    ("body", "line", "said"),
    [
        ("    raise ValueError('order 4711 of Ada')", 3, "ValueError"),
        ("    int('4711')\n    int('Ada')", 4, "ValueError"),
        ("    return totl", 3, "NameError"),
        ("    return [1, 2", 3, "SyntaxError"),
    ],
)
def test_an_error_of_a_function_is_told_by_the_line_of_its_file_without_values(
    tmp_path: Path, body: str, line: int, said: str
) -> None:
    file = tmp_path / "hooks" / "shop.py"
    file.parent.mkdir()
    file.write_text(f"# of the shop\ndef build():\n{body}\n", encoding="utf-8")

    def call() -> None:
        names: dict[str, Any] = {}
        exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), names)
        names["build"]()

    with pytest.raises(HookRaised) as raised, calling("hooks/shop.py:build"):
        call()

    told = "".join(traceback.format_exception(raised.value))
    assert str(raised.value).startswith(f"hooks/shop.py:build raised {said} at hooks/shop.py line {line}")
    assert ("of Ada" in str(raised.value), "order 4711 of Ada\n" in told) == (False, False)


class OfItsOwn(BaseException):
    """As asyncio's CancelledError, no Exception."""


def test_an_error_that_is_no_exception_is_told_without_values_like_any_other() -> None:
    with pytest.raises(HookRaised) as raised, calling("hooks/shop.py:build"):
        raise OfItsOwn("order 4711 of Ada")

    assert str(raised.value) == "hooks/shop.py:build raised OfItsOwn at hooks/shop.py"


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


@pytest.mark.parametrize(
    "way", [lambda: os._exit(0), lambda: posix._exit(0), lambda: os.execv("/bin/true", ["/bin/true"])]
)
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


@pytest.mark.system
@pytest.mark.parametrize("raises", [False, True])
def test_a_process_that_a_function_has_forked_does_not_go_on_with_the_run(
    tmp_path: Path, *, raises: bool
) -> None:
    parent, children = os.getpid(), list[int]()

    with suppress(HookRaised), calling("hooks/shop.py:build"):
        children.append(os.fork())
        if raises and os.getpid() != parent:
            raise ValueError
    if os.getpid() != parent:
        (tmp_path / "went on").touch()
        leave(0)

    assert os.waitstatus_to_exitcode(os.waitpid(children[0], 0)[1]) == 1
    assert list(tmp_path.iterdir()) == []
