"""kill -9 of the process that runs the pipeline, its JVM left to itself: the next run waits for the lease, goes on, and loses nothing."""

import shutil
import signal

import pytest

from spark_jobs.run.result import Status
from tests.conftest import Workshop
from tests.faults import shop
from tests.faults.conftest import Shops, Undisturbed

pytestmark = pytest.mark.spark

KILLS = (
    "arrivals.after:bronze.orders",
    "write.after:deleted.silver.orders",
    "marker.after:silver.lines@release",
    "checkpoint.after:gold.closed",
)
"""After each writer: the registrar, Spark's tables, the ledger, Spark's checkpoint. In the order in which a run of one table at a time
comes to them, so that each run is killed further on. `make soak` kills at every point, test_matrix.py dies at them by an error.
"""
SWAP_KILLS = ("swap.before:gold.closed", "swap.after:gold.per_sku")


def test_runs_that_are_killed_one_after_the_other_lose_and_double_nothing(damaged_shop: Workshop, expected: dict[str, list[str]]) -> None:
    profile = damaged_shop.root / "conf" / "profiles" / "local.yml"
    profile.write_text(profile.read_text().replace("parallel_tables: 3", "parallel_tables: 1"))

    for kill in KILLS:
        assert shop.run_when_free(damaged_shop, "run", "shop", armed=f"{kill}=kill")[0] == -signal.SIGKILL, kill
    result = shop.run_here_when_free(damaged_shop)

    assert result.status in (Status.OK, Status.NOTHING_TO_DO), result.message
    shop.assert_converged(damaged_shop, expected)

    # A rebuild that is killed while it replaces tables is brought to its end by the run that comes next, however often that is killed.
    rebuild, run = SWAP_KILLS
    assert shop.run_when_free(damaged_shop, "rebuild", "shop", "silver.lines", armed=f"{rebuild}=kill")[0] == -signal.SIGKILL
    assert shop.run_when_free(damaged_shop, "run", "shop", armed=f"{run}=kill")[0] == -signal.SIGKILL
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
            assert shop.run_when_free(damaged, "run", "shop", armed=f"{shop.armed(point)}=kill")[0] == -signal.SIGKILL
            result = shop.run_here_when_free(damaged)
            assert result.status in (Status.OK, Status.NOTHING_TO_DO), result.message
            shop.assert_converged(damaged, expected)
            shutil.rmtree(damaged.root)
