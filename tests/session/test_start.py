"""A run that waits for executors says so, once."""

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pyspark import SparkContext

from spark_jobs.session.start import tell_of_waiting


def context(master: str, executors: int) -> SparkContext:
    status = SimpleNamespace(size=lambda: executors + 1)  # Spark counts the driver
    scala = SimpleNamespace(getExecutorMemoryStatus=lambda: status)
    return cast("SparkContext", SimpleNamespace(master=master, _jsc=SimpleNamespace(sc=lambda: scala)))


@pytest.mark.parametrize(
    ("master", "executors", "count"), [("spark://m:7077", 0, 1), ("spark://m:7077", 1, 0), ("local[2]", 0, 0)]
)
def test_a_run_on_a_cluster_without_executors_says_that_it_waits(
    master: str, executors: int, count: int
) -> None:
    told: list[Any] = []

    with tell_of_waiting(context(master, executors), told.append, after_seconds=0):
        pass

    assert len(told) == count
    assert all(
        "no executor of spark://m:7077 after 0 s: other runs may have all its cores" in line for line in told
    )
