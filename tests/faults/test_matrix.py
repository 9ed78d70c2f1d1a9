"""A process that dies at any point of the write path: the next run goes on, and every table comes out as if
nothing had happened.

Here the dying is an error at the point and at every later one of the process; test_kill.py does it with kill
-9. The page of faults is made of what was seen here.
"""

import shutil
from collections.abc import Callable, Hashable

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop
from tests.faults import kiosk, page, shop
from tests.faults.conftest import Shops, Undisturbed
from tests.faults.deaths import Deaths, Point

pytestmark = pytest.mark.system

Expected = dict[str, list[str]]
NO_WRITE_BETWEEN = ("gate.before", "write.before", "marker.before", "consumed.before", "ledger.before")
"""Between one of these and the point before it nothing is written that others go by: to die at either is the
same.
"""
LIKE_THE_WRITE = ("swap.before", "swap.after")
"""Beside the write of a rebuilt table nothing is written: to die before or behind it is the same, too."""
SWAPPED = ("dimension.levels", "parked.silver.orders", "silver.lines", "late.gold.closed", "gold.per_sku")
"""Behind each of them a swap dies: between two layers, between what stands beside a table and the table, and at
the end. All that comes before is replaced once more each time, so there are no more of them.
"""
MATRICES: dict[str, dict[tuple[str, str, str], set[str]]] = {}
"""By test, what was seen."""


def kind_of(point: Point) -> Hashable:
    """The same for tables of a kind; before an intent, when Spark has written down the batch, for all tables;
    runs are noted alike.
    """
    name, table, step = point
    return name if name == "intent.before" else (name, shop.KINDS.get(table, table), step)


def once_for_the_ledger(point: Point) -> Hashable:
    """Every point, but of the upkeep of the ledger's tables one is as good as another."""
    name, table, _ = point
    return (name, "ledger") if name.startswith("upkeep.") and table.startswith("ledger.") else point


def passing(*names: str) -> Callable[[Point], bool]:
    return lambda point: point[0] in names and not point[1].startswith("bronze.")


def record(
    test: str,
    deaths: Deaths,
    workshop: Workshop,
    expected: Expected,
    kinds: dict[str, str],
    pipeline: str = "shop",
) -> None:
    seen = page.look(workshop, expected, pipeline)
    MATRICES[test] = page.matrix(dict.fromkeys(deaths.points, seen), kinds)


def test_runs_that_die_one_after_the_other_lose_and_double_nothing(
    damaged_shop: Workshop, undisturbed: Undisturbed, expected: Expected
) -> None:
    deaths = Deaths(alike=kind_of, passes=passing(*NO_WRITE_BETWEEN))

    deaths.run_until_none(damaged_shop)

    record("shop", deaths, damaged_shop, expected, shop.KINDS)
    assert {
        kind_of(point) for point in undisturbed.points if point[0] not in NO_WRITE_BETWEEN
    } <= deaths.kinds
    shop.assert_converged(damaged_shop, expected)


@pytest.mark.parametrize("tables", [SWAPPED, pytest.param((), marks=pytest.mark.soak)], ids=["layers", "all"])
def test_a_swap_that_dies_again_and_again_ends_with_the_tables_that_were_built(
    loaded_shop: Workshop, expected: Expected, tables: tuple[str, ...]
) -> None:
    """A dimension, facts with rows that wait and deleted keys, facts without a key, and what is made of them."""
    named = ["dimension.levels", "silver.orders"]
    with failpoints.arm("swap.before:dimension.levels=raise"):
        cut = rebuild_tables(loaded_shop.project, "shop", PROFILE, named, start=loaded_shop._start)
    assert cut.status is Status.FAILED
    deaths = Deaths(
        passes=lambda point: bool(tables) and (point[0] != "swap.after" or point[1] not in tables)
    )

    deaths.run_until_none(loaded_shop)

    record("swap", deaths, loaded_shop, expected, shop.KINDS)
    assert {("swap.after", table) for table in SWAPPED} <= {(name, table) for name, table, _ in deaths.points}
    shop.assert_converged(loaded_shop, expected)


@pytest.mark.parametrize(
    "skipped", [NO_WRITE_BETWEEN, pytest.param((), marks=pytest.mark.soak)], ids=["between writes", "all"]
)
def test_windows_over_another_pipelines_table_that_die_again_and_again_lose_and_double_nothing(
    damaged_shop: Workshop, skipped: tuple[str, ...]
) -> None:
    for name in ("board", "once"):
        shop.write_board(damaged_shop, name)
    assert damaged_shop.run("board").exit_code == 0  # all of the first delivery
    assert damaged_shop.run("shop").exit_code == 0
    deaths = Deaths(passes=passing(*skipped))

    deaths.run_until_none(damaged_shop, "board")  # the changes that came with the second

    assert damaged_shop.run("once").exit_code == 0
    expected = shop.contents(damaged_shop, "once")
    record("board", deaths, damaged_shop, expected, shop.BOARD_KINDS, "board")
    assert {table for _, table, _ in deaths.points} >= {*shop.BOARD_KINDS}
    shop.assert_converged(damaged_shop, expected, "board")


def test_a_blocked_delivery_its_decision_a_rebuild_and_upkeep_that_die_again_and_again_lose_and_double_nothing(
    new_workshop: Callable[[], Workshop], expected_sales: Expected
) -> None:
    passes = passing(*NO_WRITE_BETWEEN, *LIKE_THE_WRITE)
    deaths, torn = Deaths(alike=once_for_the_ledger, passes=passes), new_workshop()

    kiosk.live_through(torn, deaths.until_none)

    record("kiosk", deaths, torn, expected_sales, kiosk.KINDS, "kiosk")
    assert {kiosk.KINDS.get(table) for _, table, _ in deaths.points} >= {*kiosk.KINDS.values()}
    shop.assert_converged(torn, expected_sales, "kiosk")


def test_the_page_says_what_was_seen() -> None:
    if len(MATRICES) < 4:
        pytest.skip("it is made of what all the tests above have seen, and not all of them ran")

    page.check_part("the matrix", page.render(page.by_kind(MATRICES.values())))


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
