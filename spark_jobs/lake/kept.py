"""Rows that are computed once for several questions: cached for the duration of a block."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pyspark.sql import DataFrame, SparkSession

from spark_jobs.config.spark_settings import CUTS_PLANS

if TYPE_CHECKING:
    pass


def in_one_piece(rows: DataFrame) -> DataFrame:
    """The rows of a small run as one partition, so that nothing after it needs a shuffle."""
    return rows.coalesce(1) if _is_small(rows) else rows


def _is_small(rows: DataFrame) -> bool:
    return rows.sparkSession.conf.get(CUTS_PLANS, "false") == "true"


@contextmanager
def kept(rows: DataFrame) -> Iterator[DataFrame]:
    """The rows, computed once for all that the block asks of them: of those that it is given.

    A small run cuts their plan off: a cached frame keeps it, and Spark analyses and matches it again for
    every question. A large one, or one with executors that may be lost, needs the plan to compute again what
    is gone.
    """
    if _is_small(rows):
        cut = rows.localCheckpoint()
        try:
            yield cut
        finally:
            cut._jdf.queryExecution().analyzed().rdd().unpersist(False)
        return
    rows.persist()
    try:
        yield rows
    finally:
        rows.unpersist()


def kept_bytes(spark: SparkSession) -> int:
    """How much is kept by now, for all tables that are at work: a bound for what any of the kept rows take.
    Spark is asked for no job.
    """
    stored = spark.sparkContext._jsc.sc().getRDDStorageInfo()
    return sum(int(one.memSize() + one.diskSize()) for one in stored)
