"""Small projects for benchmarks: a folder with a configuration of its own, on this project's environments."""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from bench.measure import ROOT, Measured, Process, measure

LAKEHOUSE = "landing: landing\nlake: lake\nprofile: local\n"


def write_project(home: Path, files: Mapping[str, str]) -> None:
    """Writes the files, by their paths in the project, and what every project needs."""
    needed = {
        "conf/lakehouse.yml": LAKEHOUSE,
        **{path: _shipped(path) for path in ("conf/log4j2.properties", "conf/profiles/local.yml")},
    }
    for path, text in {**needed, **files}.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(text, encoding="utf-8")
    (home / ".envs").symlink_to(ROOT / ".envs")


def run_project(
    home: Path,
    pipeline: str,
    landing: Path | None = None,
    watch: Callable[[Sequence[Process]], None] | None = None,
    **environ: str,
) -> Measured:
    """Runs a pipeline of the project, over files of its own unless they lie elsewhere."""
    places = {
        "WEIR_HOME": str(home),
        "WEIR_LANDING": str(landing or home / "landing"),
        "PYTHONPATH": str(ROOT),
    }
    return measure(
        [sys.executable, "-m", "spark_jobs.cli", "run", pipeline], (0,), watch, **places, **environ
    )


def _shipped(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")
