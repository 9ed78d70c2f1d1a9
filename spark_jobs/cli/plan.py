"""`weir plan`: what a run would do, as lines for a person or as one JSON object."""

from typing import Any

from spark_jobs.cli.ending import end
from spark_jobs.cli.loading import load_checked
from spark_jobs.config.errors import Refused
from spark_jobs.config.text import count, plain
from spark_jobs.failure import first_line
from spark_jobs.run.preview import RunPreview, preview_run


def plan_command(name: str, as_json: bool) -> int:
    try:
        preview = preview_run(load_checked(name), name)
    except Refused as error:
        return _end(name, error.status, 2, error.said, as_json)
    except Exception as error:  # noqa: BLE001 - as of a disk that fails, or a table that cannot be read: said as every command says it
        return _end(name, "failed", 1, f"{first_line(error)}; fix the cause and ask again", as_json)
    return end(preview.exit_code, _describe(preview), preview.as_dict(), as_json=as_json)


def _describe(preview: RunPreview) -> str:
    """A line for the whole, one for each table with its reasons, and one for each source
    of which files wait.
    """
    said = "work to do" if preview.tables else "nothing to do"
    lines = [f"{preview.pipeline}: {said}: {preview.message}"]
    lines += [f"  {due.table:<28} {due.why}" for due in preview.tables]
    waiting = {source: expected.waiting for source, expected in preview.sources.items() if expected.waiting}
    lines += [
        f"  {source}: {count(files, 'file waits', 'files wait')} for a later run"
        for source, files in waiting.items()
    ]
    return "\n".join(map(plain, lines))


def _end(name: str, status: str, code: int, message: str, as_json: bool) -> int:
    found: dict[str, Any] = {"pipeline": name, "status": status, "exit_code": code, "message": message}
    found |= {"reasons": [], "sources": {}, "tables": []}
    return end(code, f"error: {message}", found, as_json=as_json)
