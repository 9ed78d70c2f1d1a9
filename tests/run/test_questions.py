"""What an increment asks of Spark: SQL executions and jobs, table by table. A small batch is made of its
questions, not of its rows.

A change that asks more fails here: find another way, or raise the bound and say why. `bench/questions.py`
names the place of each question.
"""

from collections import Counter
from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake import failpoints
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.sample.write import write_sample
from tests.conftest import PROFILE, Workshop

pytestmark = pytest.mark.spark

SIDES = ("quarantine.", "parked.", "deleted.", "late.")
MOST = {
    "bronze.orders": (3, 1),
    "bronze.customers": (3, 1),
    "bronze.products": (3, 1),
    "dimension.customers": (11, 11),
    "dimension.products": (9, 11),
    "silver.orders": (17, 21),
    "silver.order_lines": (15, 21),
    "gold.revenue_per_hour": (9, 7),
    "gold.top_products": (4, 3),
}
"""By table the executions and jobs of an increment, at most."""


def test_an_increment_asks_few_questions(shipped: Workshop) -> None:
    assert shipped.spark is not None
    ask = _counter(shipped.spark)
    write_sample(shipped.landing, 400)
    assert shipped.run("retail").exit_code == 0
    write_sample(shipped.landing, 400, increment=1)
    executions, jobs = Counter[str](), Counter[str]()
    last = ask()

    def note(point: str, table: str, step: str) -> None:
        nonlocal last
        if table.startswith("ledger."):
            return
        now = ask()
        executions[_home(table)] += now[0] - last[0]
        jobs[_home(table)] += now[1] - last[1]
        last = now

    # one table at a time: what is asked before a point is asked for the table of that point
    with failpoints.deciding(note):
        profile = PROFILE.model_copy(update={"parallel_tables": 1})
        result = run_pipeline(shipped.project, "retail", profile, start=shipped._start)

    assert result.exit_code == 0, result.message
    found = {table: (executions[table], jobs[table]) for table in executions}
    assert found.keys() == MOST.keys()
    more = {
        table: asked
        for table, asked in found.items()
        if asked[0] > MOST[table][0] or asked[1] > MOST[table][1]
    }
    assert more == {}, "executions and jobs, where there are more than before"


def _home(table: str) -> str:
    """The table that a side table belongs to."""
    return next((table.removeprefix(side) for side in SIDES if table.startswith(side)), table)


def _counter(spark: SparkSession) -> Callable[[], tuple[int, int]]:
    """Tells how many executions and jobs the session has begun so far. To ask is an execution itself, which
    is left out, and no job.
    """
    context, asked = spark.sparkContext._jsc.sc(), -1
    store = spark._jsparkSession.sharedState().statusStore()

    def count() -> tuple[int, int]:
        nonlocal asked
        asked += 1
        spark.sql("VALUES (1)").collect()
        context.listenerBus().waitUntilEmpty()
        # The whole list: Spark drops old executions in a thread of its own, so a position counted a moment ago may be gone.
        return store.executionsList().last().executionId() - asked, context.dagScheduler().numTotalJobs()

    return count
