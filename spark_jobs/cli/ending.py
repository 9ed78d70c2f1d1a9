"""How a command ends that has no result: what went wrong on standard error and, with --json, as one JSON
object on standard output.
"""

import json
import sys

from spark_jobs.config.errors import Refused
from spark_jobs.config.loading import NO_PIPELINE, Project
from spark_jobs.config.text import plain_lines

USAGE = 2


def fail(message: str, code: int) -> int:
    """An error on standard error, on lines of its own."""
    print(plain_lines(f"error: {message}"), file=sys.stderr)
    return code


def fail_with(status: str, message: str, code: int, *, as_json: bool, pipeline: str | None = None) -> int:
    """The same, and for a program that has asked for JSON."""
    if as_json:
        print(json.dumps({"pipeline": pipeline, "status": status, "exit_code": code, "message": message}))
    return fail(message, code)


def refuse(error: Refused, *, as_json: bool, pipeline: str | None = None) -> int:
    return fail_with(error.status, error.said, USAGE, as_json=as_json, pipeline=pipeline)


def say_if_empty(project: Project) -> None:
    """Of a project without a pipeline there is nothing to tell: rather than nothing, that is said."""
    if not project.pipelines:
        print(NO_PIPELINE, file=sys.stderr)
