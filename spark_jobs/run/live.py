"""Queries of an always-on stream that never end: the bronze tables of sources that keep nothing, such as a socket.

Their batches are batches like all others, by the same function into the same ledger. What was sent while no query was reading is lost, so
they stay open from the first increment to the last.
"""

import time
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.streams import Running
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run.bronze import start_bronze
from spark_jobs.run.context import RunContext
from spark_jobs.run.order import RunOrder, new_order, note_run
from spark_jobs.run.plan import Plan, check_definitions, note_definitions
from spark_jobs.run.result import Start, Status
from spark_jobs.session.settings import PER_BATCH

AS_FAST_AS_POSSIBLE = {"processingTime": "0 seconds"}
LOOK_SECONDS = 0.05


class LiveQueries:
    """The open queries of a stream, as one run in the ledger."""

    def __init__(self, project: Project, profile: Profile, plan: Plan, lease: Lease, start: Start) -> None:
        check_definitions(plan)
        order = new_order(project, profile, plan, lease)
        known, _ = note_definitions(plan, order.run_id)
        self.order = RunOrder(project, profile, known, order.ledger, order.run_id, lease, order.log_file)
        note_run(self.order, "started")
        with start(self.order, {}) as spark:  # the session of the stream: it stays
            self.queries = self._open(spark)

    def _open(self, spark: SparkSession) -> list[Running]:
        settings = {name: str(spark.conf.get(name)) for name in PER_BATCH}
        told: list[dict[str, Any]] = []
        context = RunContext(
            self.order, spark, settings, lambda batch, counts: None, told.extend, lambda line: None, Verdicts(self.order.ledger)
        )
        return [start_bronze(context, name, AS_FAST_AS_POSSIBLE) for name in self.order.plan.pipeline.live_sources]

    def check(self) -> None:
        """Raise what has ended a query, if one has ended."""
        for running in self.queries:
            if not running.query.isActive:
                running.wait()

    def end(self, status: Status, message: str) -> None:
        """Close them, each after the batch at work."""
        for running in self.queries:
            while running.query.isActive and running.query.status["isTriggerActive"] and running.query.status["isDataAvailable"]:
                time.sleep(LOOK_SECONDS)
            running.query.stop()
        note_run(self.order, "ended", status, message)
