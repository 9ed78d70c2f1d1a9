"""How a task ends for each way the command can end, and that a killed task leaves nothing running."""

import json
import os
import signal
import sqlite3
import subprocess
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.demo.airflow import Airflow, AirflowFailed, airflow_environ, run_dag
from tests.airflow.conftest import AIRFLOW_PYTHON, run_inside

pytestmark = pytest.mark.airflow

HANGING_DAG = """
from airflow.sdk import DAG
from weir_operator import WeirOperator

dag = DAG("hanging", schedule=None)
WeirOperator(task_id="hang", pipeline="hang", root="{root}", grace_seconds=0.2, dag=dag)
"""


@pytest.fixture(scope="module")
def ends(airflow: Airflow) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(run_inside(airflow, "end_tasks.py", *(f"exit_{code}" for code in range(6))))
    return answer


@pytest.mark.parametrize("code", [0, 3])
def test_done_and_nothing_to_do_succeed_with_the_commands_result(ends: dict[str, Any], code: int) -> None:
    result = {"pipeline": f"exit_{code}", "exit_code": code, "message": f"this is {code}", "arguments": ["--layer", "silver", "--json"]}

    assert ends[f"exit_{code}"] == {"result": result}


@pytest.mark.parametrize(("code", "reason"), [(2, "configuration error"), (4, "data blocked by quality")])
def test_what_a_retry_cannot_mend_fails_at_once(ends: dict[str, Any], code: int, reason: str) -> None:
    text = f"run exit_{code} --layer silver --json ended with {code} ({reason}): this is {code}"

    assert ends[f"exit_{code}"] == {"raised": "AirflowFailException", "text": text}


@pytest.mark.parametrize(("code", "reason"), [(1, "engine failure"), (5, "another run holds the lease")])
def test_what_may_pass_is_left_to_a_retry(ends: dict[str, Any], code: int, reason: str) -> None:
    text = f"run exit_{code} --layer silver --json ended with {code} ({reason}): this is {code}"

    assert ends[f"exit_{code}"] == {"raised": "AirflowException", "text": text}


def test_a_missing_command_says_what_to_do(ends: dict[str, Any]) -> None:
    assert ends["no command"]["raised"] == "AirflowFailException"
    assert "make setup" in ends["no command"]["text"]


def test_a_dag_run_shows_progress_keeps_results_and_says_why_it_failed(airflow: Airflow) -> None:
    shown: list[str] = []

    with pytest.raises(AirflowFailed) as raised:
        run_dag(airflow, "by_layer", shown.append)

    assert shown[:3] == ["by_layer --layer bronze --json", "by_layer --layer silver --json", "by_layer --layer gold --json"]
    assert "AirflowFailException: run by_layer --layer gold --json ended with 4 (data blocked by quality): this is 4" in str(raised.value)
    with sqlite3.connect(airflow.home / "airflow.db") as database:
        results = dict(database.execute("SELECT task_id, value FROM xcom WHERE key = 'return_value'").fetchall())
    assert {task: json.loads(value)["exit_code"] for task, value in results.items()} == {"bronze": 0, "silver": 0}


def test_a_terminated_task_ends_the_command_and_what_it_started(airflow: Airflow, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "hanging.py").write_text(HANGING_DAG.format(root=airflow.root), encoding="utf-8")
    hanging = replace(airflow, environ={**airflow.environ, "FAKE_WEIR_PIDS": str(tmp_path / "pids")})
    environ = airflow_environ(airflow.root, hanging.environ) | {"AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags")}

    command = [str(AIRFLOW_PYTHON), "-m", "airflow", "dags", "test", "hanging"]
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as runner:
        assert runner.stdout is not None
        watchdog = threading.Timer(60, runner.kill)
        watchdog.start()
        is_ready = any('"event":"ready"' in line for line in runner.stdout)
        runner.send_signal(signal.SIGTERM)
        runner.communicate()
        watchdog.cancel()

    left = [pid for pid in map(int, (tmp_path / "pids").read_text(encoding="utf-8").split()) if is_running(pid)]
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert is_ready
    assert runner.returncode > 0
    assert left == []


def is_running(pid: int) -> bool:
    """Whether the process still works; one that has ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (ProcessLookupError, FileNotFoundError):
        return False
