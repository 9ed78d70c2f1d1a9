"""Counts what Spark is asked: SQL executions and jobs. Counts, so not a matter of the machine's speed."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from pyspark.sql import SparkSession


@dataclass
class Questions:
    executions: int = 0
    jobs: int = 0


@contextmanager
def counting(spark: SparkSession) -> Iterator[Questions]:
    """The questions of this thread in the block, those that Delta asks by itself included."""
    asked, group, context = Questions(), uuid.uuid4().hex, spark.sparkContext
    before = _executions(spark)
    context.setJobGroup(group, "counted")
    try:
        yield asked
    finally:
        asked.executions = len(_executions(spark) - before)
        asked.jobs = len(context.statusTracker().getJobIdsForGroup(group))
        context._jsc.clearJobGroup()


def _executions(spark: SparkSession) -> set[int]:
    """Those that Spark remembers, once it has heard of all."""
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
    found = spark._jsparkSession.sharedState().statusStore().executionsList()
    return {found.apply(at).executionId() for at in range(found.size())}
