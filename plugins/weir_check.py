"""What `weir check` finds in the project: also what needs several keys or files, SQL or Great Expectations,
as a column that is not there.

Airflow's environment has none of these libraries, so the command of the Spark environment is asked, once for
each state of the files.
"""

import hashlib
import json
import logging
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from weir_environ import handed_on, own_variables

from spark_jobs.config import errors
from spark_jobs.config.errors import Problem

SECONDS = 25
"""Airflow gives a DAG file 30."""
FOLDERS = ("conf", "expectations")
CODE = Path(errors.__file__).parents[1]
VARIABLES = (
    "WEIR_PROFILE",
    "WEIR_LANDING",
    "WEIR_LAKE",
    "WEIR_EXPORTS",
    "AWS_ENDPOINT_URL",
    "AWS_ALLOW_HTTP",
)
"""Those that `weir check` looks at (spark_jobs/config/checks/project.py)."""
log = logging.getLogger(__name__)


def find_problems(root: Path, command: str, kept: Path | None) -> list[str]:
    """Every problem with its file and line, from the answer `kept` in a file where the files are the same.
    None where nobody can be asked: what Airflow's side finds by itself is known without it, and the first
    task of a run says the rest.
    """
    fingerprint = fingerprint_of(root, command)
    if kept and (known := _read(kept)) and known.get("fingerprint") == fingerprint:
        return [str(problem) for problem in known["problems"]]
    problems = _ask(root, command)
    if problems is None:
        return []
    if kept:
        _keep(kept, {"fingerprint": fingerprint, "problems": problems})
    return problems


def fingerprint_of(root: Path, command: str) -> str:
    """Another one whenever a file of the configuration, a variable that counts for it, or the command itself
    has changed, as by an upgrade.
    """
    found = hashlib.sha256(repr([os.environ.get(name) for name in VARIABLES]).encode())
    for path in sorted(_files(root, command)):
        known = path.stat()
        found.update(f"{path}\0{known.st_mtime_ns}\0{known.st_size}\n".encode())
    return found.hexdigest()


def _files(root: Path, command: str) -> Iterator[Path]:
    yield from (path for path in [Path(command)] if path.is_file())
    yield from CODE.rglob("*.py")
    for folder in FOLDERS:
        yield from (path for path in (root / folder).rglob("*") if path.is_file())


def _ask(root: Path, command: str) -> list[str] | None:
    environ = {**handed_on(os.environ, own_variables(root)), "WEIR_HOME": str(root)}
    try:
        asked = subprocess.run(
            [command, "check", "--json"],
            cwd=root,
            env=environ,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
        return [str(Problem(**problem)) for problem in json.loads(asked.stdout.splitlines()[-1])["problems"]]
    except (OSError, subprocess.TimeoutExpired, ValueError, KeyError, IndexError, TypeError) as error:
        log.warning("`weir check` gave no answer: %s", error)
        return None


def _read(kept: Path) -> dict[str, Any] | None:
    try:
        known = json.loads(kept.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return known if isinstance(known, dict) else None


def _keep(kept: Path, answer: dict[str, Any]) -> None:
    fresh = kept.with_name(f".{kept.name}.{os.getpid()}")
    try:
        fresh.write_text(json.dumps(answer), encoding="utf-8")
        fresh.replace(kept)
    except OSError as error:  # it is only asked again
        log.warning("the answer of `weir check` could not be kept: %s", error)
