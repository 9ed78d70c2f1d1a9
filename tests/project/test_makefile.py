"""`make` alone is the table of contents, and stays short."""

import os
import re
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.system

ROOT = Path(__file__).resolve().parents[2]
# The suite itself runs in `make test`.
OUTSIDE_MAKE = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}


def test_make_alone_lists_every_target_with_a_line_about_it() -> None:
    listed = subprocess.run(
        ["make"], cwd=ROOT, env=OUTSIDE_MAKE, capture_output=True, text=True, check=True
    ).stdout.splitlines()

    targets = {line.split()[1] for line in listed}
    phony = re.search(r"^\.PHONY: (.+)$", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    assert phony is not None
    assert targets == set(phony[1].split())
    assert all(len(line.split()) > 3 for line in listed)
    assert len(listed) <= 10


def test_a_python_that_is_too_old_is_named(tmp_path: Path) -> None:
    old = tmp_path / "python3.9"
    old.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    old.chmod(0o755)
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements" / "uv.txt").touch()

    made = subprocess.run(
        ["make", "-f", str(ROOT / "Makefile"), f"PYTHON={old}", ".envs/uv/.ready"],
        cwd=tmp_path,
        env=OUTSIDE_MAKE,
        capture_output=True,
        text=True,
        check=False,
    )

    assert made.returncode != 0
    assert f"Weir needs Python 3.11 or newer, and '{old}' is not." in made.stderr
