"""One death at every failpoint, on a pipeline of three tables; tests/faults/test_matrix.py has every kind of
table.
"""

from collections.abc import Callable, Hashable

from spark_jobs.lake.failpoints import POINTS
from spark_jobs.lake.ledger import POINTLESS
from spark_jobs.lake.ledger_tables import LIVE, SWAPPING
from tests.conftest import Workshop
from tests.faults import kiosk, shop
from tests.faults.deaths import Deaths, Point

Expected = dict[str, list[str]]
ELSEWHERE = {"read.before"}
"""A task of an executor reads: tests/engines has it."""
OF_BATCHES = ("intent", "gate", "write", "marker")


def once(point: Point) -> Hashable:
    """Once for each point, and for each of the ledger's tables; of definitions for those that are swapping,
    and those that are live.
    """
    name, table, step = point
    return (name, table, step) if name.startswith("ledger.") else name


def of_other_tables(point: Point) -> bool:
    """Of the points of a batch, those of the silver table are tried: the gate and the
    most writes are there.
    """
    name, table, _ = point
    return name.startswith(OF_BATCHES) and table != kiosk.TABLE


def test_a_death_at_every_point_is_made_good_by_the_next_command(
    new_workshop: Callable[[], Workshop], expected_sales: Expected
) -> None:
    deaths, torn = Deaths(alike=once, passes=of_other_tables), new_workshop()

    found = kiosk.live_through(torn, deaths.until_none)

    assert found == expected_sales
    assert {
        "quarantine.silver.sales",
        "silver.sales",
        "gold.per_hour",
    } <= expected_sales.keys(), "without such rows it proves nothing of them"
    assert set(POINTS) - deaths.names == ELSEWHERE
    tables = {table for name, table, _ in deaths.points if name.startswith("ledger.")}
    assert tables >= {f"ledger.{name}" for name in POINTLESS}
    assert {step for _, table, step in deaths.points if table == "ledger.definitions"} == {SWAPPING, LIVE}
    shop.assert_converged(torn, expected_sales, "kiosk")
