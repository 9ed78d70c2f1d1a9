"""What a clone gets: no source file is hidden from git by a pattern that was meant for data."""

import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]
SOURCES = (
    "spark_jobs",
    "weir",
    "service",
    "dags",
    "plugins",
    "conf",
    "tests",
    "bench",
    "docs",
    "requirements",
)


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="not a git repository")
def test_no_source_file_is_ignored_by_git() -> None:
    command = ["git", "ls-files", "--others", "--ignored", "--exclude-standard", "--", *SOURCES]
    ignored = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    sources = [name for name in ignored if not name.startswith("bench/out/")]  # what benchmarks leave
    assert [
        name for name in sources if Path(name).suffix in {".py", ".yml", ".sql", ".md", ".txt", ".in"}
    ] == []
