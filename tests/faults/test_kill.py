"""kill -9 of the process that does a command, its JVM left to itself: the next one waits for the lease, goes
on, and loses nothing.
"""

import shutil
import signal
from collections.abc import Callable

import pytest

from spark_jobs.lake.failpoints import POINTS
from spark_jobs.run.result import RunResult, Status
from tests.conftest import ROOT, Workshop
from tests.faults import kiosk, page, shop
from tests.faults.conftest import Shops, Undisturbed
from tests.faults.test_matrix import NO_WRITE_BETWEEN
from tests.faults.test_points import ELSEWHERE
from tests.run.test_maintain import age

pytestmark = pytest.mark.system

Command = tuple[tuple[str, ...], tuple[str, ...]]
RUN, REBUILD, UPKEEP = ("run", "kiosk"), ("rebuild", "kiosk", kiosk.TABLE), ("maintain", "kiosk")
SET_ASIDE = ("set-aside", "kiosk", kiosk.TABLE, "--reason", "a wrong price")
KILLS: dict[str, Command] = {
    "second": (
        RUN,
        ("arrivals.before:bronze.sales", "arrivals.after:bronze.sales", "ledger.after:ledger.rules",
         *(f"{point}:silver.sales" for point in POINTS if point.startswith(("intent", "gate", "write", "marker"))
           and point not in NO_WRITE_BETWEEN),
         "checkpoint.after:silver.sales", "consumed.after:gold.per_hour", "ledger.after:ledger.runs"),
    ),
    "third": (RUN, ("ledger.after:ledger.expectations", "gate.after:silver.sales")),
    "decision": (SET_ASIDE, ("ledger.after:ledger.decisions",)),
    "rebuild": (REBUILD, ("ledger.after:ledger.definitions@swapping",)),
    "swap": (RUN, ("swap.before:silver.sales", "swap.after:gold.per_hour", "ledger.after:ledger.definitions@live")),
    "upkeep": (UPKEEP, ("upkeep.before:silver.sales", "upkeep.after:silver.sales")),
}  # fmt: skip
"""What is done in turn, and the points at which the processes that do it are killed, one after the other: those
with a write between them. Each kill is a cold process; tests/faults/test_points.py dies at the others too.
"""
OF_THE_SHOP = ("write.after:deleted.silver.orders", "marker.after:silver.lines@unpark")
"""Behind a side table, and in a step that the small pipeline does not have."""


def kill_at(workshop: Workshop, part: str) -> list[str]:
    """Do this part of the story by processes, each of which is killed at the next point; gives where they
    were.
    """
    command, points = KILLS[part]
    for point in points:
        assert shop.run_when_free(workshop, *command, armed=f"{point}=kill")[0] == -signal.SIGKILL, point
    return [point.partition(":")[0] for point in points]


def end(workshop: Workshop, command: Callable[[Workshop], RunResult], *statuses: Status) -> None:
    """Do what the killed processes were at, in this one, which comes to the end of it."""
    shop.wait_until_free(workshop, "kiosk")
    result = command(workshop)
    assert result.status in statuses, result.message


def test_commands_that_are_killed_one_after_the_other_lose_and_double_nothing(
    new_workshop: Callable[[], Workshop], expected_sales: dict[str, list[str]]
) -> None:
    torn, ends = new_workshop(), (Status.OK, Status.NOTHING_TO_DO)
    shutil.copy(ROOT / "conf" / "log4j2.properties", torn.root / "conf")
    (torn.root / ".envs").symlink_to(ROOT / ".envs")
    profile = torn.root / "conf" / "profiles" / "local.yml"
    # so that points come in one order
    profile.write_text(profile.read_text().replace("parallel_tables: 3", "parallel_tables: 1"))
    kiosk.write_pipeline(torn)
    kiosk.land_first(torn)
    assert kiosk.run(torn).status is Status.OK

    kiosk.land_second(torn)
    died = kill_at(torn, "second")
    end(torn, kiosk.run, *ends)
    kiosk.land_third(torn)
    died += kill_at(torn, "third")
    end(torn, kiosk.run, Status.BLOCKED)
    died += kill_at(torn, "decision")
    end(torn, kiosk.set_aside, *ends)
    end(torn, kiosk.run, *ends)
    died += kill_at(torn, "rebuild") + kill_at(torn, "swap")
    end(torn, kiosk.run, *ends)
    age(torn.root / "lake")
    died += kill_at(torn, "upkeep")
    end(torn, kiosk.upkeep, *ends)
    end(torn, kiosk.run, *ends)

    seen = page.look(torn, expected_sales, "kiosk")
    shop.assert_converged(torn, expected_sales, "kiosk")
    assert {*POINTS} - {*died} == ELSEWHERE | {*NO_WRITE_BETWEEN}
    named = ", ".join(f"`{point}`" for point in POINTS if point in died)
    page.check_part(
        "the kills", f"Killed with `kill -9`, one after the other on one lake, at {named}. Seen: {seen}."
    )


def test_runs_that_are_killed_behind_a_side_table_and_while_rows_are_unparked_lose_and_double_nothing(
    damaged_shop: Workshop, expected: dict[str, list[str]]
) -> None:
    profile = damaged_shop.root / "conf" / "profiles" / "local.yml"
    profile.write_text(profile.read_text().replace("parallel_tables: 3", "parallel_tables: 1"))

    for kill in OF_THE_SHOP:
        assert shop.run_when_free(damaged_shop, "run", "shop", armed=f"{kill}=kill")[0] == -signal.SIGKILL, (
            kill
        )
    result = shop.run_here_when_free(damaged_shop)

    assert result.status in (Status.OK, Status.NOTHING_TO_DO), result.message
    shop.assert_converged(damaged_shop, expected)


@pytest.mark.soak
def test_a_run_that_is_killed_at_one_point_is_ended_by_the_next(
    new_shop: Shops, undisturbed: Undisturbed, expected: dict[str, list[str]], subtests: pytest.Subtests
) -> None:
    for point in sorted(undisturbed.points):
        with subtests.test(" ".join(point)):
            damaged = new_shop()
            assert (
                shop.run_when_free(damaged, "run", "shop", armed=f"{shop.armed(point)}=kill")[0]
                == -signal.SIGKILL
            )
            result = shop.run_here_when_free(damaged)
            assert result.status in (Status.OK, Status.NOTHING_TO_DO), result.message
            shop.assert_converged(damaged, expected)
            shutil.rmtree(damaged.root)
