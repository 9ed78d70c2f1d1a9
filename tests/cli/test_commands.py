"""The `weir` command as a person types it. None of this starts Spark."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, weir_environ

pytestmark = pytest.mark.system

Weir = Callable[..., subprocess.CompletedProcess[str]]
OF_TABLES = (
    "run",
    "plan",
    "account",
    "report",
    "release",
    "set-aside",
    "quarantine",
    "rebuild",
    "verify",
    "take",
    "close",
)
COMMANDS = (*OF_TABLES, "check", "schema", "sample", "setup")


@pytest.fixture
def weir(tmp_path: Path) -> Weir:
    """The command over the shipped configuration, with a lake and a landing zone of the test's own, and a
    Java that must not be started.
    """
    java = tmp_path / "no_java" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(f"#!/bin/sh\ntouch {tmp_path / 'java_was_started'}\nexit 1\n")
    java.chmod(0o755)

    def run(*arguments: str, home: Path = ROOT) -> subprocess.CompletedProcess[str]:
        environ = weir_environ(
            WEIR_HOME=str(home),
            WEIR_LAKE=str(tmp_path / "lake"),
            WEIR_LANDING=str(tmp_path / "landing"),
            JAVA_HOME=str(java.parents[1]),
            PATH=f"{java.parent}:{os.environ['PATH']}",
            COLUMNS="160",
            PYTHONPATH=str(ROOT),
        )
        command = [sys.executable, "-m", "spark_jobs.cli", *arguments]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=120, env=environ, cwd=tmp_path, check=False
        )
        assert not (tmp_path / "java_was_started").exists()
        assert "Traceback" not in done.stderr
        return done

    return run


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A project with one pipeline, which has two mistakes."""
    folder = tmp_path / "home" / "conf"
    (folder / "pipelines").mkdir(parents=True)
    (folder / "profiles").mkdir()
    (folder / "profiles" / "local.yml").write_text((ROOT / "conf" / "profiles" / "local.yml").read_text())
    (folder / "lakehouse.yml").write_text("landing: landing\nlake: lake\nprofile: local\n")
    (folder / "pipelines" / "shop.yml").write_text(
        "pipeline: shop\nsources:\n  orders: {format: jsn, path: orders}\nsilver:\n  orders: {from: orders,"
        " columns: {id: bigin}}\n"
    )
    return folder.parent


def test_help_lists_the_commands_and_each_shows_an_example(weir: Weir) -> None:
    top = weir("--help")

    assert top.returncode == 0
    assert [name for name in COMMANDS if name not in top.stdout] == []
    for name in COMMANDS:
        one = weir(name, "--help")
        assert (one.returncode, f"Example: weir {name}" in one.stdout) == (0, True), one.stdout


def test_version_and_wrong_usage(weir: Weir) -> None:
    from spark_jobs import __version__

    assert weir("--version").stdout == f"weir {__version__}\n"
    assert weir("rnu").returncode == 2
    assert weir("run").returncode == 2
    assert weir("run", "retail", "--nosuch").returncode == 2


def test_check_finds_the_shipped_configuration_in_order(weir: Weir) -> None:
    plain, as_json = weir("check"), weir("check", "--json")

    assert (plain.returncode, plain.stderr) == (0, "")
    assert (as_json.returncode, json.loads(as_json.stdout)) == (0, {"problems": [], "warnings": []})


def test_check_names_every_problem_with_file_and_line(weir: Weir, home: Path) -> None:
    plain, as_json = weir("check", home=home), weir("check", "--json", home=home)

    assert (plain.returncode, as_json.returncode) == (2, 2)
    assert "conf/pipelines/shop.yml:3" in plain.stderr
    assert "conf/pipelines/shop.yml:5" in plain.stderr
    problems = json.loads(as_json.stdout)["problems"]
    assert [(problem["file"], problem["line"]) for problem in problems] == [
        ("conf/pipelines/shop.yml", 3),
        ("conf/pipelines/shop.yml", 5),
    ]
    assert all(problem["message"] for problem in problems)


def test_schema_is_json_that_knows_a_pipelines_keys(weir: Weir) -> None:
    done = weir("schema")

    assert done.returncode == 0
    schema = json.loads(done.stdout)
    assert {"pipeline", "sources", "dimensions", "silver", "gold"} <= set(schema["properties"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("retial",), "did you mean 'retail'"),
        (("retail", "--select", "silver.order"), "did you mean 'silver.orders'"),
        (("retail", "--layer", "sliver"), "did you mean 'silver'"),
        (("retail", "--profile", "locl"), "did you mean 'local'"),
    ],
)
def test_run_refuses_what_is_not_there(weir: Weir, arguments: tuple[str, ...], said: str) -> None:
    plain, as_json = weir("run", *arguments), weir("run", *arguments, "--json")

    assert (plain.returncode, plain.stdout) == (2, "")
    assert said in plain.stderr
    result = json.loads(as_json.stdout.splitlines()[-1])
    assert (as_json.returncode, result["status"], result["exit_code"], result["tables"]) == (
        2,
        "usage_error",
        2,
        [],
    )
    assert said in result["message"]
    assert "conf/" not in plain.stderr.replace("conf/profiles", ""), "no file has a part in it"


def test_run_refuses_a_configuration_with_problems(weir: Weir, home: Path) -> None:
    done = weir("run", "shop", home=home)

    assert done.returncode == 2
    assert "conf/pipelines/shop.yml:3" in done.stderr


def test_run_with_nothing_landed_says_so_without_java(weir: Weir, tmp_path: Path) -> None:
    plain, as_json = weir("run", "retail"), weir("run", "retail", "--json")

    assert plain.returncode == 3
    assert "nothing to do" in plain.stdout
    assert str(tmp_path / "landing" / "retail" / "orders") in plain.stdout
    assert len(as_json.stdout.splitlines()) == 1
    result = json.loads(as_json.stdout)
    assert (result["pipeline"], result["status"], result["exit_code"], result["run_id"]) == (
        "retail",
        "nothing_to_do",
        3,
        None,
    )


def test_plan_says_whether_there_is_work_without_java_and_without_a_trace(weir: Weir, tmp_path: Path) -> None:
    nothing, unknown = weir("plan", "retail"), weir("plan", "retial", "--json")
    landed = tmp_path / "landing" / "retail" / "orders" / "a.json"
    landed.parent.mkdir(parents=True)
    landed.write_text("{}\n")
    plain, as_json = weir("plan", "retail"), weir("plan", "retail", "--json")

    assert (nothing.returncode, unknown.returncode, plain.returncode, as_json.returncode) == (3, 2, 0, 0)
    assert f"retail: nothing to do: nothing new in {tmp_path}/landing/retail/orders" in nothing.stdout
    assert (json.loads(unknown.stdout)["status"], "did you mean 'retail'" in unknown.stderr) == (
        "usage_error",
        True,
    )
    assert plain.stdout.splitlines()[:2] == [
        "retail: work to do: 1 new file; 1 table due, 4 below",
        "  bronze.orders                1 new file, 3 bytes",
    ]
    result = json.loads(as_json.stdout)
    assert list(result) == ["pipeline", "status", "exit_code", "message", "reasons", "sources", "tables"]
    assert (result["status"], result["exit_code"], result["reasons"]) == (
        "work",
        0,
        ["bronze.orders: 1 new file, 3 bytes"],
    )
    assert result["sources"]["orders"] == {"new_files": 1, "new_bytes": 3, "waiting": 0, "new_messages": 0}
    assert result["tables"][1] == {"table": "silver.orders", "why": "below bronze.orders"}
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize("number", ["0", "100001", "x"])
def test_run_refuses_a_number_of_files_that_no_source_could_have(weir: Weir, number: str) -> None:
    refused = weir("run", "retail", "--files-per-batch", number)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "--files-per-batch" in refused.stderr


def test_account_before_any_run(weir: Weir) -> None:
    plain, as_json = weir("account", "retail"), weir("account", "retail", "--json")

    assert (plain.returncode, as_json.returncode) == (0, 0)
    assert "no row has entered yet; `weir run retail`" in plain.stdout
    tables = json.loads(as_json.stdout)["tables"]
    assert {table["table"]: (table["rows_in"], table["missing"], table["version"]) for table in tables}[
        "silver.orders"
    ] == (0, 0, None)
    assert weir("account", "retial").returncode == 2


def test_sample_writes_the_landing_zone(weir: Weir, tmp_path: Path) -> None:
    done = weir("sample", "--orders", "1000", "--json")

    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert summary["records"]["retail/orders"] >= 1000
    assert all(Path(file).is_file() for file in summary["files"])
    assert (tmp_path / "landing" / "retail" / "orders").is_dir()
    elsewhere = weir("sample", "--landing", str(tmp_path / "other"))
    assert (elsewhere.returncode, (tmp_path / "other" / "clickstream" / "clicks").is_dir()) == (0, True)
    assert weir("sample", "--orders", "5").returncode == 2
