"""How points are armed: by name, table, step and count; and that nothing of a process goes on after it has
died.
"""

import pytest

from spark_jobs.lake.failpoints import Failpoint, arm, deciding, reach


def test_a_point_is_armed_for_all_tables_or_one_or_one_step_of_it() -> None:
    with arm("write.after=raise"), pytest.raises(Failpoint, match=r"write\.after of silver\.orders"):
        reach("write.after", "silver.orders")
    with arm("write.after:silver.orders@unpark=raise"):
        reach("write.before", "silver.orders", "unpark")
        reach("write.after", "silver.lines", "unpark")
        reach("write.after", "silver.orders", "stream")
        with pytest.raises(Failpoint):
            reach("write.after", "silver.orders", "unpark")


def test_a_point_is_armed_for_the_time_it_is_reached() -> None:
    with arm("write.after:silver.orders#2=raise"):
        reach("write.after", "silver.orders")
        with pytest.raises(Failpoint):
            reach("write.after", "silver.orders")


def test_after_its_death_a_process_passes_no_point() -> None:
    with arm("intent.before:silver.orders=raise"):
        with pytest.raises(Failpoint):
            reach("intent.before", "silver.orders")
        with pytest.raises(Failpoint, match=r"marker\.after of gold\.per_hour"):
            reach("marker.after", "gold.per_hour")
    reach("marker.after", "gold.per_hour")


def test_a_test_may_decide_at_every_point() -> None:
    asked = []
    with deciding(lambda *point: asked.append(point)):
        reach("write.before", "silver.orders", "stream")
        reach("consumed.after", "silver.orders")
    reach("consumed.after", "gold.per_hour")

    assert asked == [("write.before", "silver.orders", "stream"), ("consumed.after", "silver.orders", "")]


@pytest.mark.parametrize(
    "wrong", ["write.aftr=kill", "write.after=stop", "write.after#x=kill", "write.after"]
)
def test_a_point_that_is_not_there_is_refused(wrong: str) -> None:
    with (
        pytest.raises(
            ValueError, match=r"is not point\[:table\[@step\]\]\[#hit\]=action; points: arrivals\.before"
        ),
        arm(wrong),
    ):
        pass
