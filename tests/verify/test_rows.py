"""What a verification computes for itself agrees with the engine where both must."""

import pytest
from pyspark.sql import SparkSession

from spark_jobs.silver.versions import content_hash
from spark_jobs.verify.rows import content

pytestmark = pytest.mark.spark

ROWS = """
SELECT 1L AS id, 'a' AS name, 1.50BD AS price, 0.1D AS share, TIMESTAMP '2024-05-01 10:00:00' AS at,
       array('x', NULL) AS tags, named_struct('x', 1, 'y', CAST(NULL AS INT)) AS box, map('k', 1) AS counts
UNION ALL SELECT NULL, '', NULL, -0.0D, NULL, NULL, NULL, NULL
UNION ALL SELECT NULL, NULL, NULL, 0.0D, NULL, array(), NULL, NULL
"""


def test_both_hash_the_content_of_a_row_alike(spark: SparkSession) -> None:
    rows = spark.sql(ROWS)

    both = rows.select(
        content(rows, rows.columns).alias("mine"), content_hash(rows, rows.columns).alias("engine")
    ).collect()

    assert [row["mine"] for row in both] == [row["engine"] for row in both]
    assert len({row["mine"] for row in both}) == 3
