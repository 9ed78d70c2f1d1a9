"""`weir plan`: what a run would do, as lines for a person or as one JSON object."""

import json
import sys
from typing import Any

from spark_jobs.cli.loading import load_checked
from spark_jobs.config.errors import Refused
from spark_jobs.config.text import count, plain, plain_lines
from spark_jobs.failure import first_line
from spark_jobs.run.preview import RunPreview, preview_run


def plan_command(name: str, as_json: bool) -> int:
    try:
        outlook = preview_run(load_checked(name), name)
    except Refused as error:
        return _end(name, error.status, 2, error.said, as_json)
    except Exception as error:  # noqa: BLE001 - as of a disk that fails, or a table that cannot be read: said as every command says it
        return _end(name, "failed", 1, f"{first_line(error)}; fix the cause and ask again", as_json)
    print(_describe(outlook), file=sys.stderr if as_json else sys.stdout)
    if as_json:
        print(json.dumps(outlook.as_dict()))
    return outlook.exit_code


def _describe(outlook: RunPreview) -> str:
    """A line for the whole, one for each table with its reasons, and one for each source
    of which files wait.
    """
    said = "work to do" if outlook.tables else "nothing to do"
    lines = [f"{outlook.pipeline}: {said}: {outlook.message}"]
    lines += [f"  {due.table:<28} {due.why}" for due in outlook.tables]
    waiting = {source: expected.waiting for source, expected in outlook.sources.items() if expected.waiting}
    lines += [
        f"  {source}: {count(files, 'file waits', 'files wait')} for a later run"
        for source, files in waiting.items()
    ]
    return "\n".join(map(plain, lines))


def _end(name: str, status: str, code: int, message: str, as_json: bool) -> int:
    print(plain_lines(f"error: {message}"), file=sys.stderr)
    if as_json:
        found: dict[str, Any] = {"pipeline": name, "status": status, "exit_code": code, "message": message}
        print(json.dumps({**found, "reasons": [], "sources": {}, "tables": []}))
    return code
