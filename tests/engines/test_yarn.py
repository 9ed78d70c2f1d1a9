"""Runs on a real YARN, with the environment and the project shipped to it: the driver here, and the driver
there.
"""

import json
import re
import shutil
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.session.pack import VERSION
from tests.engines.conftest import WEIR, Shop, assert_same_tables, environ_of, start_weir, tables_below
from tests.engines.yarn import Yarn, yarn

pytestmark = pytest.mark.system

SIZE = {
    "spark.executor.instances": "1",
    "spark.executor.cores": "2",
    "spark.executor.memory": "1g",
    "driver_memory": "1g",
}
SECRET = "a-password-of-the-test"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Yarn]:
    with yarn(tmp_path_factory.mktemp("yarn")) as running:
        yield running


@pytest.fixture
def project(shop: Shop, cluster: Yarn, tmp_path: Path) -> Path:
    """The shipped profile, for this cluster and small containers; secrets stand beside what is shipped."""
    shop.project(tmp_path)
    profile = tmp_path / "conf" / "profiles" / "yarn.yml"
    text = profile.read_text(encoding="utf-8").replace("# environment:", "environment:")
    for key, value in {"staging": cluster.staging, "environment": cluster.environment, **SIZE}.items():
        text, found = re.subn(
            rf"^( *){re.escape(key)}: \S+", rf"\g<1>{key}: {value}", text, flags=re.MULTILINE
        )
        assert found == 1, key
    python = shutil.which(VERSION) or f"{sys.base_prefix}/bin/{VERSION}"
    text += "".join(
        f"  spark.{role}.WEIR_PYTHON: {python}\n" for role in ("executorEnv", "yarn.appMasterEnv")
    )
    profile.write_text(text, encoding="utf-8")
    for name in (".env", "secrets/connections.yml", "conf/.env"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(f"password: {SECRET}\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def environ(project: Path, cluster: Yarn) -> dict[str, str]:
    return environ_of(project, "yarn", HADOOP_CONF_DIR=str(cluster.conf), SPARK_LOCAL_IP="127.0.0.1")


def test_a_run_ships_its_python_and_jars_to_the_containers(
    shop: Shop, cluster: Yarn, project: Path, environ: dict[str, str]
) -> None:
    run = start_weir(environ, "run", "word_count")
    exit_code, said = run.end()

    assert exit_code == 0, said
    assert_same_tables(tables_below(str(project / "lake"), "word_count"), shop.tables("word_count"))
    assert cluster.applications()[-1] == ("FINISHED", "SUCCEEDED")
    executors = [
        line for line in run.command_lines if "YarnCoarseGrainedExecutorBackend" in line and "java" in line
    ]
    assert executors
    python = [line for line in run.command_lines if "pyspark.daemon" in line]
    assert python, "no executor has run Python"
    assert_shipped_without_secrets(cluster)


def test_a_driver_in_the_cluster_is_stopped_and_ends_like_one_here(
    shop: Shop, cluster: Yarn, project: Path, environ: dict[str, str]
) -> None:
    go, profile = project / "go", project / "conf" / "profiles" / "yarn.yml"
    text = profile.read_text(encoding="utf-8").replace("deploy: client", "deploy: cluster")
    profile.write_text(text, encoding="utf-8")
    refused = subprocess.run(
        [WEIR, "run", "word_count"], env=environ, capture_output=True, text=True, check=False
    )
    stalls = {"WEIR_FAILPOINTS": "write.before:silver.words=stall", "WEIR_FAILPOINTS_GO": str(go)}
    text = text.replace("# shared_folders:", "shared_folders:")
    profile.write_text(
        text + "".join(f"  spark.yarn.appMasterEnv.{name}: {value}\n" for name, value in stalls.items()),
        encoding="utf-8",
    )

    run = start_weir(environ, "run", "word_count", "--json")
    run.until(lambda: cluster.has_said("stalled at write.before of silver.words"))
    run.process.send_signal(signal.SIGTERM)
    run.until(lambda: cluster.has_said("stopping after the current batch"))
    go.touch()
    stopped_code, stopped = run.end()
    ended = subprocess.run(
        [WEIR, "run", "word_count", "--json"], env=environ, capture_output=True, text=True, check=False
    )

    assert refused.returncode == 2
    assert (
        f"a driver in the cluster cannot reach the lake {project / 'lake'}, a folder of this machine"
        in refused.stderr
    )
    assert stopped_code == 6, stopped
    assert json.loads(stopped.splitlines()[-1])["status"] == "stopped"
    assert ended.returncode == 0, ended.stderr
    result = json.loads(ended.stdout)
    assert (result["status"], result["exit_code"], result["pipeline"]) == ("ok", 0, "word_count")
    assert "word_count: ok: " in ended.stderr
    assert (project / "reports" / result["report"]).is_file()
    assert_same_tables(tables_below(str(project / "lake"), "word_count"), shop.tables("word_count"))
    assert [status for _, status in cluster.applications()[-2:]] == ["FAILED", "SUCCEEDED"]
    assert list((project / "lake" / "word_count" / "_weir" / "submitted").iterdir()) == []
    assert_shipped_without_secrets(cluster)


def assert_shipped_without_secrets(cluster: Yarn) -> None:
    """Nothing that stood beside the project is in what YARN has unpacked, nor in what containers have
    printed.
    """
    with tarfile.open(cluster.folder / "files" / "environment.tar") as environment:
        assert {name.partition("/")[0] for name in environment.getnames()} == {"bin", "packages", "jars"}
    shipped = [
        path
        for path in cluster.folder.glob("local/usercache/*/filecache/*/project.zip/**/*")
        if path.is_file()
    ]
    assert shipped
    assert [path for path in shipped if path.name in (".env", "connections.yml")] == []
    told = [path for path in (cluster.folder / "logs").rglob("*") if path.is_file()]
    assert [
        path for path in (*shipped, *told) if SECRET in path.read_text(encoding="utf-8", errors="replace")
    ] == []
