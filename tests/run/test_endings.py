"""No way of ending looks like success: neither a function that ends the process, nor a JVM that is gone."""

import json
import subprocess
import sys
from typing import Any

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from tests.conftest import ROOT, Workshop, weir_environ

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders: {from: orders, columns: {id: bigint}}
gold:
  bad: {python: "hooks/shop.py:build", inputs: silver.orders}
sinks:
  partner: {from: silver.orders, to: python, function: "hooks/shop.py:send", mode: append}
"""
SEND = "def send(rows, batch):\n    {}\n"
BUILD = "def build(orders):\n    {}\n    return orders.select('id')\n"


def test_a_function_that_ends_the_process_fails_its_table_alone(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("orders/1.json", '{"id":1}\n')
    ways = [
        "import sys; sys.exit(0)",
        "import os; os._exit(0)",
        "raise KeyboardInterrupt",
        "raise GeneratorExit",
    ]
    results = []
    for way in ways:
        workshop.write("conf/hooks/shop.py", BUILD.format(way) + SEND.format(way))
        results.append(workshop.run("shop"))

    ledger = Ledger(Lake(workshop.project.lake, "shop"))
    ends = [row["status"] for row in ledger.rows("runs") if row["event"] == "ended"]
    assert [result.exit_code for result in results] == [1] * len(ways)
    assert ends == ["failed"] * len(ways)
    for result in results:
        failed = {run.table: str(run.error) for run in result.tables if run.state == "failed"}
        assert set(failed) == {"gold.bad", "sink.partner"}
        assert all("tried to end the process" in error for error in failed.values())
    assert workshop.rows("shop.silver.orders", "id") == [(1,)]


@pytest.mark.system
def test_a_jvm_that_is_gone_is_one_sentence_in_the_terminal_the_ledger_and_the_report(
    idle_workshop: Workshop,
) -> None:
    workshop = idle_workshop
    workshop.write("conf/pipelines/shop.yml", PIPELINE.partition("sinks:")[0])
    workshop.write(
        "conf/hooks/shop.py",
        BUILD.format("from pyspark import SparkContext; SparkContext._gateway.proc.kill()"),
    )
    workshop.write("conf/lakehouse.yml", "landing: landing\nlake: lake\nkeep_reports: 1\n")
    workshop.land("orders/1.json", '{"id":1}\n')
    (workshop.root / ".envs").symlink_to(ROOT / ".envs")
    (workshop.root / "conf" / "log4j2.properties").write_bytes(
        (ROOT / "conf" / "log4j2.properties").read_bytes()
    )

    done = _weir(workshop, "run", "shop", "--json")

    told = json.loads(done.stdout)
    sentence = (
        "Spark's process has ended while at work on gold.bad (complete batch 0): it was killed (SIGKILL)"
    )
    rows = [
        row for row in Ledger(Lake(workshop.project.lake, "shop")).rows("runs") if row["event"] == "ended"
    ]
    assert (done.returncode, told["status"]) == (1, "failed")
    assert sentence in told["message"]
    assert f"log: {workshop.root / 'logs' / 'shop'}" in told["message"]
    assert [sentence in row["message"] for row in rows] == [True]
    assert "Traceback" not in done.stderr
    assert "Connection" not in done.stderr
    assert "process has ended" in (workshop.root / "reports" / told["report"]).read_text()

    verified = _weir(workshop, "verify", "shop")

    assert verified.returncode == 1
    assert "Spark's process has ended while at work on gold.bad: it was killed (SIGKILL)" in verified.stderr
    assert "Connection" not in verified.stderr


def _weir(workshop: Workshop, *arguments: str) -> subprocess.CompletedProcess[Any]:
    command = [sys.executable, "-m", "spark_jobs.cli", *arguments]
    environ = weir_environ(WEIR_HOME=str(workshop.root))
    return subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
