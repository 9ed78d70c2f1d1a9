"""Two processes at one pipeline: the second is refused while anything of the first lives, and one that has
lost its lease stops.
"""

import os
import signal
import socket
import subprocess
from pathlib import Path

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run.result import EXIT_CODES, Status
from tests.conftest import Workshop
from tests.faults import shop
from tests.faults.conftest import Shops

pytestmark = pytest.mark.system

Expected = dict[str, list[str]]
LEASED = EXIT_CODES[Status.LEASED]


def start_stalled(workshop: Workshop, point: str, go: Path) -> "subprocess.Popen[str]":
    """A run that waits at the point until the file `go` is there."""
    process = shop.start_weir(workshop, "run", "shop", armed=f"{point}=stall", go=go)
    assert process.stderr is not None
    where = "stalled at {} of {}".format(*point.split(":"))
    assert any(where in line for line in process.stderr), f"it ended without coming to {point}"
    return process


def jvm_of(process: "subprocess.Popen[str]") -> int:
    """The process id of the JVM that a run has started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    found = [int(child) for child in children if Path(f"/proc/{child}/comm").read_text().strip() == "java"]
    assert len(found) == 1, children
    return found[0]


def test_a_run_beside_a_living_one_is_refused_and_one_whose_lease_was_taken_from_it_stops_before_its_next_write(
    damaged_shop: Workshop, expected: Expected
) -> None:
    """A writer stalls, then stops moving. Somebody takes it for dead, removes its lease and runs again; then
    it is woken.
    """
    go = damaged_shop.root / "go"
    holder = start_stalled(damaged_shop, "write.before:silver.orders", go)
    try:
        code, said = shop.end_weir(shop.start_weir(damaged_shop, "run", "shop"))
        assert code == LEASED
        assert f"held by process {holder.pid} on {socket.gethostname()} since 20" in said
        assert "(weir run); wait for it to end, or stop that process, then run again" in said
        holder.send_signal(signal.SIGSTOP)
        assert shop.end_weir(shop.start_weir(damaged_shop, "rebuild", "shop", "silver.lines"))[0] == LEASED

        (damaged_shop.root / "lake/shop/_weir/lease").unlink()
        assert damaged_shop.run("shop").status is Status.OK
        go.touch()
        holder.send_signal(signal.SIGCONT)
        code, said = shop.end_weir(holder)
    finally:
        holder.kill()
    assert code == EXIT_CODES[Status.FAILED]
    assert "LeaseLost: pipeline shop: the lease" in said
    shop.assert_converged(damaged_shop, expected)


def test_a_jvm_that_outlives_its_killed_parent_keeps_the_pipeline_until_it_ends(
    damaged_shop: Workshop, expected: Expected
) -> None:
    holder = start_stalled(damaged_shop, "write.before:silver.orders", damaged_shop.root / "go")
    # it ends when nobody holds its standard input any more
    keeps_it_alive = os.open(f"/proc/{jvm_of(holder)}/fd/0", os.O_WRONLY)
    try:
        holder.kill()
        holder.communicate()
        code, said = shop.end_weir(shop.start_weir(damaged_shop, "run", "shop"))
        assert code == LEASED
        assert f"held by process {holder.pid} on " in said
        assert "its JVM is ending, try again in a moment" in said
    finally:
        os.close(keeps_it_alive)
    result = shop.run_here_when_free(damaged_shop)
    assert result.status is Status.OK, result.message
    shop.assert_converged(damaged_shop, expected)


TAKEOVERS = (
    "arrivals.before:bronze.orders",
    "intent.before:silver.orders@unpark",
    pytest.param("marker.before:silver.lines@unpark", marks=pytest.mark.soak),
    pytest.param("consumed.before:gold.closed", marks=pytest.mark.soak),
)
"""Points outside of a stream's batch: of two queries on one checkpoint in one session Spark would end the
first.
"""


@pytest.mark.parametrize("where", TAKEOVERS)
def test_nothing_of_a_run_without_its_lease_gets_into_the_ledger(
    new_shop: Shops, expected: Expected, where: str
) -> None:
    """A second run does everything while the first one is between two lines of its code."""
    workshop, others = new_shop(), list[str]()

    def take_over(point: str, table: str, step: str) -> None:
        if shop.armed((point, table, step)) == where and not others:
            others.append(where)
            (workshop.root / "lake/shop/_weir/lease").unlink()
            others.append(workshop.run("shop").status)

    with failpoints.deciding(take_over):
        first = shop.run_in_order(workshop)

    assert others == [where, Status.OK]
    assert first.status is Status.FAILED
    assert "LeaseLost" in first.message
    shop.assert_converged(workshop, expected)
