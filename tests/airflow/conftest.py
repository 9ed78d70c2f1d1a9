"""Airflow as its own environment has it, started by subprocess, with a database in a temporary home."""

import os
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from service.demo.airflow import Airflow, airflow_environ, prepare_database

ROOT = Path(__file__).resolve().parents[2]
AIRFLOW_PYTHON = ROOT / ".envs" / "airflow" / "bin" / "python"

PIPELINE = """
pipeline: {name}
description: Readings.
owner: somebody
schedule: "{schedule}"
tasks: {tasks}
doc: Read *daily*.
tags: [meters]
timeout: 2 hours
{deadline}
retries: 1
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
{sinks}
"""
SINKS = "sinks: {look: {from: silver.readings, to: console, mode: append}}"

AFTER = """
pipeline: after
schedule: {on: [by_pipeline.silver.readings, by_layer.gold.newest]}
gold:
  per_day: {from: by_pipeline.silver.readings, window: {size: 1 day}, measures: {readings: count(*)}}
"""

PIPELINES = [
    ("by_pipeline", "pipeline", "*/5 * * * *"),
    ("by_layer", "layer", "*/5 * * * *"),
    ("by_table", "table", "*/5 * * * *"),
    ("idle", "pipeline", "@daily"),
    ("holding", "pipeline", "@daily"),
    ("mistyped", "tabel", "@daily"),
    ("whenever", "layer", "now and then"),
]


@pytest.fixture(scope="session")
def fake_weir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    command = tmp_path_factory.mktemp("bin") / "weir"
    command.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("fake_weir.py")}" "$@"\n',
        encoding="utf-8",
    )
    command.chmod(0o755)
    return command


@pytest.fixture(scope="session")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project with this repository's DAGs: one pipeline for each kind of tasks, one that follows others,
    one with a typing error, one with a bad schedule; and an expectation file with a typing error.
    """
    root = tmp_path_factory.mktemp("project")
    for folder in ("dags", "plugins", ".envs"):
        (root / folder).symlink_to(ROOT / folder)
    pipelines = root / "conf" / "pipelines"
    pipelines.mkdir(parents=True)
    gone = f"{datetime.now(UTC) - timedelta(minutes=20):%M %H} * * *"
    (root / "conf" / "lakehouse.yml").write_text(
        f"landing: landing\nlake: lake\nmaintenance: {gone}\n", encoding="utf-8"
    )
    for name, tasks, schedule in PIPELINES:
        # `airflow dags test`, which runs some of the others, cannot end a run that has a deadline (3.3.2).
        deadline = "deadline: 1 hour" if name == "by_pipeline" else ""
        (pipelines / f"{name}.yml").write_text(
            PIPELINE.format(
                name=name,
                tasks=tasks,
                schedule=schedule,
                deadline=deadline,
                sinks=SINKS if name in ("by_layer", "by_table") else "",
            ),
            encoding="utf-8",
        )
    (pipelines / "after.yml").write_text(AFTER, encoding="utf-8")
    expectations = root / "expectations" / "by_layer" / "silver.readings.yml"
    expectations.parent.mkdir(parents=True)
    expectations.write_text(
        "expectations:\n  kwh_is_there: {kind: expect_column_values_to_not_be_null}\n", encoding="utf-8"
    )
    return root


@pytest.fixture(scope="session")
def airflow(project: Path, fake_weir: Path) -> Airflow:
    """The project's Airflow with its database; tasks run the fake command."""
    prepared = Airflow(project, {**os.environ, "WEIR_COMMAND": str(fake_weir)})
    prepare_database(prepared)
    return prepared


def run_inside(
    airflow: Airflow, script: str, *arguments: str, settings: Mapping[str, str] | None = None
) -> str:
    """Runs a script of tests/airflow/inside with Airflow's Python and returns the last line it printed.
    `settings` are variables on top.
    """
    command = [str(AIRFLOW_PYTHON), str(Path(__file__).with_name("inside") / script), *arguments]
    environ = airflow_environ(airflow.root, airflow.environ) | dict(settings or {})
    ended = subprocess.run(command, env=environ, capture_output=True, text=True, timeout=120, check=False)
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-3000:]
    return ended.stdout.splitlines()[-1]
