"""A run that is asked to stop ends after its batch, one that is asked twice at once, one without its parent by itself; the next goes on."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.run.result import EXIT_CODES, Status
from spark_jobs.run.stopping import NOTICE
from tests.conftest import ROOT, Workshop, weir_environ
from tests.faults import shop

Expected = dict[str, list[str]]
WEIR = [sys.executable, "-m", "spark_jobs.cli"]
# Says the process id of the run that it starts, and waits to be killed.
STARTER = """
import os, subprocess, sys, time
run = subprocess.Popen(sys.argv[1:], env={**os.environ, "WEIR_PARENT_PID": str(os.getpid())})
print(run.pid, flush=True)
time.sleep(3600)
"""


def start(workshop: Workshop, point: str, *before: str) -> "subprocess.Popen[str]":
    """A run that stalls at a point, and the JVM with it in one session, as on a terminal."""
    environ = weir_environ(WEIR_HOME=str(workshop.root), PYTHONPATH=str(ROOT))
    environ |= {"WEIR_FAILPOINTS": f"{point}=stall", "WEIR_FAILPOINTS_GO": str(workshop.root / "go")}
    (workshop.root / "go").unlink(missing_ok=True)
    return subprocess.Popen(
        [*before, *WEIR, "run", "shop", "--json"],
        env=environ,
        cwd=workshop.root,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def wait_for(run: "subprocess.Popen[str]", words: str) -> None:
    assert run.stderr is not None
    heard = []
    for line in run.stderr:
        heard.append(line)
        if words in line:
            return
    raise AssertionError(f"it ended without saying {words!r}: {''.join(heard)}")


def ends_of_runs(workshop: Workshop) -> list[dict[str, Any]]:
    rows = Ledger(Lake(workshop.project.lake, "shop")).rows("runs")
    return sorted((row for row in rows if row["event"] == "ended"), key=lambda row: row["at"])


def bronze_batches(workshop: Workshop) -> int:
    return len(Ledger(Lake(workshop.project.lake, "shop")).batches("bronze.orders", 1))


@pytest.mark.spark
def test_runs_that_are_stopped_one_after_the_other_finish_their_batches_and_the_last_comes_to_the_same_tables(
    damaged_shop: Workshop, expected: Expected
) -> None:
    go, batches = damaged_shop.root / "go", bronze_batches(damaged_shop)

    # Ctrl-C on a terminal, or Airflow: the signal goes to the whole group. There are two batches of orders to take in.
    first = start(damaged_shop, "marker.before:bronze.orders")
    wait_for(first, "stalled at marker.before")
    os.killpg(first.pid, signal.SIGTERM)
    wait_for(first, NOTICE)
    go.touch()
    said, _ = first.communicate(timeout=300)
    result = json.loads(said.splitlines()[-1])
    assert (first.returncode, result["exit_code"], result["status"]) == (6, 6, "stopped")
    assert result["message"].startswith("stopped by SIGTERM: ")
    assert result["message"].endswith("run again to go on")
    states = {table["table"]: table["state"] for table in result["tables"]}
    assert (states["bronze.orders"], states["silver.orders"], states["gold.per_hour"]) == ("stopped", "not_reached", "not_reached")
    assert bronze_batches(damaged_shop) == batches + 1
    assert [row["status"] for row in ends_of_runs(damaged_shop)][-1] == "stopped"

    # The task runner is killed. The run notices, and ends after the batch of the silver table.
    starter = start(damaged_shop, "marker.before:silver.orders", sys.executable, "-c", STARTER)
    assert starter.stdout is not None
    orphan = int(starter.stdout.readline())
    wait_for(starter, "stalled at marker.before")
    ending = os.pidfd_open(orphan)
    starter.kill()
    wait_for(starter, NOTICE)
    go.touch()
    assert select.select([ending], [], [], 300)[0]
    starter.communicate(timeout=60)
    last = ends_of_runs(damaged_shop)[-1]
    assert (last["status"], last["message"].partition(":")[0]) == (
        "stopped",
        f"stopped by the end of process {starter.pid}, which had started it",
    )
    assert bronze_batches(damaged_shop) == batches + 2

    # Two signals: nothing is waited for, and the next run finds a batch that was cut.
    third = start(damaged_shop, "write.after:gold.per_hour")
    wait_for(third, "stalled at write.after")
    third.send_signal(signal.SIGINT)
    wait_for(third, NOTICE)
    third.send_signal(signal.SIGINT)
    third.communicate(timeout=60)
    assert third.returncode == 128 + signal.SIGINT

    result = shop.run_here_when_free(damaged_shop)
    assert result.status is Status.OK, result.message
    shop.assert_converged(damaged_shop, expected)


def test_a_run_that_has_not_started_spark_stops_at_once(idle_workshop: Workshop) -> None:
    shop.write_pipeline(idle_workshop)
    shop.land_first(idle_workshop)
    run = start(idle_workshop, "arrivals.before")
    wait_for(run, "stalled at arrivals.before")

    run.send_signal(signal.SIGINT)

    said, _ = run.communicate(timeout=60)
    result = json.loads(said.splitlines()[-1])
    assert (run.returncode, result["status"]) == (EXIT_CODES[Status.STOPPED], "stopped")
    assert result["message"] == "stopped by SIGINT: nothing was begun; what is published stays: run again to go on"
    assert not Path(idle_workshop.root, "lake/shop/_weir/ledger/runs").exists()
