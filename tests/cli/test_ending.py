"""What functions of the user's print does not come between a program and the result that it reads."""

import json
import os
from typing import Any

import pytest

from spark_jobs.cli import run as run_module
from spark_jobs.cli.run import print_result, run_command
from spark_jobs.run.result import RunResult, Status
from tests.conftest import Workshop

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
    print_result(RunResult("shop", Status.OK, "silver.orders stays blocked"), as_json=False)

    assert capfd.readouterr().out == "shop: ok: silver.orders stays blocked\n"
