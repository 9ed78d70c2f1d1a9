"""What is told when Airflow cannot be started, and that nothing of it is left behind."""

import json
import os
import socket
from pathlib import Path

import pytest

from spark_jobs.service.__main__ import main
from spark_jobs.service.environ import MARKER, Settings, service_environ
from spark_jobs.service.health import ServiceFailed, unhealthy_parts
from spark_jobs.service.keys import ensure_keys, ensure_password
from spark_jobs.service.processes import all_processes
from spark_jobs.service.start import CannotStart, start_service
from spark_jobs.service.state import read_state


@pytest.mark.system
def test_a_part_that_ends_at_once_is_told_with_the_last_lines_of_its_log(fake_project: Path) -> None:
    mark = str(fake_project)

    with pytest.raises(ServiceFailed) as raised:
        start_service(fake_project, {**os.environ, "MARK_OF_THE_TEST": mark}, port=0, say=lambda line: None)

    assert raised.value.part == "scheduler"
    assert "no such executor" in str(raised.value)
    assert str(fake_project / "airflow_home" / "service" / "scheduler.log") in str(raised.value)
    assert [found for found in all_processes() if mark.encode() in environ_of(found.process.pid)] == []
    assert read_state(fake_project) is None
    assert not (fake_project / "airflow_home" / "passwords.json").exists()


def test_a_port_that_is_taken_is_told_with_another_one_to_take(fake_project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        code = main(["up"], {"WEIR_HOME": str(fake_project), "WEIR_PORT": str(port)})

    assert code == 1
    assert f"port {port} on 127.0.0.1 cannot be used: Address already in use" in (told := capsys.readouterr().err)
    assert f"WEIR_PORT={port + 1} make up" in told


@pytest.mark.parametrize("port", ["http", "-1", "70000"])
def test_a_port_that_is_none_is_refused(fake_project: Path, port: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["up"], {"WEIR_HOME": str(fake_project), "WEIR_PORT": port}) == 1
    assert repr(port) in capsys.readouterr().err


def test_a_project_without_airflow_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="make setup"):
        start_service(tmp_path, os.environ, port=0)


def test_status_and_down_are_at_ease_where_nothing_runs(fake_project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    environ = {"WEIR_HOME": str(fake_project)}

    assert main(["status"], environ) == 3
    assert main(["down"], environ) == 0
    assert main(["down", "--json"], environ) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"was_up": False}


def test_keys_and_password_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    keys, password = ensure_keys(tmp_path), ensure_password(ensure_keys(tmp_path))

    assert ensure_keys(tmp_path) == keys
    assert ensure_password(keys) is None
    assert json.loads(keys.password_file.read_text(encoding="utf-8")) == {"admin": password}
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert keys.secret_key not in f"{keys}"


def test_airflow_gets_its_own_settings_and_none_of_the_callers_airflow(tmp_path: Path) -> None:
    settings = Settings(tmp_path, 8123, "postgresql://somewhere/airflow", "mark")
    caller = {"AIRFLOW__CORE__DAGS_FOLDER": "/elsewhere", "WEIR_AIRFLOW__CORE__PARALLELISM": "3", "no_proxy": "example"}

    made = service_environ(settings, ensure_keys(tmp_path), caller)

    assert made["AIRFLOW__CORE__DAGS_FOLDER"] == str(tmp_path / "dags")
    assert made["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "postgresql://somewhere/airflow"
    assert made["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:8123/execution/"
    assert (made["AIRFLOW__CORE__PARALLELISM"], made["no_proxy"], made[MARKER]) == ("3", "example,127.0.0.1", "mark")


def test_a_heartbeat_from_before_the_start_does_not_count() -> None:
    since = "2026-11-17T02:00:00+00:00"
    beats = {"scheduler": "2026-11-17T02:00:01Z", "dag_processor": "2026-11-17T01:59:59+00:00", "triggerer": None}
    health = {part: {"status": "healthy", f"latest_{part}_heartbeat": beat} for part, beat in beats.items()}

    assert unhealthy_parts(health, since) == ["dag_processor", "triggerer"]
    assert unhealthy_parts({}, since)[0] == "api_server"


def environ_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
