"""Airflow as its own environment has it, started by subprocess, with a database in a temporary home."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.demo.airflow import Airflow, airflow_environ, prepare_database

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW_PYTHON = ROOT / ".envs" / "airflow" / "bin" / "python"

PIPELINE = """
pipeline: {name}
description: Readings.
owner: somebody
schedule: "{schedule}"
tasks: {tasks}
sources:
  readings: {{format: csv, path: readings}}
  places: {{format: csv, path: places}}
dimensions:
  places: {{from: places, key: place, columns: {{place: string, at: timestamp}}, sequence_by: at}}
silver:
  readings: {{from: readings, columns: {{place: string, at: timestamp}}, event_time: at}}
gold:
  per_hour: {{from: silver.readings, window: {{size: 1 hour}}, measures: {{readings: count(*)}}}}
  all_time: {{sql: sql/all_time.sql}}
  newest: {{sql: sql/newest.sql}}
"""


@pytest.fixture(scope="session")
def fake_weir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    command = tmp_path_factory.mktemp("bin") / "weir"
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("fake_weir.py")}" "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    return command


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of its own with this repository's DAGs: one pipeline for each kind of tasks, one with a typing error, one with a bad schedule."""
    root = tmp_path_factory.mktemp("project")
    for folder in ("dags", "plugins", ".envs"):
        (root / folder).symlink_to(ROOT / folder)
    pipelines = root / "conf" / "pipelines"
    pipelines.mkdir(parents=True)
    for tasks in ("pipeline", "layer", "table"):
        (pipelines / f"by_{tasks}.yml").write_text(PIPELINE.format(name=f"by_{tasks}", tasks=tasks, schedule="*/5 * * * *"), encoding="utf-8")
    (pipelines / "mistyped.yml").write_text(PIPELINE.format(name="mistyped", tasks="tabel", schedule="@daily"), encoding="utf-8")
    (pipelines / "whenever.yml").write_text(PIPELINE.format(name="whenever", tasks="layer", schedule="now and then"), encoding="utf-8")
    return root


@pytest.fixture(scope="session")
def airflow(project: Path, fake_weir: Path) -> Iterator[Airflow]:
    """The project's Airflow with its database; tasks run the fake command."""
    prepared = Airflow(project, {**os.environ, "WEIR_COMMAND": str(fake_weir)})
    prepare_database(prepared)
    yield prepared


def run_inside(airflow: Airflow, script: str, *arguments: str) -> str:
    """Runs a script of tests/airflow/inside with Airflow's Python and returns the last line it printed."""
    command = [str(AIRFLOW_PYTHON), str(Path(__file__).with_name("inside") / script), *arguments]
    environ = airflow_environ(airflow.root, airflow.environ)
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return ended.stdout.splitlines()[-1]
