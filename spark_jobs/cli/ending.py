"""How a command ends: what went wrong on standard error and, with --json, one JSON object alone on standard
output.
"""

import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from typing import TYPE_CHECKING, Any

from spark_jobs.config.errors import Refused
from spark_jobs.config.text import plain_lines

if TYPE_CHECKING:
    from spark_jobs.config.loading import Project

USAGE = 2


GOOD = (0, 3)
"""Exit codes without an error: done, and nothing to do."""


def end(code: int, line: str, result: Mapping[str, Any], *, as_json: bool) -> int:
    """How a command ends that gives one result: its last line, on standard error where something went wrong,
    and with --json the result, alone on standard output.
    """
    is_error = code not in GOOD
    print(plain_lines(line), file=sys.stderr if as_json or is_error else sys.stdout)
    if as_json:
        print(json.dumps(result, default=str))
    return code


def fail(message: str, code: int) -> int:
    """An error on standard error, on lines of its own."""
    print(plain_lines(f"error: {message}"), file=sys.stderr)
    return code


def fail_with(status: str, message: str, code: int, *, as_json: bool, pipeline: str | None = None) -> int:
    """The same, and for a program that has asked for JSON."""
    result = {"pipeline": pipeline, "status": status, "exit_code": code, "message": message}
    return end(code, f"error: {message}", result, as_json=as_json)


def refuse(error: Refused, *, as_json: bool, pipeline: str | None = None) -> int:
    return fail_with(error.status, error.said, USAGE, as_json=as_json, pipeline=pipeline)


def say_if_empty(project: "Project") -> None:
    """Of a project without a pipeline there is nothing to tell: rather than nothing, that is said."""
    from spark_jobs.config.loading import NO_PIPELINE  # loads all models: not for `weir --help`

    if not project.pipelines:
        print(NO_PIPELINE, file=sys.stderr)


# With --json, standard output is the result alone: what functions of the user's print, and programs that
# they start, goes to standard error. Half a line of theirs would make the result unreadable.


OUT, ERR = 1, 2


@contextmanager
def result_alone(as_json: bool) -> Iterator[None]:
    """Around the work of a command, before its result is printed."""
    if not as_json:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(OUT)
    os.dup2(ERR, OUT)
    try:
        with redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, OUT)
        os.close(kept)
