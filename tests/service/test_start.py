"""What is told when Airflow cannot be started, and that nothing of it is left behind."""

import json
import os
import socket
import stat
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from service.__main__ import main
from service.dags import is_fresh, paused_dags, say_paused
from service.demo.airflow import Airflow, prepare_database
from service.environ import MARKER, Settings, airflow_environ, service_environ
from service.health import ServiceFailed, unhealthy_parts
from service.keys import ensure_keys, ensure_passwords
from service.processes import all_processes
from service.start import CannotStart, start_service, users_of
from service.state import read_state
from tests.airflow.webhook import serving


@pytest.mark.system
def test_a_part_that_ends_at_once_is_told_with_the_last_lines_of_its_log(fake_project: Path) -> None:
    mark = str(fake_project)

    with pytest.raises(ServiceFailed) as raised:
        start_service(fake_project, {**os.environ, "MARK_OF_THE_TEST": mark}, port=0, say=lambda line: None)

    assert raised.value.part == "dag-processor"
    assert "no such bundle" in str(raised.value)
    assert str(fake_project / "airflow_home" / "service" / "dag-processor.log") in str(raised.value)
    assert [found for found in all_processes() if mark.encode() in environ_of(found.process.pid)] == []
    assert read_state(fake_project) is None
    assert not (fake_project / "airflow_home" / "passwords.json").exists()


def test_a_port_that_is_taken_is_told_with_another_one_to_take(
    fake_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        code = main(["up"], {"WEIR_HOME": str(fake_project), "WEIR_PORT": str(port)})

    assert code == 1
    assert f"port {port} on 127.0.0.1 cannot be used: Address already in use" in (
        told := capsys.readouterr().err
    )
    assert f"WEIR_PORT={port + 1} make up" in told


@pytest.mark.parametrize("port", ["http", "-1", "70000"])
def test_a_port_that_is_none_is_refused(
    fake_project: Path, port: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up"], {"WEIR_HOME": str(fake_project), "WEIR_PORT": port}) == 1
    assert repr(port) in capsys.readouterr().err


def test_a_project_without_airflow_says_what_to_run(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match="make setup"):
        start_service(tmp_path, os.environ, port=0)


def test_status_and_down_are_at_ease_where_nothing_runs(
    fake_project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    environ = {"WEIR_HOME": str(fake_project)}

    assert main(["status"], environ) == 3
    assert main(["down"], environ) == 0
    assert main(["down", "--json"], environ) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1]) == {"was_up": False}


def test_keys_and_password_are_made_once_for_their_owner_alone(tmp_path: Path) -> None:
    keys, passwords = ensure_keys(tmp_path), ensure_passwords(ensure_keys(tmp_path), ["admin"])

    assert ensure_keys(tmp_path) == keys
    assert ensure_passwords(keys, ["admin"]) == {}
    more = ensure_passwords(keys, ["admin", "ada"])
    assert (list(passwords), list(more)) == (["admin"], ["ada"])
    assert json.loads(keys.password_file.read_text(encoding="utf-8")) == passwords | more
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}
    assert keys.secret_key not in f"{keys}"


def test_airflow_gets_its_own_settings_and_none_of_the_callers_airflow(tmp_path: Path) -> None:
    settings = Settings(tmp_path, 8123, "postgresql://somewhere/airflow", "mark")
    caller = {
        "AIRFLOW__CORE__DAGS_FOLDER": "/elsewhere",
        "WEIR_AIRFLOW__CORE__PARALLELISM": "3",
        "no_proxy": "example",
    }

    made = service_environ(settings, ensure_keys(tmp_path), caller)

    assert made["AIRFLOW__CORE__DAGS_FOLDER"] == str(tmp_path / "dags")
    assert made["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "postgresql://somewhere/airflow"
    assert made["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:8123/execution/"
    assert (made["AIRFLOW__CORE__PARALLELISM"], made["no_proxy"], made[MARKER]) == (
        "3",
        "example,127.0.0.1",
        "mark",
    )


def test_a_home_that_was_moved_keeps_its_own_database_and_logs(tmp_path: Path) -> None:
    """Airflow wrote their old place into airflow.cfg; what the environment says wins."""
    made = airflow_environ(tmp_path, {})

    assert made["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == f"sqlite:///{tmp_path}/airflow_home/airflow.db"
    assert made["AIRFLOW__LOGGING__BASE_LOG_FOLDER"] == f"{tmp_path}/airflow_home/logs"


@pytest.mark.parametrize("users", ["ada", "ada:boss", "ada:op,,", "a b:op"])
def test_a_user_without_a_name_or_a_role_of_airflow_is_refused(users: str) -> None:
    with pytest.raises(
        CannotStart, match="write name:role, as in ada:op,bo:viewer; the roles are viewer, user, op, admin"
    ):
        users_of(f"admin:admin,{users}")


@pytest.mark.system
def test_the_demo_alone_makes_a_home_for_its_owner_alone(fake_project: Path) -> None:
    (fake_project / "airflow_home").mkdir(mode=0o755)

    prepare_database(Airflow(fake_project, {"PATH": os.environ["PATH"]}))

    assert stat.S_IMODE((fake_project / "airflow_home").stat().st_mode) == 0o700


def test_a_heartbeat_from_before_the_start_does_not_count() -> None:
    since = "2026-11-17T02:00:00+00:00"
    beats = {
        "scheduler": "2026-11-17T02:00:01Z",
        "dag_processor": "2026-11-17T01:59:59+00:00",
        "triggerer": None,
    }
    health = {part: {"status": "healthy", f"latest_{part}_heartbeat": beat} for part, beat in beats.items()}

    assert unhealthy_parts(health, since) == ["dag_processor", "triggerer"]
    assert unhealthy_parts({}, since)[0] == "api_server"


def test_what_is_said_of_paused_dags_is_so() -> None:
    on = {f"dag_{number}": False for number in range(7)}

    assert (
        say_paused({"shop": True, "board": True}, {})
        == "2 DAGs are paused until you switch them on: nothing is loaded before."
    )
    assert say_paused({"shop": False}, {}) == "1 DAG is switched on, and loads by schedule: shop."
    assert (
        say_paused({"shop": False, "board": True}, {})
        == "1 DAG is switched on, and loads by schedule: shop; 1 DAG is paused."
    )
    assert say_paused(on, {}).endswith("and load by schedule: dag_0, dag_1, dag_2, dag_3, dag_4 and 2 more.")
    for none_read in ({}, {"weir_maintenance": False}):
        assert say_paused(none_read, {}).startswith("DAGs are being read. They are paused until you switch")
    assert "switched on at once" in say_paused(
        {}, {"WEIR_AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False"}
    )
    assert "paused" not in say_paused(None, {})


def test_the_sample_is_offered_where_nothing_loads_yet_whether_or_not_upkeep_is_on() -> None:
    assert is_fresh({"retail": True, "board": True, "weir_maintenance": False})
    assert is_fresh({"weir_maintenance": False}), "DAGs are being read"
    assert not is_fresh({"retail": True, "board": False, "weir_maintenance": False})
    assert not is_fresh({"power": True, "weir_maintenance": False}), "there is no retail to switch on"


def test_every_dag_is_asked_for_also_where_airflow_answers_page_by_page(tmp_path: Path) -> None:
    names = [f"dag_{number:03}" for number in range(205)]
    passwords = tmp_path / "passwords.json"
    passwords.write_text('{"admin": "secret"}', encoding="utf-8")

    with serving(ThreadingHTTPServer(("127.0.0.1", 0), type("Api", (_Api,), {"names": names}))) as port:
        dags = paused_dags(f"http://127.0.0.1:{port}", passwords)

    assert dags == {name: name != "dag_204" for name in names}


class _Api(BaseHTTPRequestHandler):
    """Airflow's API as far as `up` asks it: pages of at most 100 DAGs, of which the last one is on."""

    names: list[str]

    def do_POST(self) -> None:
        self._answer({"access_token": "a-token"})

    def do_GET(self) -> None:
        asked = parse_qs(urlsplit(self.path).query)
        begin, limit = int(asked["offset"][0]), min(int(asked["limit"][0]), 100)
        page = self.names[begin : begin + limit]
        self._answer({"dags": [{"dag_id": name, "is_paused": name != self.names[-1]} for name in page]})

    def _answer(self, body: Any) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


def environ_of(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return b""
