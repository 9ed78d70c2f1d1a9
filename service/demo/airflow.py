"""Runs a DAG in Airflow's environment, with a home and a SQLite database of its own: everything is logged,
only Weir's lines are shown.
"""

import json
import subprocess
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from service import environ as service_environ
from service.environ import airflow_command, airflow_home
from service.keys import ensure_home

SHOWN_LOGGERS = ("weir_operator", "weir_tasks", "weir_maintenance")
LAST_LINES = 15


class AirflowFailed(Exception):
    """An airflow command failed; `log` holds all it said."""

    def __init__(self, command: str, reason: str, log: Path) -> None:
        self.command, self.reason, self.log = command, reason, log
        super().__init__(f"`{command}` failed:\n{reason}\nAll of it is in {log}")


@dataclass(frozen=True)
class Airflow:
    """Airflow's environment in a project, and how it is called there."""

    root: Path
    environ: Mapping[str, str]

    @property
    def home(self) -> Path:
        return airflow_home(self.root)

    @property
    def log(self) -> Path:
        return self.home / "demo.log"


def airflow_environ(root: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """This project's Airflow, for somebody who watches one run of it."""
    return service_environ.airflow_environ(root, environ) | {
        "AIRFLOW__LOGGING__JSON_LOGS": "True",
        "WEIR_TASK_RETRIES": "0",  # somebody is waiting: a failure is shown at once
    }


def prepare_database(airflow: Airflow) -> None:
    """Creates Airflow's tables where there are none yet."""
    ensure_home(airflow.home)
    if not (airflow.home / "airflow.db").exists():
        _call(airflow, ["db", "migrate"], lambda line: None)


def run_dag(
    airflow: Airflow, dag: str, show: Callable[[str], None], form: Mapping[str, object] | None = None
) -> None:
    """One run of the DAG, in the foreground, with these values of its form; `show` gets Weir's progress lines
    as they come.
    """
    _call(airflow, ["dags", "test", dag, *(["--conf", json.dumps(form)] if form else [])], show)


def _call(airflow: Airflow, arguments: list[str], show: Callable[[str], None]) -> None:
    command = [str(airflow_command(airflow.root)), *arguments]
    with airflow.log.open("a", encoding="utf-8") as log:
        start = log.tell()
        with subprocess.Popen(
            command,
            cwd=airflow.root,
            env=airflow_environ(airflow.root, airflow.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        ) as child:
            assert child.stdout is not None
            _copy(child.stdout, log, show)
    if child.returncode:
        with airflow.log.open(encoding="utf-8") as written:
            written.seek(start)
            raise AirflowFailed(" ".join(["airflow", *arguments]), explain(written), airflow.log)


def _copy(lines: Iterable[str], log: IO[str], show: Callable[[str], None]) -> None:
    for line in lines:
        log.write(line)
        log.flush()
        record = _record(line)
        if any(name in str(record.get("logger")) for name in SHOWN_LOGGERS):
            show(str(record["event"]))


def explain(lines: Iterable[str]) -> str:
    """Why a command failed: the last exception that it logged, else its last lines."""
    written = list(lines)
    raised = [part for line in written for part in _record(line).get("exception") or []]
    if raised:
        return f"  {raised[-1].get('exc_type')}: {raised[-1].get('exc_value')}"
    return "".join(f"  {line}" for line in written[-LAST_LINES:]).rstrip("\n")


def _record(line: str) -> dict[str, Any]:
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}
