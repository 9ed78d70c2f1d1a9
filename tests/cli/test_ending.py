"""What functions of the user's print does not come between a program and the result that it reads."""

import json
import os
from typing import Any

import pytest

from spark_jobs.cli import run as run_module
from spark_jobs.cli.ending import end
from spark_jobs.cli.run import end_run, run_command
from spark_jobs.run.result import RunResult, Status
from tests.conftest import ROOT, Workshop

PIPELINE = (
    "pipeline: shop\nsources: {orders: {format: json, path: orders}}\nsilver: {orders: {from: orders,"
    " columns: {id: bigint}}}\n"
)


def test_with_json_standard_output_is_the_result_alone(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    monkeypatch.setenv("WEIR_HOME", str(idle_workshop.root))

    def run_and_print(*_: Any, **__: Any) -> RunResult:
        print("half a line of a hook", end="")
        os.write(1, b"; of a program that it started")
        return RunResult("shop", Status.OK, "done")

    monkeypatch.setattr(run_module, "run_pipeline", run_and_print)

    code = run_command("shop", (), None, None, None, as_json=True)
    told, aside = capfd.readouterr()
    run_command("shop", (), None, None, None, as_json=False)
    plain, _ = capfd.readouterr()

    assert (code, json.loads(told)["message"]) == (0, "done")
    assert "half a line of a hook" in aside
    assert "of a program" in aside
    assert "half a line of a hook" in plain


def test_a_decision_that_changes_no_table_has_no_totals(capfd: pytest.CaptureFixture[str]) -> None:
    end_run(RunResult("shop", Status.OK, "silver.orders stays blocked"), as_json=False)

    assert capfd.readouterr().out == "shop: ok: silver.orders stays blocked\n"


@pytest.mark.parametrize(
    ("code", "as_json", "out", "err"),
    [
        (0, False, "done\n", ""),
        (3, False, "done\n", ""),
        (1, False, "", "done\n"),
        (0, True, '{"status": "x"}\n', "done\n"),
        (2, True, '{"status": "x"}\n', "done\n"),
    ],
)
def test_a_command_ends_with_its_line_and_its_result(
    capfd: pytest.CaptureFixture[str], code: int, as_json: bool, out: str, err: str
) -> None:
    assert end(code, "done", {"status": "x"}, as_json=as_json) == code
    assert capfd.readouterr() == (out, err)


def test_each_command_leaves_its_end_to_one_place() -> None:
    """Those with several lines of their own print them themselves, and the result with them."""
    with_tables = {
        "account",
        "app",
        "check",
        "diff",
        "doctor",
        "maintain",
        "quarantine_list",
        "query",
        "report",
        "show",
        "state",
        "status",
        "stream",
    }
    with_tables |= {"driver", "ending", "group"}
    printing = {
        file.stem
        for file in (ROOT / "spark_jobs" / "cli").glob("*.py")
        if "json.dumps(" in file.read_text(encoding="utf-8")
    }

    assert printing <= with_tables
