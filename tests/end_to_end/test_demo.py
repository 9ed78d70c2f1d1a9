"""The README's demo, for real: Airflow runs the retail DAG, whose tasks start `weir` and its own JVMs. Twice."""

import subprocess
import sys
from pathlib import Path

import polars
import pytest
from deltalake import DeltaTable

from spark_jobs.sample.answers import true_answers
from tests.conftest import ROOT, weir_environ

pytestmark = [pytest.mark.spark, pytest.mark.airflow]

RETAIL = (
    "dimension.customers", "dimension.products", "silver.orders", "silver.order_lines", "gold.revenue_per_hour", "gold.top_products",
)  # fmt: skip


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The project as in a clone of its own, with the environments that are there."""
    for name in ("conf", "dags", "plugins", ".envs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def demo(clone: Path) -> str:
    command = [sys.executable, "-m", "spark_jobs.demo"]
    done = subprocess.run(command, cwd=ROOT, env=weir_environ(WEIR_HOME=str(clone)), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def versions(clone: Path) -> dict[str, int]:
    return {str(log.parent): DeltaTable(log.parent).version() for log in (clone / "lake").rglob("_delta_log")}


def test_the_demo_ends_with_the_true_answers_and_run_again_changes_nothing(clone: Path) -> None:
    first = demo(clone)
    answers = true_answers(clone / "landing")

    for table in RETAIL:
        expected = [tuple(row.values()) for row in answers[table]]
        found = polars.read_delta(str(clone / "lake" / "retail" / table.replace(".", "/"))).select(list(answers[table][0])).rows()
        assert sorted(found, key=repr) == sorted(expected, key=repr), table
    assert first.count("the DAG run succeeded") == 2
    assert "silver.orders" in first
    assert "missing" not in first

    before = versions(clone)
    again = demo(clone)
    assert again.count("nothing to do") == 3  # bronze, silver and gold
    assert versions(clone) == before
