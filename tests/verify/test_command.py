"""`weir verify` as a person types it, where no Spark is needed."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.verify.result import shown
from tests.conftest import ROOT


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {
        "WEIR_HOME": str(ROOT),
        "WEIR_LAKE": str(tmp_path / "lake"),
        "WEIR_LANDING": str(tmp_path / "landing"),
        "COLUMNS": "160",
    }


def test_help_shows_an_example_and_the_exit_codes(environ: dict[str, str]) -> None:
    done = CliRunner().invoke(app, ["verify", "--help"], env=environ)

    assert done.exit_code == 0
    assert "weir verify retail --select silver.orders --rows 20" in done.stdout
    assert "weir verify retail --files" in done.stdout
    assert "1 tables differ" in done.stdout


def test_a_lake_with_nothing_in_it_stays_as_it_is(environ: dict[str, str], tmp_path: Path) -> None:
    plain = CliRunner().invoke(app, ["verify", "retail"], env=environ)
    as_json = CliRunner().invoke(app, ["verify", "retail", "--json"], env=environ)

    assert (plain.exit_code, as_json.exit_code) == (3, 3)
    assert "retail: nothing to verify: there is no table of retail" in plain.stdout
    result = json.loads(as_json.stdout)
    assert (result["status"], result["exit_code"], result["tables"]) == ("nothing_to_do", 3, [])
    assert not (tmp_path / "lake").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("retial",), "did you mean 'retail'"),
        (("retail", "--select", "silver.order"), "did you mean 'silver.orders'"),
        (("retail", "--select", "bronze.orders"), "bronze is what tables are verified with"),
        (("retail", "--profile", "locl"), "did you mean 'local'"),
        (("retail", "--files", "--select", "bronze.order"), "did you mean 'bronze.orders'"),
        (("retail", "--files", "--select", "silver.orders"), "'silver.orders' is no bronze table of files"),
    ],
)
def test_what_is_not_there_is_refused(environ: dict[str, str], arguments: tuple[str, ...], said: str) -> None:
    done = CliRunner().invoke(app, ["verify", *arguments], env=environ)

    assert (done.exit_code, done.stdout) == (2, "")
    assert said in done.stderr


def test_values_are_shown_on_one_short_line() -> None:
    assert [shown(None, True), shown("a\nb", True), shown("12.50", False)] == ["NULL", "'a\\nb'", "12.50"]
    assert len(shown("x" * 500, True)) == 80
