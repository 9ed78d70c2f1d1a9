"""A run that is asked to stop ends after its batch, one that is asked twice at once, one without its parent
by itself; the next goes on.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.selection import Selection
from spark_jobs.run import stopping
from spark_jobs.run.decisions import apply_request, decide
from spark_jobs.run.order import QuarantineRequest
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import EXIT_CODES, RunResult, Status
from spark_jobs.run.stopping import NOTICE
from tests.conftest import PROFILE, ROOT, Workshop, weir_environ
from tests.faults import shop
from tests.run.test_maintain import age

pytestmark = pytest.mark.system

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


def test_runs_that_are_stopped_one_after_the_other_finish_their_batches_and_the_last_comes_to_the_same_tables(
    damaged_shop: Workshop, expected: Expected
) -> None:
    go, batches = damaged_shop.root / "go", bronze_batches(damaged_shop)

    # Ctrl-C on a terminal, or Airflow: the signal goes to the whole group. There are two batches of orders to
    # take in: the files that were copied with the lake, and so were touched, are none.
    first = start(damaged_shop, "marker.before:bronze.orders")
    wait_for(first, "stalled at marker.before")
    os.killpg(first.pid, signal.SIGTERM)
    wait_for(first, NOTICE)
    go.touch()
    said, _ = first.communicate(timeout=300)
    result = json.loads(said.splitlines()[-1])
    assert (first.returncode, result["exit_code"], result["status"]) == (6, 6, "stopped")
    assert result["message"].startswith("stopped by SIGTERM: ")
    assert result["message"].endswith("run again to resume")
    states = {table["table"]: table["state"] for table in result["tables"]}
    assert (states["bronze.orders"], states["silver.orders"], states["gold.per_hour"]) == (
        "stopped",
        "not_reached",
        "not_reached",
    )
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


@contextmanager
def stopped_at(point: str, table: str) -> Iterator[None]:
    """What runs in this process is asked to stop when it comes to this point."""

    def ask(reached: str, of_table: str, step: str) -> None:
        if (reached, of_table) == (point, table) and stopping.asked_by() is None:
            os.kill(os.getpid(), signal.SIGTERM)
            while stopping.asked_by() is None:  # the main thread hears it
                time.sleep(0.01)

    with stopping.listening({}), failpoints.deciding(ask):
        yield
        assert stopping.asked_by() == "SIGTERM", f"it never came to {point} of {table}"


def test_a_rebuild_that_is_stopped_replaces_nothing_and_one_that_is_replacing_tables_ends_it(
    loaded_shop: Workshop, expected: Expected
) -> None:
    standing = data_versions(loaded_shop)

    with stopped_at("marker.before", "silver.lines"):
        stopped = rebuild_tables(
            loaded_shop.project, "shop", PROFILE, ["silver.lines"], start=loaded_shop._start
        )

    assert (stopped.status, stopped.exit_code) == (Status.STOPPED, 6)
    assert stopped.message == "stopped by SIGTERM; nothing was replaced: run it again, it starts over"
    assert data_versions(loaded_shop) == standing
    shop.assert_converged(loaded_shop, expected)

    with stopped_at("swap.before", "silver.lines"):
        ended = rebuild_tables(
            loaded_shop.project, "shop", PROFILE, ["silver.lines"], start=loaded_shop._start
        )

    assert ended.status is Status.OK, "tables that are being replaced do not stay half old and half new"
    shop.assert_converged(loaded_shop, expected)


def data_versions(workshop: Workshop) -> dict[str, int]:
    return {table: version for table, version in workshop.versions().items() if "_weir" not in table}


def test_a_release_and_a_replay_that_are_stopped_finish_their_batch_and_the_next_run_goes_on(
    loaded_shop: Workshop,
) -> None:
    rules, block = shop.RULES["silver.orders"], "}\n    on_fail: block"
    loaded_shop.write("expectations/shop/silver.orders.yml", rules.replace(f"5000{block}", f"200{block}"))
    loaded_shop.land("orders/9.json", shop.order(20, 2, 1, "15:10", cents=300))
    assert loaded_shop.run("shop").status is Status.BLOCKED

    with stopped_at("marker.before", "silver.orders"):
        released = decide(
            loaded_shop.project,
            "shop",
            PROFILE,
            "silver.orders",
            "release",
            "ada",
            "right",
            start=loaded_shop._start,
        )

    assert (released.status, states(released)["gold.per_hour"]) == (Status.STOPPED, "not_reached")
    assert 20 in orders(loaded_shop)
    assert loaded_shop.run("shop").status is Status.OK
    assert_whole(loaded_shop)

    loaded_shop.write(
        "expectations/shop/silver.orders.yml", rules.replace("max_value: 5000", "max_value: 10000")
    )
    quarantine_request = QuarantineRequest(
        "silver.orders", "replay", Selection(rules=("usual_price",)), "ada", "the rule was wrong"
    )
    with stopped_at("marker.before", "silver.orders"):
        replayed = apply_request(
            loaded_shop.project, "shop", PROFILE, quarantine_request, start=loaded_shop._start
        )

    assert (replayed.status, states(replayed)["gold.per_hour"]) == (Status.STOPPED, "not_reached")
    assert 12 in orders(loaded_shop)
    assert loaded_shop.run("shop").status is Status.OK
    assert_whole(loaded_shop)


def states(result: RunResult) -> dict[str, str]:
    return {table.table: table.state.value for table in result.tables}


def orders(workshop: Workshop) -> list[int]:
    return [number for (number,) in workshop.rows("shop.silver.orders", "id")]


def assert_whole(workshop: Workshop) -> None:
    """Each order once, all of them in gold, none missing, and nothing left to do."""
    found = orders(workshop)
    assert (
        len(found)
        == len(set(found))
        == sum(count for (count,) in workshop.rows("shop.gold.per_hour", "order_count"))
    )
    assert shop.missing_rows(workshop) == {}
    assert Workshop(workshop.root, None).run("shop").status is Status.NOTHING_TO_DO


def test_upkeep_that_is_killed_again_and_again_changes_no_row(
    loaded_shop: Workshop, expected: Expected
) -> None:
    age(loaded_shop.root / "lake")  # there is something to delete as well

    # Files are put together, or deleted, and what follows from that is not written down yet, or only for
    # some.
    for point in (
        "consumed.before:dimension.people",
        "consumed.after:silver.orders",
        "consumed.before:gold.per_hour",
    ):
        assert (
            shop.end_weir(shop.start_weir(loaded_shop, "maintain", "shop", armed=f"{point}=kill"))[0]
            == -signal.SIGKILL
        ), point

    assert shop.end_weir(shop.start_weir(loaded_shop, "maintain", "shop"))[0] in (0, 3)
    assert loaded_shop.run_beside_others("shop").status in (Status.OK, Status.NOTHING_TO_DO)
    shop.assert_converged(loaded_shop, expected)


def test_a_run_that_has_not_started_spark_stops_at_once(idle_workshop: Workshop) -> None:
    shop.write_pipeline(idle_workshop)
    shop.land_first(idle_workshop)
    run = start(idle_workshop, "arrivals.before")
    wait_for(run, "stalled at arrivals.before")

    run.send_signal(signal.SIGINT)

    said, _ = run.communicate(timeout=60)
    result = json.loads(said.splitlines()[-1])
    assert (run.returncode, result["status"]) == (EXIT_CODES[Status.STOPPED], "stopped")
    assert (
        result["message"]
        == "stopped by SIGINT: nothing was begun; what is published stays: run again to resume"
    )
    assert not Path(idle_workshop.root, "lake/shop/_weir/ledger/runs").exists()
