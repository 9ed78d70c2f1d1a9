"""The frame in which functions of the user's are called: whatever they do to end the process is an error of
their table.
"""

import os
import posix
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

ABOUT_CODE = {"NameError", "ImportError", "SyntaxError", "AttributeError"}
"""Errors whose words are about names in the code, never about a row."""
OF_SPARK = ("pyspark.", "py4j.")
"""Errors that stay the cause of what is said: failure.py tells Spark's words without the values in them."""
ENDINGS = (SystemExit, KeyboardInterrupt, GeneratorExit)
"""What is no Exception, and so passes by all that catch those: a run must not end by it
as if all were well.
"""
leave, replace, replace_with = os._exit, os.execv, os.execve
"""Python's own, for those who may end the process: once a function of the user's was called, those of `os`
are not. All of its exec functions call one of these two.
"""


class HookEnded(Exception):
    """A function of the user's tried to end the process."""

    def __init__(self, hook: str, by: str) -> None:
        self.hook, self.by = hook, by
        super().__init__(
            f"{hook} tried to end the process ({by}); let it return, or raise an error that says what is"
            " wrong"
        )


class HookRaised(Exception):
    """A function of the user's raised an error. Its own words may hold values of rows, so that only its kind
    and its place are said; those of errors that are about the code itself are as well.
    """

    def __init__(self, hook: str, error: BaseException) -> None:
        self.hook, self.kind, self.place = hook, type(error).__name__, line_of(error, hook.partition(":")[0])
        names = {base.__name__ for base in type(error).__mro__}
        said = str(error).strip().partition("\n")[0] if names & ABOUT_CODE else ""
        super().__init__(f"{hook} raised {self.kind} at {self.place}{f': {said}' if said else ''}")
        # for the log: the way to it, without its words
        self.add_note("".join(traceback.format_tb(error.__traceback__)))


def line_of(error: BaseException, file: str) -> str:
    """Where in the user's file an error comes from: the innermost line of it."""
    if isinstance(error, SyntaxError) and (error.filename or "").endswith(file):
        return f"{file} line {error.lineno}"
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename.endswith(file)
    ]
    return f"{file} line {lines[-1]}" if lines else file


@contextmanager
def calling(hook: str) -> Iterator[None]:
    """Around each call, and around the loading of the file that has it. os._exit would end the process with
    any code, and another program in its place (os.exec…) with that program's, without a word. They stay
    refused: the function may have left a thread behind. A process that it has forked, and that comes back
    from it, ends: it would go on with the run, under the lease that it inherited.
    """
    _guard.stand_in()
    process = os.getpid()
    try:
        yield
    except ENDINGS as ending:
        raise HookEnded(hook, type(ending).__name__) from None  # its words may hold values of rows
    except (HookEnded, HookRaised):
        raise
    except BaseException as error:  # noqa: BLE001 - whatever it is, such as asyncio's CancelledError, it is told by its kind and place
        raise HookRaised(hook, error) from (error if type(error).__module__.startswith(OF_SPARK) else None)
    finally:
        if os.getpid() != process:
            leave(1)


class _Guard:
    """Stands in for os._exit and os.exec…, from the first call of a function of the user's until the process
    ends by `leave`.
    """

    def __init__(self) -> None:
        self.process = os.getpid()

    def stand_in(self) -> None:
        self.process = os.getpid()
        for module in (os, posix):
            vars(module).update(_exit=self.refuse, execv=self.refuse_program, execve=self.refuse_program_with)

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
