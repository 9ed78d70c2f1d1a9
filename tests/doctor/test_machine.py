"""What the doctor says of a machine: Java, jars, packages, storage, Airflow. None of this starts Spark."""

import json
import os
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from spark_jobs.doctor import machine, places
from spark_jobs.doctor.airflow import look_at_airflow
from spark_jobs.doctor.finding import BAD, OK, WARNING, Finding, looked_at
from spark_jobs.session import jars
from spark_jobs.session.install import Installation
from tests.conftest import ROOT, Workshop


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    """An installation with jars of its own."""
    shutil.copytree(ROOT / ".envs" / "jars", tmp_path / ".envs" / "jars")
    return Installation(tmp_path)


def states(found: Iterator[Finding]) -> list[tuple[str, str]]:
    return [(finding.about, finding.state) for finding in found]


def test_a_cut_jar_is_named_with_the_command_that_fetches_it(
    installed: Installation, monkeypatch: pytest.MonkeyPatch
) -> None:
    jar = jars.jar_paths(installed.jars)[0]
    whole = jar.read_bytes()
    jar.write_bytes(whole[:1000])

    [cut] = [finding for finding in machine.look_at_jars(installed, ()) if finding.state != OK]

    assert (cut.about, cut.state, cut.remedy) == ("jars of delta", BAD, "`weir setup --jars-only`")
    assert f"{jar.name} has another checksum" in cut.message
    assert jar.exists(), "to look at a jar deletes nothing"

    monkeypatch.setattr(
        jars, "fetch", lambda missing, folder, java: [path.write_bytes(whole) for path in missing]
    )
    assert cut.fix
    assert cut.fix.do() is None
    assert {state for _, state in states(machine.look_at_jars(installed, ()))} == {OK}


def test_a_missing_component_is_named_where_a_pipeline_needs_it(installed: Installation) -> None:
    shutil.rmtree(installed.jars / "kafka")

    assert "jars of kafka" not in dict(states(machine.look_at_jars(installed, ())))
    [missing] = [finding for finding in machine.look_at_jars(installed, ["kafka"]) if finding.state != OK]
    assert missing.remedy == "`weir setup --jars-only --with kafka`"


def test_a_fetch_that_fails_says_why(installed: Installation, monkeypatch: pytest.MonkeyPatch) -> None:
    jar = jars.jar_paths(installed.jars)[0]
    jar.unlink()

    def unavailable(*_: object) -> None:
        raise jars.JarUnavailable(jars.DELTA_JARS[0], installed.jars, "no route to host")

    monkeypatch.setattr(jars, "fetch", unavailable)
    [missing] = [finding for finding in machine.look_at_jars(installed, ()) if finding.state != OK]

    assert missing.fix
    assert "no route to host" in str(missing.fix.do())


def test_without_a_java_its_remedy_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("spark_jobs.session.java._runtime_from_pypi", lambda: None)

    [found] = machine.look_at_java(Installation(tmp_path))

    assert (found.state, found.about) == (BAD, "java")
    assert "Spark needs Java 17 or 21" in found.message
    assert "JRE from PyPI" in found.remedy


def test_an_archive_of_another_java_is_told(tmp_path: Path) -> None:
    installed = Installation(tmp_path)
    assert states(machine.look_at_archive(installed)) == [("archive of classes", WARNING)]
    (tmp_path / ".envs").mkdir()
    installed.archive.write_bytes(b"x")
    installed.archive.with_suffix(".txt").write_text("another Java", encoding="utf-8")

    [stale] = machine.look_at_archive(installed)

    assert stale.state == WARNING
    assert "another Java, Spark or Delta" in stale.message


def test_packages_are_held_against_the_lock(tmp_path: Path) -> None:
    packages = machine.installed_packages([str(Path(pytest.__file__).parents[1])])
    lock = tmp_path / "requirements" / "spark.txt"
    lock.parent.mkdir()
    right = f"typer=={packages['typer']} \\\n    --hash=sha256:00\n"
    lock.write_text(right + "colorama==9.9 ; sys_platform == 'win32'\n", encoding="utf-8")
    assert states(machine.look_at_packages(tmp_path)) == [("python", OK), ("Spark's environment", OK)]

    lock.write_text(right + "Rich==0.0.1\nno_such.package==1.0\n", encoding="utf-8")
    [_, wrong] = machine.look_at_packages(tmp_path)

    assert (wrong.state, wrong.remedy) == (BAD, "`make setup`")
    assert f"rich is {packages['rich']}, locked is 0.0.1" in wrong.message
    assert "no-such-package is missing, locked is 1.0" in wrong.message


def test_the_environment_of_the_tests_is_as_locked() -> None:
    assert {state for _, state in states(machine.look_at_packages(ROOT))} == {OK}


def test_a_full_disk_is_named(idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    usages = {500_000_000: BAD, 5_000_000_000: WARNING, 50_000_000_000: OK}
    for free, state in usages.items():
        usage = SimpleNamespace(free=free)
        monkeypatch.setattr("shutil.disk_usage", lambda folder, usage=usage: usage)
        found = [
            finding
            for finding in places.look_at_places(idle_workshop.project)
            if finding.about == "free space"
        ]

        assert [finding.state for finding in found] == [state, state]
        assert all(("`weir maintain`" in finding.remedy) == (state != OK) for finding in found)


def test_a_place_that_may_not_be_written_to_is_named(idle_workshop: Workshop) -> None:
    """A file in its place: no right of root helps."""
    idle_workshop.write("lake", "no folder")

    [wrong] = [finding for finding in places.look_at_places(idle_workshop.project) if finding.state == BAD]

    assert (wrong.about, wrong.state) == ("lake", BAD)
    assert "nothing can be written to" in wrong.message
    assert "`ls -ld " in wrong.remedy


def test_a_landing_zone_that_is_not_there_is_made_by_fix(idle_workshop: Workshop) -> None:
    [missing] = [finding for finding in places.look_at_places(idle_workshop.project) if finding.fix]

    assert missing.message == f"{idle_workshop.landing} is not there"
    assert missing.fix
    assert missing.fix.do() is None
    assert idle_workshop.landing.is_dir()


def test_a_clock_of_the_storage_that_is_another_is_named(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = time.time
    monkeypatch.setattr("time.time", lambda: real() + 600)

    found = [finding for finding in places.look_at_places(idle_workshop.project) if finding.about == "clock"]

    assert [finding.state for finding in found] == [BAD] * 3
    assert "600 seconds from the one of this machine" in found[0].message
    assert "timedatectl set-ntp true" in found[0].remedy


def test_looking_leaves_nothing_behind_and_a_killed_look_is_cleared(idle_workshop: Workshop) -> None:
    list(places.look_at_places(idle_workshop.project))
    assert not list(idle_workshop.root.rglob(f"{places.PROBE}*"))
    left = idle_workshop.write(f"lake/{places.PROBE}abcd", "weir doctor")

    [found] = places.look_at_orphans(idle_workshop.project)

    assert (found.state, found.about) == (WARNING, "orphans")
    assert found.fix
    found.fix.do()
    assert not left.exists()


def test_a_folder_that_belongs_to_no_pipeline_is_named_and_never_removed(idle_workshop: Workshop) -> None:
    kept = idle_workshop.write("lake/old_shop/silver/orders/x", "")

    [found] = places.look_at_orphans(idle_workshop.project)

    assert (found.state, found.fix) == (WARNING, None)
    assert "'old_shop'" in found.message
    assert kept.exists()


def test_a_look_that_fails_is_a_finding() -> None:
    def broken() -> Iterator[Finding]:
        yield Finding("a", "b", OK, "first")
        raise OSError("the disk is on fire")

    [found] = looked_at("retail", "files", broken, "put it out")

    assert (found.area, found.about, found.state, found.remedy) == ("retail", "files", BAD, "put it out")
    assert "the disk is on fire" in found.message


class Airflow(BaseHTTPRequestHandler):
    status = "healthy"

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"scheduler": {"status": type(self).status}, "triggerer": {}}).encode())

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def airflow_home(tmp_path: Path) -> Iterator[Path]:
    """A project whose Airflow answers on a free port."""
    server = HTTPServer(("127.0.0.1", 0), Airflow)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    home = tmp_path / "airflow_home"
    home.mkdir()
    (home / "up.json").write_text(
        json.dumps({"url": f"http://127.0.0.1:{server.server_port}"}), encoding="utf-8"
    )
    yield tmp_path
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.mark.parametrize(("status", "state"), [("healthy", OK), ("unhealthy", BAD)])
def test_airflow_is_asked_how_its_parts_are(
    airflow_home: Path, status: str, state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Airflow, "status", status)

    [found] = look_at_airflow(airflow_home, {})

    assert found.state == state
    assert ("the scheduler is unhealthy" in found.message) == (state == BAD)


def test_an_airflow_that_does_not_answer_is_named(tmp_path: Path) -> None:
    (tmp_path / "airflow_home").mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    (tmp_path / "airflow_home" / "up.json").write_text(json.dumps({"url": url}), encoding="utf-8")

    [found] = look_at_airflow(tmp_path, {})

    assert (found.state, "does not answer" in found.message) == (BAD, True)
    assert found.remedy.startswith("`make up`")


def test_a_port_that_another_program_has_is_named(tmp_path: Path) -> None:
    assert list(look_at_airflow(tmp_path, {})) == [], "of a project without Airflow nothing is said"
    (tmp_path / "airflow_home").mkdir()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        [found] = look_at_airflow(tmp_path, {"WEIR_PORT": port})

    assert (found.state, found.message) == (WARNING, f"another program listens on port {port}")


def test_an_environment_of_airflow_is_held_against_its_lock(tmp_path: Path) -> None:
    assert states(machine.look_at_airflow_packages(tmp_path)) == [("environment", OK)]
    site = tmp_path / ".envs" / "airflow" / "lib" / "python3.11" / "site-packages"
    package = site / "apache_airflow-3.0.0.dist-info"
    package.mkdir(parents=True)
    (package / "METADATA").write_text("Name: apache-airflow\nVersion: 3.0.0\n", encoding="utf-8")
    lock = tmp_path / "requirements" / "airflow.txt"
    lock.parent.mkdir()
    lock.write_text("apache-airflow==3.3.2 \\\n", encoding="utf-8")

    [found] = machine.look_at_airflow_packages(tmp_path)

    assert (found.area, found.state) == ("airflow", WARNING)
    assert found.message == "apache-airflow is 3.0.0, locked is 3.3.2"


def test_of_a_landing_zone_without_rights_that_is_said(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    idle_workshop.landing.mkdir()
    real = os.access
    monkeypatch.setattr(
        "os.access", lambda path, mode: str(path) != str(idle_workshop.landing) and real(path, mode)
    )

    [found] = [
        finding for finding in places.look_at_places(idle_workshop.project) if finding.about == "landing"
    ]

    assert (found.state, "cannot be read by this user" in found.message) == (BAD, True)
