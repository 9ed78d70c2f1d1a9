"""A process that dies at any point of the write path: the next run goes on, and every table comes out as if nothing had happened.

Here the dying is an error at the point and at every later one of the process; test_kill.py does it with kill -9.
"""

import re
import shutil
from collections.abc import Callable, Hashable

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop
from tests.faults import shop
from tests.faults.conftest import MATRIX, Point, Shops, Undisturbed

pytestmark = pytest.mark.spark

Expected = dict[str, list[str]]


def itself(point: Point) -> Hashable:
    return point


def kind_of(point: Point) -> Hashable:
    """The same for tables of a kind; and before an intent, when Spark has written down the batch, for all tables."""
    name, table, step = point
    return name if name == "intent.before" else (name, shop.KINDS[table], step)


class Deaths:
    """Dies at every point once, in the order in which runs come to them, or once at all that are `alike`. `skipped` points are passed."""

    def __init__(self, *skipped: str, alike: Callable[[Point], Hashable] = itself) -> None:
        self.skipped, self.alike, self.points = skipped, alike, list[Point]()

    @property
    def kinds(self) -> set[Hashable]:
        return set(map(self.alike, self.points))

    def decide(self, point: str, table: str, step: str) -> failpoints.Action | None:
        is_skipped = point in self.skipped and not table.startswith("bronze.")
        if is_skipped or self.alike((point, table, step)) in self.kinds:
            return None
        self.points.append((point, table, step))
        return "raise"

    def run_until_none(self, workshop: Workshop, pipeline: str = "shop") -> None:
        """Run after run, each of which dies a point further than the one before, until one comes to its end."""
        while True:
            count = len(self.points)
            with failpoints.deciding(self.decide):
                result = shop.run_in_order(workshop, pipeline)
            if len(self.points) == count:
                assert result.status in (Status.OK, Status.NOTHING_TO_DO), result.message
                return
            assert result.status is Status.FAILED
            assert f"Failpoint: {self.points[-1][0]} of {self.points[-1][1]}" in result.message


def test_runs_that_die_one_after_the_other_lose_and_double_nothing(
    damaged_shop: Workshop, undisturbed: Undisturbed, expected: Expected
) -> None:
    """Between a point that is skipped here and the one before it nothing is written that others go by: to die at either is the same."""
    deaths = Deaths("gate.before", "write.before", "marker.before", "consumed.before", alike=kind_of)

    deaths.run_until_none(damaged_shop)

    assert {kind_of(point) for point in undisturbed.points if point[0] not in deaths.skipped} <= deaths.kinds
    shop.assert_converged(damaged_shop, expected)


@pytest.mark.parametrize("skipped", [("write.before", "write.after"), pytest.param((), marks=pytest.mark.soak)], ids=["swaps", "all"])
def test_a_swap_that_dies_again_and_again_ends_with_the_tables_that_were_built(
    damaged_shop: Workshop, expected: Expected, skipped: tuple[str, ...]
) -> None:
    """Dying beside a write leaves the same files as dying beside its swap."""
    assert damaged_shop.run("shop").exit_code == 0
    with failpoints.arm("swap.before:silver.lines=raise"):
        cut = rebuild_tables(damaged_shop.project, "shop", PROFILE, ["silver.lines"], start=damaged_shop._start)
    assert cut.status is Status.FAILED
    deaths = Deaths(*skipped)

    deaths.run_until_none(damaged_shop)

    points = [point for point in ("swap.before", "write.before", "write.after", "swap.after") if point not in skipped]
    died = {(point, table) for point, table, step in deaths.points if step in ("", "swap")}
    assert died >= {(point, table) for point in points for table in ("silver.lines", "gold.closed", "gold.per_sku")}
    shop.assert_converged(damaged_shop, expected)


@pytest.mark.parametrize(
    "skipped",
    [("gate.before", "write.before", "marker.before", "consumed.before"), pytest.param((), marks=pytest.mark.soak)],
    ids=["between writes", "all"],
)
def test_windows_over_another_pipelines_table_that_die_again_and_again_lose_and_double_nothing(
    damaged_shop: Workshop, skipped: tuple[str, ...]
) -> None:
    for name in ("board", "once"):
        shop.write_board(damaged_shop, name)
    assert damaged_shop.run("board").exit_code == 0  # all of the first delivery
    assert damaged_shop.run("shop").exit_code == 0
    deaths = Deaths(*skipped)

    deaths.run_until_none(damaged_shop, "board")  # the changes that came with the second

    listed = {point for point in board_points() if point[2] not in skipped}
    assert {(shop.BOARD_KINDS[table], step or "between", point) for point, table, step in deaths.points} == listed
    assert damaged_shop.run("once").exit_code == 0
    shop.assert_converged(damaged_shop, shop.contents(damaged_shop, "once"), "board")


def board_points() -> set[tuple[str, str, str]]:
    """What docs/faults.md lists for the board: kind of table, step, point."""
    rows = [row for row in MATRIX if row[0] in shop.BOARD_KINDS.values()]
    return {(kind, step, point) for kind, step, points, _ in rows for point in re.findall(r"`([a-z.]+)`", points)}


@pytest.mark.soak
def test_runs_that_die_at_every_single_point_lose_and_double_nothing(
    damaged_shop: Workshop, undisturbed: Undisturbed, expected: Expected
) -> None:
    deaths = Deaths()

    deaths.run_until_none(damaged_shop)

    assert set(deaths.points) >= undisturbed.points
    shop.assert_converged(damaged_shop, expected)


@pytest.mark.soak
def test_a_run_that_dies_at_one_point_is_ended_by_the_next(
    new_shop: Shops, undisturbed: Undisturbed, expected: Expected, subtests: pytest.Subtests
) -> None:
    for point in sorted(undisturbed.points):
        with subtests.test(" ".join(point)):
            damaged = new_shop()
            with failpoints.arm(f"{shop.armed(point)}=raise"):
                assert damaged.run("shop").status is Status.FAILED
            assert damaged.run("shop").status in (Status.OK, Status.NOTHING_TO_DO)
            shop.assert_converged(damaged, expected)
            shutil.rmtree(damaged.root)
