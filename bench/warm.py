"""Increments in one warm session, as `weir stream` makes them: each with its seconds, its CPU seconds and
what it asked of Spark.
"""

import io
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import SparkSession

from bench.measure import cpu_seconds
from spark_jobs.config.loading import load_project
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import STREAM, open_lease
from spark_jobs.run.order import RunOrder
from spark_jobs.run.pipeline import run_increment
from spark_jobs.run.result import Status
from spark_jobs.stream.session import StreamSession


@dataclass(frozen=True)
class Increment:
    """CPU seconds are those of the JVM and of Python together."""

    seconds: float
    cpu_seconds: float
    executions: int
    jobs: int

    def __str__(self) -> str:
        return (
            f"{self.seconds:7.1f} s  {self.cpu_seconds:7.2f} CPU s  {self.executions:4d} executions "
            f" {self.jobs:4d} jobs"
        )


class _Reading(NamedTuple):
    at: float
    cpu_seconds: float
    executions: int
    jobs: int


class WarmSession:
    """One session for the increments of one pipeline or of several lakes in turn."""

    def __init__(self) -> None:
        self._standing = StreamSession()
        self._spark: SparkSession | None = None

    @contextmanager
    def increments(self, home: Path, pipeline: str) -> Iterator[Callable[[], Increment]]:
        """Gives what makes one increment of a project's pipeline, of the files that have landed since the
        last.
        """
        project = load_project(home, {})
        project = replace(
            project, lakehouse=project.lakehouse.model_copy(update={"keep_reports": 0})
        )  # a stream writes one in five minutes
        with open_lease(Lake(project.lake, pipeline).lease(), pipeline, STREAM) as lease:

            def increment() -> Increment:
                before = self._read()
                lease.take(patience=0)
                with redirect_stderr(io.StringIO()):  # its progress
                    result = run_increment(
                        project, pipeline, project.profiles["local"], lease, start=self._start
                    )
                lease.give_back()
                if result.status is not Status.OK:
                    sys.exit(f"{pipeline}: {result.message}")
                after = self._read()
                return Increment(
                    after.at - before.at,
                    after.cpu_seconds - before.cpu_seconds,
                    after.executions - before.executions,
                    after.jobs - before.jobs,
                )

            yield increment

    def end(self) -> None:
        self._standing.end()

    @contextmanager
    def _start(self, order: RunOrder, consumed: Mapping[str, Any]) -> Iterator[SparkSession]:
        with self._standing.start(order, dict(consumed)) as self._spark:
            yield self._spark

    def _read(self) -> _Reading:
        """Where the processes are now. To look asks nothing of Spark, whose count of
        executions is private.
        """
        if self._spark is None:
            return _Reading(time.monotonic(), cpu_seconds("self"), 0, 0)
        jvm, context = self._spark._jvm, self._spark.sparkContext._jsc.sc()
        counter = jvm.java.lang.Class.forName(
            "org.apache.spark.sql.execution.SQLExecution$"
        ).getDeclaredField("_nextExecutionId")  # type: ignore[union-attr]
        counter.setAccessible(True)
        java = str(jvm.java.lang.ProcessHandle.current().pid())  # type: ignore[union-attr]
        cpu = cpu_seconds("self") + cpu_seconds(java)
        return _Reading(time.monotonic(), cpu, counter.get(None), context.dagScheduler().numTotalJobs())
