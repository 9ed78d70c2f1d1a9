"""A file is read in one go: none of the program has more than 300 lines. What grows past that is two things."""

from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MOST_LINES = 300
FOLDERS = ("spark_jobs", "service", "dags", "plugins", "bench", "docker", "conf")


def too_long(folder: Path) -> dict[str, int]:
    lines = {
        path.relative_to(folder).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in sorted(folder.rglob("*.py"))
    }
    return {name: number for name, number in lines.items() if number > MOST_LINES}


@pytest.mark.parametrize("folder", FOLDERS)
def test_no_file_has_more_than_300_lines(folder: str) -> None:
    assert too_long(ROOT / folder) == {}


def test_a_file_that_is_too_long_is_found(tmp_path: Path) -> None:
    (tmp_path / "long.py").write_text("x = 1\n" * 301)
    (tmp_path / "short.py").write_text("x = 1\n" * 300)

    assert too_long(tmp_path) == {"long.py": 301}
