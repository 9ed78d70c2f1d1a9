"""A process that dies at any point of the write path: the next run goes on, and every table comes out as if nothing had happened.

The dying is a failure at the point and at every later one of the process; test_kill.py does it with kill -9.
"""

import time
import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run.result import Status
from tests.conftest import Workshop
from tests.faults import shop
from tests.faults.conftest import Shops

pytestmark = pytest.mark.spark

Point = tuple[str, str, str]


def test_runs_that_die_one_after_the_other_each_a_point_further_lose_and_double_nothing(
    damaged_shop: Workshop, expected: dict[str, list[str]]
) -> None:
    died: list[Point] = []

    def die_once(*point: str):
        if point in died:
            return None
        died.append(point)
        return "raise"

    for _ in range(500):
        count = len(died)
        t, c = time.time(), time.process_time()
        with failpoints.deciding(die_once):
            result = shop.run_in_order(damaged_shop)
        print("RUN", round(time.time()-t,1), died[-1], result.message[:150])
        if len(died) == count:
            break
        assert result.status is Status.FAILED
        assert "Failpoint" in result.message
    assert result.status is Status.OK, result.message
    assert shop.contents(damaged_shop) == expected
    assert shop.missing_rows(damaged_shop) == {}
    assert damaged_shop.run("shop").status is Status.NOTHING_TO_DO
