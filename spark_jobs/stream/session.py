"""The Spark session of an always-on stream: started with the first increment that has work, and anew after
one that failed.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.run.order import RunOrder
from spark_jobs.run.spark import is_big, session_for, start_session
from spark_jobs.session.settings import Workload


class StreamSession:
    """One session for many increments. A backlog that finds none is read by a session of its own, with the
    settings for big loads.
    """

    def __init__(self) -> None:
        self._stack = ExitStack()
        self._spark: SparkSession | None = None
        self.increments = 0

    @contextmanager
    def start(self, order: RunOrder, consumed: dict[str, dict[str, Any]]) -> Iterator[SparkSession]:
        """As a run starts its session."""
        if self._spark is None and is_big(order, consumed):
            with start_session(order, consumed) as spark:
                yield spark
            return
        if self._spark is None:
            self._spark = self._stack.enter_context(session_for(order, Workload.STANDING))
        self.increments += 1
        yield self._spark

    def forget_tables(self) -> None:
        """Another process had the lease: what this one remembers of the tables' logs may be of tables that
        were replaced.
        """
        if self._spark is not None:
            self._spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]

    def end(self) -> None:
        """Stop it; the next increment starts another."""
        stack, self._stack, self._spark, self.increments = self._stack, ExitStack(), None, 0
        stack.close()
