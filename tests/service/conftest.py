"""A project in a temporary folder, with this repository's Airflow or with one that is a script."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from service.stop import stop_service

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def fake_project(tmp_path: Path) -> Path:
    """Its `airflow` has a database at once and a DAG processor that ends; the others do nothing, and wait in
    a child of their own.
    """
    command = tmp_path / ".envs" / "airflow" / "bin" / "airflow"
    command.parent.mkdir(parents=True)
    processor = 'if [ "$1" = dag-processor ]; then echo "no such bundle" >&2; exit 1; fi'
    command.write_text(
        f'#!/bin/sh\n[ "$1" = db ] && exit 0\n{processor}\nsetsid sleep 3600\n', encoding="utf-8"
    )
    command.chmod(0o755)
    return tmp_path


@pytest.fixture(scope="module")
def real_project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The shipped plugins and pipelines, two more DAGs and a `weir` that stands for the real one, with a home
    of its own. What a failed test leaves running is ended.
    """
    root = tmp_path_factory.mktemp("service")
    for folder in ("plugins", "conf", "expectations", ".envs"):
        (root / folder).symlink_to(ROOT / folder)
    (root / "dags").mkdir()
    for file in [*(ROOT / "dags").glob("*.py"), *Path(__file__).parent.glob("*_dag.py")]:
        (root / "dags" / file.name).symlink_to(file)
    command = root / "weir"
    command.write_text(
        f'#!/bin/sh\nexec "{sys.executable}" "{Path(__file__).with_name("fake_load.py")}" "$@"\n',
        encoding="utf-8",
    )
    command.chmod(0o755)
    yield root
    stop_service(root, print, grace_seconds=5)
