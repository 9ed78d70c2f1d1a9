"""The recording runs of the set-up: they leave the archive of classes in .envs, and nothing else in the
project.
"""

from pathlib import Path

import pytest

from spark_jobs.session.install import Installation, make_archive, recording_environ
from spark_jobs.session.java import Java
from tests.conftest import ROOT

RETAIL = """
pipeline: retail
sources: {orders: {format: json, path: retail/orders}}
silver: {orders: {from: orders, columns: {order_id: string}}}
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project in which runs have been: their list, a report and a log are there. Its .envs are of its own,
    but for the jars.
    """
    written = {
        "conf/lakehouse.yml": (
            f"landing: landing\nlake: lake\nprofile: elsewhere\nreports: {tmp_path}/reports\n"
        ),
        "conf/profiles/elsewhere.yml": "master: spark://nowhere:7077\n",
        "conf/log4j2.properties": (ROOT / "conf" / "log4j2.properties").read_text(encoding="utf-8"),
        "conf/pipelines/retail.yml": RETAIL,
        "reports/retail/runs.json": '{"runs": ["mine"]}',
        "reports/index.html": "mine",
        "logs/retail/mine.log": "mine",
    }
    for path, text in written.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    (tmp_path / ".envs").mkdir()
    (tmp_path / ".envs" / "jars").symlink_to(ROOT / ".envs" / "jars")
    return tmp_path


def files_of(project: Path) -> dict[str, str]:
    """Every file but those of the environments, with its text."""
    found = (
        path
        for path in project.rglob("*")
        if path.is_file() and ".envs" not in path.relative_to(project).parts
    )
    return {str(path.relative_to(project)): path.read_text(encoding="utf-8") for path in found}


@pytest.mark.spark
@pytest.mark.system
def test_recording_writes_the_archive_and_no_report_log_or_table_into_the_project(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_REPORTS", str(project / "reports"))
    monkeypatch.setenv("WEIR_PROFILE", "elsewhere")
    before, said = files_of(project), list[str]()

    make_archive(Installation(project), Installation(ROOT).java(), said.append)

    assert files_of(project) == before
    assert (project / ".envs" / "classes.jsa").is_file() or "writes no archive" in said[-1]
    assert (project / ".envs" / "classes.txt").is_file()


def test_a_project_without_the_sample_pipeline_is_set_up_all_the_same(project: Path) -> None:
    (project / "conf" / "pipelines" / "retail.yml").unlink()
    said: list[str] = []

    make_archive(Installation(project), Java(Path("java"), 17, "PATH"), said.append)

    assert said == [
        "there is no conf/pipelines/retail.yml, so that no classes are recorded: runs start a little slower"
    ]


def test_what_the_caller_says_of_its_own_project_does_not_reach_the_recording() -> None:
    caller = {
        "PATH": "/bin",
        "JAVA_HOME": "/java",
        "WEIR_HOME": "/mine",
        "WEIR_PROFILE": "cluster",
        "WEIR_LAKE": "s3a://mine",
    }

    assert recording_environ(Path("elsewhere"), caller) == {
        "PATH": "/bin",
        "JAVA_HOME": "/java",
        "WEIR_HOME": "elsewhere",
    }
