"""Queries of an always-on stream that never end: the bronze tables of sources that keep nothing, such as a
socket.

Their batches are batches like all others, by the same function into the same ledger. What was sent while no
query was reading is lost, so they stay open from the first increment to the last.
"""

import time
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.failure import first_line
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.streams import Running
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run.bronze import start_bronze
from spark_jobs.run.context import RunContext
from spark_jobs.run.definitions import check_definitions, note_definitions
from spark_jobs.run.notices import Notices
from spark_jobs.run.order import new_order, note_run
from spark_jobs.run.plan import Plan
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
        self.order = replace(order, plan=known)
        self.batch_progress: list[dict[str, Any]] = []
        self.queries: list[Running] = []
        note_run(self.order, "started")
        try:
            with start(self.order, {}) as spark:  # the session of the stream: it stays
                self._open(spark)
        except Exception as error:
            self.end(Status.FAILED, first_line(error))
            raise

    def _open(self, spark: SparkSession) -> None:
        settings, ledger = {name: str(spark.conf.get(name)) for name in PER_BATCH}, self.order.ledger
        told = self.batch_progress.extend
        # of a query that never ends nobody waits for the end: `weir account` has it
        notices = Notices(self.order.plan.pipeline.name)
        context = RunContext(
            self.order,
            spark,
            settings,
            lambda batch, counts: None,
            told,
            lambda line: None,
            Verdicts(ledger),
            notices,
        )
        for name in self.order.plan.pipeline.live_sources:
            self.queries.append(start_bronze(context, name, AS_FAST_AS_POSSIBLE))

    def check(self) -> None:
        """Raise what has ended a query, if one has ended."""
        for running in self.queries:
            if not running.query.isActive:
                running.wait()

    def end(self, status: Status, message: str) -> None:
        """Close them, each after the batch at work."""
        for running in self.queries:
            while (
                running.query.isActive
                and running.query.status["isTriggerActive"]
                and running.query.status["isDataAvailable"]
            ):
                time.sleep(LOOK_SECONDS)
            running.query.stop()
            running.tell()
        if self.batch_progress:
            self.order.ledger.append("progress", self.batch_progress)
        note_run(self.order, "ended", status, message)
