"""The cluster of docker-compose.yml as processes here: a master and two workers, with authentication, one of
them killed in mid-run.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from bench.cluster import ENVIRON, standalone_cluster
from tests.engines.conftest import WEIR, Shop, assert_same_tables, environ_of, start_weir, tables_below

pytestmark = pytest.mark.system

SECRET = "a-secret-of-the-test"
SIZE = {"spark.cores.max": "2", "spark.executor.cores": "1", "spark.executor.memory": "1g"}


@pytest.fixture
def project(shop: Shop, tmp_path: Path) -> Path:
    shop.project(tmp_path)
    defaults = tmp_path / "spark" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.touch(mode=0o600)
    defaults.write_text(
        f"spark.authenticate true\nspark.authenticate.secret {SECRET}\nspark.network.crypto.enabled true\n",
        encoding="utf-8",
    )
    return tmp_path


@pytest.fixture
def environ(project: Path) -> dict[str, str]:
    return environ_of(project, "cluster", SPARK_CONF_DIR=str(project / "spark"), **ENVIRON)


def test_a_run_without_the_secret_of_the_cluster_says_where_it_belongs(
    project: Path, environ: dict[str, str]
) -> None:
    shutil.rmtree(project / "spark")

    ended = subprocess.run([WEIR, "run", "retail"], env=environ, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert "Spark could not be started on spark://spark-master:7077" in ended.stderr
    assert "spark-defaults.conf in SPARK_CONF_DIR has the cluster's secret" in ended.stderr


def test_a_worker_that_is_killed_in_mid_run_changes_no_row_and_tells_nobody_the_secret(
    shop: Shop, project: Path, environ: dict[str, str]
) -> None:
    go = project / "go"
    with standalone_cluster(project, workers=2, cores=1, memory="1g", environ=environ) as cluster:
        profile = project / "conf" / "profiles" / "cluster.yml"
        profile.write_text(
            stalling(profile.read_text(encoding="utf-8"), cluster.address, go), encoding="utf-8"
        )
        run = start_weir(environ, "run", "retail")
        worker = run.until(lambda: worker_with_a_task(project))
        cluster.kill(worker)
        go.touch()
        exit_code, said = run.end()

    assert exit_code == 0, said
    assert_same_tables(tables_below(str(project / "lake"), "retail"), shop.tables("retail"))
    assert [len(sorted((project / name).glob("app-*/*/stderr"))) for name in ("worker-1", "worker-2")] == [
        1,
        1,
    ]
    [log] = (project / "logs" / "retail").iterdir()
    assert "Lost executor" in log.read_text(encoding="utf-8")
    assert any("CoarseGrainedExecutorBackend" in line for line in run.command_lines)
    assert [line for line in run.command_lines if SECRET in line] == []
    told = [path for path in project.rglob("*") if path.suffix == ".log" or path.name in ("stdout", "stderr")]
    assert len(told) > 4
    assert [path for path in told if SECRET in path.read_text(encoding="utf-8", errors="replace")] == []


def stalling(profile: str, master: str, go: Path) -> str:
    """The shipped profile, at this address and for small workers, with tasks that wait for a file before they
    read.
    """
    for key, value in {"master": master, **SIZE}.items():
        profile, found = re.subn(
            rf"^( *){re.escape(key)}: \S+", rf"\g<1>{key}: {value}", profile, flags=re.MULTILINE
        )
        assert found == 1, key
    stalls = {"WEIR_FAILPOINTS": "read.before=stall", "WEIR_FAILPOINTS_GO": str(go)}
    return profile + "".join(f"  spark.executorEnv.{name}: {value}\n" for name, value in stalls.items())


def worker_with_a_task(project: Path) -> str | None:
    """A worker whose executor has begun to read the orders."""
    for said in sorted(project.glob("worker-*/app-*/*/stderr")):
        if "stalled at read.before of retail/orders" in said.read_text(encoding="utf-8", errors="replace"):
            return said.relative_to(project).parts[0]
    return None
