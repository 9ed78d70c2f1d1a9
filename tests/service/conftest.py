"""A project in a temporary folder, with this repository's Airflow or with one that is a script."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_jobs.service.stop import stop_service

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fake_project(tmp_path: Path) -> Path:
    """Its `airflow` has a database at once and a scheduler that ends; the others do nothing, and wait in a child of their own."""
    command = tmp_path / ".envs" / "airflow" / "bin" / "airflow"
    command.parent.mkdir(parents=True)
    scheduler = 'if [ "$1" = scheduler ]; then echo "no such executor" >&2; exit 1; fi'
    command.write_text(f'#!/bin/sh\n[ "$1" = db ] && exit 0\n{scheduler}\nsetsid sleep 3600\n', encoding="utf-8")
    command.chmod(0o755)
    return tmp_path


@pytest.fixture(scope="module")
def real_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The shipped plugins and pipelines and one more DAG, with a home of its own; what a failed test leaves running is ended."""
    root = tmp_path_factory.mktemp("service")
    for folder in ("plugins", "conf", "expectations", ".envs"):
        (root / folder).symlink_to(ROOT / folder)
    (root / "dags").mkdir()
    for file in [*(ROOT / "dags").glob("*.py"), Path(__file__).with_name("busy_dag.py")]:
        (root / "dags" / file.name).symlink_to(file)
    yield root
    stop_service(root, print, grace_seconds=5)
