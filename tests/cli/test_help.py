"""`weir --help`, in the groups of what people do, and what a shell is told when it completes a line."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.cli.group import COMPLETE, GROUPS
from tests.cli.test_usage import PIPELINE
from tests.conftest import Workshop, weir_environ

ROOT = Path(__file__).resolve().parents[2]
Complete = Callable[[str], list[str]]
SECONDS = 0.3
TIME = """
import json, os, sys
from spark_jobs.cli.app import app
try:
    app()
except SystemExit:
    print(json.dumps([sum(os.times()[:2]), sorted({"rich", "pydantic", "yaml", "deltalake", "duckdb"} & set(sys.modules))]))
"""


@pytest.fixture
def complete(idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> Complete:
    """What bash is told of a line whose last word is incomplete."""
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.write("conf/totals.sql", "SELECT count(*) AS orders FROM silver.orders\n")
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))

    def ask(line: str) -> list[str]:
        asked = {COMPLETE: "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        done = CliRunner().invoke(app, [], env=asked, prog_name="weir")
        assert (done.exit_code, done.stderr) == (0, "")
        return done.stdout.split()

    return ask


def test_every_command_stands_in_one_of_the_groups() -> None:
    said = CliRunner().invoke(app, ["--help"], prog_name="weir").stdout
    groups = re.split(r"^(\w+) \(.+\):$", said.partition("\nOptions:")[0], flags=re.MULTILINE)[1:]
    commands = {
        group: re.findall(r"^  ([a-z-]+)  ", text, re.MULTILINE)
        for group, text in zip(groups[::2], groups[1::2], strict=True)
    }

    registered = [
        command.name or command.callback.__name__ for command in app.registered_commands if command.callback
    ]
    assert list(commands) == list(GROUPS)
    assert sorted(name for names in commands.values() for name in names) == sorted(
        [*registered, "quarantine"]
    )
    assert all(command.rich_help_panel in GROUPS for command in app.registered_commands)
    assert "query" in commands["Look"]
    assert "release" in commands["Decide"]


@pytest.mark.system
def test_the_help_takes_less_than_the_blink_of_an_eye() -> None:
    """CPU time: how long it takes on a busy machine says nothing."""
    done = subprocess.run(
        [sys.executable, "-c", TIME, "--help"],
        env=weir_environ(),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, loaded = json.loads(done.stdout.splitlines()[-1])

    assert loaded == []
    assert seconds < SECONDS


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("weir ru", ["run"]),
        ("weir run s", ["shop"]),
        ("weir run x", []),
        ("weir status s", ["shop"]),
        ("weir run shop --sel", ["--select"]),
        ("weir run shop --select s", ["silver.orders"]),
        ("weir run shop --profile loc", ["local"]),
        ("weir release shop silver.", ["silver.orders"]),
        ("weir take shop ", ["orders"]),
        ("weir quarantine list shop silver.", ["silver.orders"]),
        ("weir show shop.s", ["shop.silver.orders"]),
        ("weir show shop.quarantine.", ["shop.quarantine.silver.orders"]),
        ("weir diff shop.g", ["shop.gold.totals"]),
    ],
)
def test_a_shell_completes_commands_options_pipelines_and_tables(
    complete: Complete, line: str, said: list[str]
) -> None:
    assert complete(line) == said


def test_of_a_project_with_a_mistake_nothing_is_proposed_and_nothing_said(
    complete: Complete, idle_workshop: Workshop
) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE.replace("bigint", "bigit"))

    assert complete("weir release shop s") == []
    assert complete("weir show shop.s") == []
    assert complete("weir run s") == ["shop"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_a_shell_asks_the_command(shell: str) -> None:
    done = CliRunner().invoke(app, ["completion", shell])

    assert done.exit_code == 0
    assert COMPLETE in done.stdout


def test_another_shell_is_refused() -> None:
    assert CliRunner().invoke(app, ["completion", "fush"]).exit_code == 2


@pytest.mark.system
def test_bash_takes_the_script_and_completes_by_it(tmp_path: Path) -> None:
    weir = tmp_path / "weir"
    weir.write_text(f'#!/bin/sh\nexec {sys.executable} -m spark_jobs.cli "$@"\n', encoding="utf-8")
    weir.chmod(0o755)
    script = 'source <(weir completion bash); COMP_WORDS=(weir sta); COMP_CWORD=1; _weir_completion weir; echo "${COMPREPLY[@]}"'

    done = subprocess.run(
        ["bash", "-c", script],
        env=weir_environ(PATH=f"{tmp_path}:{os.environ['PATH']}", PYTHONPATH=str(ROOT)),
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["status", "state"]
