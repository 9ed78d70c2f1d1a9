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

from service.demo.airflow import Airflow, AirflowFailed, airflow_environ, run_dag
from tests.airflow.conftest import AIRFLOW_PYTHON, run_inside

pytestmark = pytest.mark.airflow

HANGING_DAG = """
from airflow.sdk import DAG
from weir_maintenance import Maintain

dag = DAG("hanging", schedule=None)
Maintain(task_id="hang", pipeline="hang", root="{root}", grace_seconds=0.2, dag=dag)
"""


@pytest.fixture(scope="module")
def ends(airflow: Airflow, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    marked = replace(
        airflow,
        environ={**airflow.environ, "WEIR_FAKE_PIDS": str(tmp_path_factory.mktemp("marked") / "busy")},
    )
    answer: dict[str, Any] = json.loads(
        run_inside(marked, "end_tasks.py", *(f"exit_{code}" for code in range(7)), "busy_once")
    )
    return answer


@pytest.mark.parametrize("code", [0, 3])
def test_done_and_nothing_to_do_succeed_with_the_commands_result(ends: dict[str, Any], code: int) -> None:
    result = ends[f"exit_{code}"]["result"]

    assert (result["exit_code"], result["arguments"]) == (code, ["--layer", "silver", "--json"])


@pytest.mark.parametrize(
    ("code", "reason"), [(2, "configuration error"), (4, "data blocked by quality"), (6, "stopped")]
)
def test_what_a_retry_cannot_mend_fails_at_once(ends: dict[str, Any], code: int, reason: str) -> None:
    text = f"run exit_{code} --layer silver --json ended with {code} ({reason}): this is {code}"

    assert ends[f"exit_{code}"] == {"raised": "WeirFailedForGood", "retried": False, "text": text}


@pytest.mark.parametrize(("code", "reason"), [(1, "engine failure"), (5, "another run holds the lease")])
def test_what_may_pass_is_left_to_a_retry(ends: dict[str, Any], code: int, reason: str) -> None:
    text = f"run exit_{code} --layer silver --json ended with {code} ({reason}): this is {code}"

    assert ends[f"exit_{code}"] == {"raised": "WeirFailed", "retried": True, "text": text}


def test_a_batch_that_is_held_is_a_result_where_a_decision_follows(ends: dict[str, Any]) -> None:
    assert ends["blocked"]["result"]["exit_code"] == 4


def test_a_pipeline_that_is_held_by_what_a_killed_task_left_is_waited_for(ends: dict[str, Any]) -> None:
    assert ends["busy_once"]["result"]["exit_code"] == 0


def test_lines_are_logged_at_the_level_that_they_have(ends: dict[str, Any]) -> None:
    assert ends["levels"] == ["info", "warning", "warning", "error", "info", "error", "error"]


def test_a_run_that_was_killed_is_put_into_the_list_of_runs(ends: dict[str, Any]) -> None:
    assert ends["killed"]["text"].startswith("run killed --layer silver --json was ended by signal 9")
    assert ends["killed"]["retried"]
    assert ends["killed"]["lines"] == ["run killed --layer silver --json", "report killed --json"]


def test_while_airflow_is_going_down_nothing_begins_and_no_try_is_lost(ends: dict[str, Any]) -> None:
    assert ends["going down"]["raised"] == "AirflowRescheduleException"
    assert ends["asked"]["raised"] == "AirflowRescheduleException", "it had no batch to finish"
    assert ends["asked"]["in peace"]["raised"] == "WeirFailed"


def test_versions_of_upkeep_are_no_news_to_those_who_follow_a_table(ends: dict[str, Any]) -> None:
    assert ends["told"] == [False, False, True, True, True, False, False]


def test_a_missing_command_says_what_to_do(ends: dict[str, Any]) -> None:
    assert ends["no command"]["raised"] == "WeirFailedForGood"
    assert "make setup" in ends["no command"]["text"]


def test_a_dag_run_shows_progress_says_where_it_comes_from_and_keeps_results(airflow: Airflow) -> None:
    shown: list[str] = []

    run_dag(
        airflow,
        "by_layer",
        shown.append,
        {"tables": "silver", "files_per_batch": 7, "replay": "silver.readings"},
    )

    assert [line for line in shown if line.startswith(("plan", "replay", "run", "report"))] == [
        "plan by_layer --json",
        "replay by_layer silver.readings --json",
        "run by_layer --select dimension.places --select silver.readings --files-per-batch 7 --json",
        "report by_layer --json",
    ]
    results = xcoms(airflow, "by_layer")
    assert sorted(results) == ["finish", "prepare", "silver"]
    origin = json.loads(results["silver"]["WEIR_ORIGIN"])
    assert (origin["dag"], origin["task"], origin["try"]) == ("by_layer", "silver", 1)


def test_a_dag_run_without_work_ends_with_the_question(airflow: Airflow) -> None:
    shown: list[str] = []

    run_dag(airflow, "idle", shown.append)

    assert [line for line in shown if line.endswith("--json")] == ["plan idle --json"]


def test_a_dry_run_says_so_and_runs_nothing_but_the_plan(airflow: Airflow) -> None:
    shown: list[str] = []

    run_dag(airflow, "by_table", shown.append, {"dry_run": True, "rebuild": "silver.readings"})

    assert shown[0].startswith("dry run: this run says what it would do")
    assert shown[-1] == "dry run: nothing was loaded or changed"
    assert [line for line in shown if line.endswith("--json")] == [
        "plan by_table --json",
        "rebuild by_table silver.readings --dry-run --json",
    ]


def test_a_key_that_the_form_does_not_have_is_refused_before_anything_runs(airflow: Airflow) -> None:
    shown: list[str] = []

    with pytest.raises(AirflowFailed) as raised:
        run_dag(airflow, "by_pipeline", shown.append, {"dryrun": True})

    assert "the form has no key 'dryrun': did you mean 'dry_run'? allowed: tables, " in str(raised.value)
    assert [line for line in shown if line.endswith("--json")] == []


def test_the_api_refuses_such_a_key_for_a_pipeline_any_for_the_upkeep_and_none_for_other_dags(
    airflow: Airflow,
) -> None:
    forms: tuple[tuple[str, dict[str, Any]], ...] = (
        ("by_pipeline", {"dryrun": True}),
        ("by_pipeline", {"dry_run": True}),
        ("by_pipeline", {}),
        ("of_somebody_else", {"dryrun": 1}),
        ("weir_maintenance", {}),
        ("weir_maintenance", {"dry_run": True}),
    )

    said = json.loads(run_inside(airflow, "make_runs.py", *map(json.dumps, forms)))

    assert said[0].startswith("the form has no key 'dryrun': did you mean 'dry_run'? allowed: tables, ")
    assert said[1:-1] == ["taken"] * 4
    assert said[-1].startswith("weir_maintenance has no form, and does not know 'dry_run'; to see what")


def test_a_batch_that_is_held_fails_the_run_where_nobody_is_to_be_asked(airflow: Airflow) -> None:
    with pytest.raises(AirflowFailed) as raised:
        run_dag(airflow, "holding", print, {"when_blocked": "fail"})

    assert (
        "holding ended with 4 (data blocked by quality): silver.readings: batch blocked, 3 rows not published"
        in str(raised.value)
    )


def test_a_form_that_contradicts_itself_is_refused_before_anything_runs(airflow: Airflow) -> None:
    with pytest.raises(AirflowFailed) as raised:
        run_dag(airflow, "by_pipeline", print, {"full_refresh": True, "rebuild": "silver.readings"})

    assert "choose one of the two" in str(raised.value)


def test_each_answer_about_a_held_batch_does_what_it_says_and_none_passes_without_a_reason(
    airflow: Airflow,
) -> None:
    told = json.loads(run_inside(airflow, "answer_question.py"))

    for choice, action in (("Release", "release"), ("Set aside", "set-aside"), ("Stop", "hold")):
        decided = told[choice]["result"]
        assert (decided["action"], decided["reason"], decided["by"]) == (action, "a sale", "ada")
        assert [(entry["table"], entry["seen"]) for entry in decided["blocked"]] == [
            ("silver.readings", "0a1b2c")
        ], "what was asked about"
    for missing in ("no reason", "no form"):
        assert told[missing]["is_final"]
        assert "without a reason, and nothing was done" in told[missing]["text"]
    assert told["nobody"]["is_final"]
    assert "nobody decided within 1 day" in told["nobody"]["text"]
    assert told["not asked"]["is_final"]
    assert told["not asked"]["text"].startswith("what ada was asked about is not known, and nothing was done")
    assert told["carried out"]["not seen"]["text"].startswith(
        "it is not known what ada saw of silver.readings"
    ), "and none is carried out"
    assert told["carried out"]["nothing"] == []
    assert told["carried out"]["Set aside"] == [
        ["silver.readings", "--seen", "0a1b2c", "--reason", "a sale", "--by", "ada", "--json"]
    ]
    released = ["silver.readings", "--seen", "0a1b2c", "--reason", "a sale", "--by", "ada", "--json"]
    assert told["carried out"]["over"] == [released, ["--json"]], "the tables below, where a try was cut"
    assert told["carried out"]["older"] == [released], "decided before an upgrade"
    stopped = told["carried out"]["Stop"]
    assert stopped["text"].startswith(
        "stopped by ada: a sale; silver.readings: batch blocked, 3 rows not published"
    )
    assert [entry["rules"] for entry in stopped["blocked"]] == [["usual_volume"]], "which the notice names"
    asked = told["asked"]
    assert asked["scheduled"].startswith(
        "shop is blocked by quality, as it was when somebody chose 'Stop', and nobody is asked again. "
    )
    assert "silver.readings: ada left it blocked: the grid looks into it" in asked["scheduled"]
    assert asked["manual"].startswith("asked: shop: silver.readings"), (
        "whoever starts a run wants to be asked"
    )
    assert asked["another"].startswith("asked: shop: silver.readings, silver.readings")
    assert asked["older"].startswith("asked: shop: silver.readings"), "blocked before an upgrade"
    assert asked["nothing"] == "None"
    assert "**`silver.readings`**: 3 rows, blocked by" in told["body"]
    reason = "A day has \\*many\\* readings \\<b\\>each\\<\\/b\\>\\."
    assert f"* `usual_volume`: 3 of 9 rows\\, 33\\.3\\%. Why there is such a rule: {reason}" in told["body"]
    assert "the right to edit runs of this DAG" in told["body"]


def xcoms(airflow: Airflow, dag: str) -> dict[str, Any]:
    """What the tasks of the DAG's runs returned."""
    with sqlite3.connect(airflow.home / "airflow.db") as database:
        rows = database.execute(
            "SELECT task_id, value FROM xcom WHERE key = 'return_value' AND dag_id = ?", (dag,)
        ).fetchall()
    return {task: json.loads(value) for task, value in rows}


def test_a_terminated_task_ends_the_command_and_what_it_started(airflow: Airflow, tmp_path: Path) -> None:
    (tmp_path / "dags").mkdir()
    (tmp_path / "dags" / "hanging.py").write_text(HANGING_DAG.format(root=airflow.root), encoding="utf-8")
    hanging = replace(airflow, environ={**airflow.environ, "WEIR_FAKE_PIDS": str(tmp_path / "pids")})
    environ = airflow_environ(airflow.root, hanging.environ) | {
        "AIRFLOW__CORE__DAGS_FOLDER": str(tmp_path / "dags")
    }

    command = [str(AIRFLOW_PYTHON), "-m", "airflow", "dags", "test", "hanging"]
    with subprocess.Popen(
        command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as runner:
        assert runner.stdout is not None
        watchdog = threading.Timer(180, runner.kill)
        watchdog.start()
        is_ready = any('"event":"ready"' in line for line in runner.stdout)
        runner.send_signal(signal.SIGTERM)
        runner.communicate()
        watchdog.cancel()

    left = [
        pid for pid in map(int, (tmp_path / "pids").read_text(encoding="utf-8").split()) if is_running(pid)
    ]
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
