"""Verification of a workshop's lake in the tests' own session."""

from collections.abc import Callable
from contextlib import nullcontext

import pytest
from pyspark.sql import SparkSession

from spark_jobs.verify.pipeline import verify_pipeline
from spark_jobs.verify.result import TableCheck, Verification
from tests.conftest import PROFILE, Workshop

Verify = Callable[..., Verification]


@pytest.fixture(scope="session")
def verify(spark: SparkSession) -> Verify:
    def call(workshop: Workshop, pipeline: str, *select: str, rows: int = 5) -> Verification:
        return verify_pipeline(
            workshop.project, pipeline, PROFILE, select, rows, start=lambda: nullcontext(spark)
        )

    return call


def verified(workshop: Workshop, pipeline: str) -> list[str]:
    """The tables that differ, of a verification that came to its end."""
    assert workshop.spark is not None
    spark = workshop.spark
    found = verify_pipeline(workshop.project, pipeline, PROFILE, start=lambda: nullcontext(spark))
    assert found.tables, found.message
    assert (found.exit_code == 0) == all(check.is_equal for check in found.tables), found.message
    return [*differing(found)]


def checks(found: Verification) -> dict[str, TableCheck]:
    return {check.table: check for check in found.tables}


def differing(found: Verification) -> dict[str, TableCheck]:
    return {check.table: check for check in found.tables if not check.is_equal}
