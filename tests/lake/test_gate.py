"""What tells the content of one batch from that of another, for a decision about it."""

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake.gate import Candidate

pytestmark = pytest.mark.spark


def fingerprint(spark: SparkSession, *rows: str) -> str:
    frame = spark.sql(" UNION ALL ".join(f"SELECT {row} AS value, now() AS _processed_at" for row in rows))
    return Candidate(frame, len(rows), lambda: frame).fingerprint()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("TIMESTAMP '2024-05-01 00:00:00.000001'", "TIMESTAMP '2024-05-01 00:00:00.000002'"),
        ("TIMESTAMP_NTZ '2024-05-01 00:00:00.000001'", "TIMESTAMP_NTZ '2024-05-01 00:00:00.000002'"),
        (
            "array(TIMESTAMP_NTZ '2024-05-01 00:00:00.000001')",
            "array(TIMESTAMP_NTZ '2024-05-01 00:00:00.000002')",
        ),
        ("CAST(NULL AS STRING)", "''"),
    ],
)
def test_content_that_differs_in_the_least_is_another_content(
    spark: SparkSession, one: str, other: str
) -> None:
    assert fingerprint(spark, one, one) != fingerprint(spark, one, other)


def test_the_same_rows_in_another_order_are_the_same_content(spark: SparkSession) -> None:
    assert fingerprint(spark, "1", "2", "2") == fingerprint(spark, "2", "1", "2")
    assert fingerprint(spark, "1", "2", "2") != fingerprint(spark, "2", "1", "1")
