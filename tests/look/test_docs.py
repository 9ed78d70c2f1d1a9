"""docs/look.md: its commands are about tables of the shipped pipelines, and are understood."""

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "look.md"
COMMANDS = [
    line
    for block in re.findall(r"^```\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
    if line.startswith("weir ")
]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_is_understood(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(ROOT))
    monkeypatch.setenv("WEIR_LAKE", str(tmp_path))

    done = CliRunner().invoke(app, shlex.split(command)[1:], catch_exceptions=False)

    is_list = command == "weir show"
    assert done.exit_code == (0 if is_list else 3), done.stderr


def test_the_page_shows_each_of_the_commands() -> None:
    assert {command.split()[1] for command in COMMANDS} == {"query", "show", "diff"}
