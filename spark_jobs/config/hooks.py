"""The frame in which functions of the user's are called: whatever they do to end the process is an error of their table."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

ENDINGS = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""What is no Exception, and so passes by all that catch those: a run must not end by it as if all were well."""
leave, replace, replace_with = os._exit, os.execv, os.execve
"""Python's own, for those who may end the process: while a function of the user's is at work, those of `os` are not. All of its exec
functions call one of these two.
"""


class HookEnded(Exception):
    """A function of the user's tried to end the process."""

    def __init__(self, hook: str, by: str) -> None:
        self.hook, self.by = hook, by
        super().__init__(f"{hook} tried to end the process ({by}); let it return, or raise an error that says what is wrong")


@contextmanager
def calling(hook: str) -> Iterator[None]:
    """Around each call, and around the loading of the file that has it. os._exit would end the process with any code, and another program
    in its place (os.exec…) with that program's, without a word.
    """
    _guard.begin()
    try:
        yield
    except ENDINGS as ending:
        raise HookEnded(hook, type(ending).__name__) from None  # its words may hold values of rows
    finally:
        _guard.end()


class _Guard:
    """Stands in for os._exit and os.exec… while functions are at work, of which several may be at a time."""

    def __init__(self) -> None:
        self.lock, self.calls, self.process = threading.Lock(), 0, os.getpid()

    def begin(self) -> None:
        with self.lock:
            self.calls, self.process = self.calls + 1, os.getpid()
            os._exit, os.execv, os.execve = self.refuse, self.refuse_program, self.refuse_program_with

    def end(self) -> None:
        with self.lock:
            self.calls -= 1
            if not self.calls:
                os._exit, os.execv, os.execve = leave, replace, replace_with

    def refuse(self, status: int) -> NoReturn:
        """Processes that a function has forked leave by the true one."""
        if os.getpid() != self.process:
            leave(status)
        raise HookEnded("a function of the pipeline", f"os._exit({status})")

    def refuse_program(self, path: Any, argv: Any) -> NoReturn:
        if os.getpid() != self.process:
            replace(path, argv)
        raise HookEnded("a function of the pipeline", "os.execv")

    def refuse_program_with(self, path: Any, argv: Any, env: Any) -> NoReturn:
        if os.getpid() != self.process:
            replace_with(path, argv, env)
        raise HookEnded("a function of the pipeline", "os.execve")


_guard = _Guard()
