"""A run on a standalone cluster as docker-compose.yml describes it: a master and two workers, with authentication, as processes here."""

import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from deltalake import DeltaTable

from bench.cluster import ENVIRON, standalone_cluster
from tests.conftest import ROOT, weir_environ

pytestmark = pytest.mark.spark

SECRET = "a-secret-of-the-test"
TABLES = [part for table in ("bronze.words", "silver.words", "gold.word_counts") for part in ("--select", table)]
WEIR = str(Path(sys.executable).with_name("weir"))


@pytest.fixture
def environ(project: Path) -> dict[str, str]:
    return weir_environ(WEIR_HOME=str(project), WEIR_PROFILE="cluster", SPARK_CONF_DIR=str(project / "spark"), **ENVIRON)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("conf", "expectations"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    (tmp_path / ".envs").symlink_to(ROOT / ".envs")
    defaults = tmp_path / "spark" / "spark-defaults.conf"
    defaults.parent.mkdir()
    defaults.touch(mode=0o600)
    defaults.write_text(
        f"spark.authenticate true\nspark.authenticate.secret {SECRET}\nspark.network.crypto.enabled true\n", encoding="utf-8"
    )
    landed = tmp_path / "landing" / "word_count" / "words"
    landed.mkdir(parents=True)
    for minute, words in ((2, '"cat", "dog"'), (3, '"dog", "dog"')):
        (landed / f"{minute}.json").write_text(f'{{"at": "2024-05-01T12:0{minute}:00Z", "words": [{words}]}}\n', encoding="utf-8")
    return tmp_path


def test_a_run_without_the_secret_of_the_cluster_says_where_it_belongs(project: Path, environ: dict[str, str]) -> None:
    shutil.rmtree(project / "spark")

    ended = subprocess.run([WEIR, "run", "word_count"], env=environ, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    assert "Spark could not be started on spark://spark-master:7077" in ended.stderr
    assert "spark-defaults.conf in SPARK_CONF_DIR has the cluster's secret" in ended.stderr


def test_a_run_on_a_cluster_works_on_its_workers_and_tells_nobody_the_secret(project: Path, environ: dict[str, str]) -> None:
    with standalone_cluster(project, workers=2, cores=1, memory="1g", environ=environ) as master:
        profile = project / "conf" / "profiles" / "cluster.yml"
        profile.write_text(for_two_small_workers(profile.read_text(encoding="utf-8"), master), encoding="utf-8")
        exit_code, said, command_lines = run_and_watch([WEIR, "run", "word_count", *TABLES], environ)

    assert exit_code == 0, said
    counted = DeltaTable(project / "lake" / "word_count" / "gold" / "word_counts").to_pyarrow_table(columns=["word", "word_count"])
    assert sorted(tuple(row.values()) for row in counted.to_pylist()) == [("cat", 1), ("cat", 1), ("dog", 3), ("dog", 3)]
    executors = [sorted((project / worker).glob("app-*/*/stderr")) for worker in ("worker-1", "worker-2")]
    assert [len(found) for found in executors] == [1, 1]
    assert any("CoarseGrainedExecutorBackend" in line for line in command_lines)
    assert [line for line in command_lines if SECRET in line] == []
    told = [path for path in project.rglob("*") if path.suffix == ".log" or path.name in ("stdout", "stderr")]
    assert len(told) > 4
    assert [path for path in told if SECRET in path.read_text(encoding="utf-8", errors="replace")] == []


def for_two_small_workers(profile: str, master: str) -> str:
    for key, value in (("master", master), ("spark.cores.max", "2"), ("spark.executor.cores", "1"), ("spark.executor.memory", "1g")):
        profile, found = re.subn(rf"^( *){re.escape(key)}: \S+", rf"\g<1>{key}: {value}", profile, flags=re.MULTILINE)
        assert found == 1, key
    return profile


def run_and_watch(command: list[str], environ: dict[str, str]) -> tuple[int, str, set[str]]:
    """How the command ended and what it said, with the command lines that any process had meanwhile."""
    seen: set[str] = set()
    with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as run:
        while run.poll() is None:
            seen |= command_lines()
            time.sleep(0.5)
        assert run.stdout is not None
        return run.returncode, run.stdout.read(), seen


def command_lines() -> set[str]:
    found = set()
    for process in Path("/proc").glob("[0-9]*"):
        try:
            found.add((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found
