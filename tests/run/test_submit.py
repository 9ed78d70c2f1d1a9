"""A command that is handed on to a driver in the cluster, with a stand-in for spark-submit: what that is
told, and what comes of it.
"""

import json
import re
import shutil
import stat
import sys
from pathlib import Path

import pytest

from spark_jobs.cli.cluster import RunsOnCluster, submit_command
from spark_jobs.config import load_project
from spark_jobs.run import submit
from tests.conftest import ROOT

pytestmark = pytest.mark.system

SECRET = "a-key-of-the-test"
PROFILES = {
    "yarn": (
        "master: yarn\nstaging: hdfs:///user/weir\nenvironment: hdfs:///weir/environment.tar\ndeploy:"
        " cluster\nshared_folders: true\n"
    ),
    "kubernetes": "master: k8s://https://host\nimage: weir:1\ndeploy: cluster\nshared_folders: true\n",
}
TOLD = """
import json, os, sys
from pathlib import Path
settings = Path(sys.argv[sys.argv.index("--properties-file") + 1])
ticket = next(line.split()[1] for line in settings.read_text().splitlines() if "WEIR_SUBMITTED" in line)
told = {"arguments": sys.argv[1:], "mode": settings.stat().st_mode, "settings": settings.read_text()}
told["conf"] = os.environ.get("SPARK_CONF_DIR")
Path(os.environ["TOLD"]).write_text(json.dumps(told))
print("Submitted application application_1_0001", file=sys.stderr)
"""
ANSWER = {
    "exit_code": 4,
    "stdout": '{"status": "blocked"}\n',
    "stderr": "error: batch blocked, 160 rows not published\n",
    "runs": [],
}


@pytest.fixture
def elsewhere(
    tmp_path: Path, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> RunsOnCluster:
    """A project whose profile has its driver in the cluster."""
    engine = getattr(request, "param", "yarn")
    for folder in ("conf", "expectations"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / ".envs").symlink_to(ROOT / ".envs")
    (tmp_path / "conf" / "profiles" / f"{engine}.yml").write_text(PROFILES[engine], encoding="utf-8")
    for name, value in {
        "HADOOP_CONF_DIR": "/etc/hadoop",
        "AWS_SECRET_ACCESS_KEY": SECRET,
        "TOLD": str(tmp_path / "told"),
    }.items():
        monkeypatch.setenv(name, value)
    project = load_project(tmp_path, {"WEIR_PROFILE": engine}, only="retail")
    return RunsOnCluster(project, project.profiles[engine])


def stand_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    file = tmp_path / "spark-submit"
    file.write_text(f"#!{sys.executable}\n{TOLD}{script}", encoding="utf-8")
    file.chmod(0o755)
    monkeypatch.setattr(submit, "_spark_submit", lambda: str(file))


@pytest.mark.parametrize("elsewhere", PROFILES, indirect=True)
def test_what_the_driver_printed_is_printed_and_its_exit_code_given(
    elsewhere: RunsOnCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stand_in(
        tmp_path,
        monkeypatch,
        "Path(ticket + '.json').parent.mkdir(parents=True)\nPath(ticket +"
        f" '.json').write_text({json.dumps(ANSWER)!r})\n",
    )

    exit_code = submit_command(elsewhere, ["run", "retail", "--json"])

    said, told = capsys.readouterr(), json.loads((tmp_path / "told").read_text(encoding="utf-8"))
    assert (exit_code, said.out) == (4, ANSWER["stdout"])
    assert said.err.endswith("error: batch blocked, 160 rows not published\n")
    assert told["arguments"][-3:] == ["run", "retail", "--json"]
    assert stat.S_IMODE(told["mode"]) == 0o600
    assert re.search(r"Env\.WEIR_PROFILE (yarn|kubernetes)\n", told["settings"])
    assert re.search(r"Env\.WEIR_TYPED_BY \S+@\S+\n", told["settings"])
    assert SECRET not in json.dumps(told)
    is_yarn = elsewhere.profile.is_yarn
    assert ("--load-spark-defaults" in told["arguments"]) is is_yarn
    assert is_yarn or not Path(told["conf"]).exists(), (
        "a folder of spark-defaults.conf was given to Kubernetes"
    )


def test_a_driver_that_leaves_no_result_is_named(
    elsewhere: RunsOnCluster,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    stand_in(tmp_path, monkeypatch, "sys.exit(1)\n")

    exit_code = submit_command(elsewhere, ["run", "retail"])

    assert exit_code == 1
    assert "the driver of application_1_0001 on yarn has ended without a result" in capsys.readouterr().err
