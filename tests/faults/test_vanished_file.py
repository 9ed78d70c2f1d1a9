"""A landed file that is gone between the moment it was registered and the moment it is read."""

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.report.account import sum_up
from spark_jobs.run.result import Status
from tests.conftest import Workshop
from tests.faults import shop

pytestmark = pytest.mark.spark


def test_a_file_that_vanished_before_it_was_read_is_named_and_the_others_are_taken(
    damaged_shop: Workshop,
) -> None:
    with failpoints.arm("write.before:bronze.orders=raise"):
        assert damaged_shop.run("shop").status is Status.FAILED
    (damaged_shop.landing / "orders/4.json").unlink()

    result = damaged_shop.run("shop")

    assert result.status is Status.OK, result.message
    assert [warning for warning in result.warnings if "'orders/4.json' unread" in warning]
    rows = damaged_shop.rows("shop.bronze.orders", "_file", "_line", "_problem", "record")
    [(_, _, problem, record)] = [row for row in rows if row[1] == 0]
    assert ("FileNotFoundError" in problem, record) == (True, None)
    assert {row[0] for row in rows if row[1] == 0} == {"orders/4.json"}
    assert {row[0] for row in rows if row[1] > 0} == {f"orders/{number}.json" for number in (1, 2, 3, 5)}
    assert shop.missing_rows(damaged_shop) == {}
    accounts = sum_up(damaged_shop.project.pipelines["shop"], Lake(damaged_shop.project.lake, "shop"))
    assert {row["table"]: row["quarantined"] for row in accounts}["bronze.orders"] == 1
    assert damaged_shop.run("shop").status is Status.NOTHING_TO_DO
