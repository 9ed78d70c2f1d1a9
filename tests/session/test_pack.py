"""What is shipped to YARN: without the archive of the environment, or with an old one, a run says what to do;
no secret is shipped.
"""

import zipfile
from pathlib import Path

import pytest

from spark_jobs.session.hosts import pack_project
from spark_jobs.session.install import Installation, NotInstalled
from spark_jobs.session.pack import archive_path, known_environment
from tests.conftest import ROOT


@pytest.fixture
def installed(tmp_path: Path) -> Installation:
    (tmp_path / ".envs").mkdir()
    (tmp_path / ".envs" / "jars").symlink_to(ROOT / ".envs" / "jars")
    return Installation(tmp_path)


def test_an_archive_that_is_missing_or_of_another_environment_is_refused(installed: Installation) -> None:
    with pytest.raises(NotInstalled, match=r"environment\.tar is not there: `weir pack` makes it"):
        known_environment(installed)

    archive_path(installed).touch()
    archive_path(installed).with_suffix(".txt").write_text("of yesterday\n", encoding="utf-8")
    with pytest.raises(
        NotInstalled, match="has other packages or jars than this environment; run `weir pack` again"
    ):
        known_environment(installed)


def test_of_a_project_code_conf_and_expectations_are_shipped_and_nothing_hidden(tmp_path: Path) -> None:
    for name in ("conf/pipelines/a.yml", "conf/hooks/a.py", "expectations/a/silver.a.yml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    for name in (
        ".env",
        "conf/.env",
        "secrets/connections.yml",
        "landing/a/a.json",
        "conf/hooks/__pycache__/a.pyc",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()

    pack_project(tmp_path, tmp_path / "project.zip")

    shipped = set(zipfile.ZipFile(tmp_path / "project.zip").namelist())
    assert {name for name in shipped if not name.startswith("spark_jobs/")} == {
        "conf/pipelines/a.yml", "conf/hooks/a.py", "expectations/a/silver.a.yml"
    }  # fmt: skip
    assert {
        "spark_jobs/cli/driver.py",
        "spark_jobs/session/jars.txt",
        "spark_jobs/report/templates/run.html",
    } <= shipped
    assert [name for name in shipped if name.endswith(".pyc")] == []
