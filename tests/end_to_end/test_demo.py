"""The README's demo, for real: Airflow runs the retail DAG, whose tasks start `weir` and its own JVMs, and a
defective delivery is held.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import polars
import pytest
from deltalake import DeltaTable

from tests.conftest import ROOT, weir_environ
from tests.sample.oracle.answers import true_answers

pytestmark = [pytest.mark.spark, pytest.mark.airflow]

RETAIL = (
    "dimension.customers", "dimension.products", "silver.orders", "silver.order_lines", "gold.revenue_per_hour", "gold.top_products",
)  # fmt: skip


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """The project as in a clone of its own, with the environments that are there."""
    for name in ("conf", "expectations", "dags", "plugins", ".envs"):
        (tmp_path / name).symlink_to(ROOT / name)
    return tmp_path


def demo(clone: Path) -> str:
    command = [sys.executable, "-m", "service.demo"]
    done = subprocess.run(
        command, cwd=ROOT, env=weir_environ(WEIR_HOME=str(clone)), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def versions(clone: Path) -> dict[str, int]:
    return {str(log.parent): DeltaTable(log.parent).version() for log in (clone / "lake").rglob("_delta_log")}


def right_answers(clone: Path) -> dict[str, list[dict[str, Any]]]:
    """What the tables should hold had the defective delivery never landed."""
    shutil.copytree(clone / "landing", clone / "right", ignore=shutil.ignore_patterns("*-cents-*"))
    return true_answers(clone / "right")


def test_the_demo_holds_the_defective_delivery_ends_with_the_true_answers_and_run_again_changes_nothing(
    clone: Path,
) -> None:
    first = demo(clone)
    answers = right_answers(clone)

    for table in RETAIL:
        expected = [tuple(row.values()) for row in answers[table]]
        found = (
            polars.read_delta(str(clone / "lake" / "retail" / table.replace(".", "/")))
            .select(list(answers[table][0]))
            .rows()
        )
        assert sorted(found, key=repr) == sorted(expected, key=repr), table
    assert first.count("the DAG run succeeded") == 2
    assert first.count("the DAG run failed, as it should") == 1
    for rule in ("mean_amount_in_euros", "usual_amounts", "amounts_with_cents"):
        assert rule in first.partition("the DAG run failed")[0], f"the message does not name {rule}"
    seen = re.findall(r"(silver.orders|gold.revenue_per_hour) +version (\d+), and (\d+) before", first)
    assert [table for table, now, before in seen if now == before] == [
        "silver.orders",
        "gold.revenue_per_hour",
    ]
    assert not re.search(r"[+-][\d,]+ missing", first)
    assert (clone / "reports" / "retail" / "index.html").is_file()

    before = versions(clone)
    again = demo(clone)
    assert again.count("nothing to do") == 1
    assert versions(clone) == before
