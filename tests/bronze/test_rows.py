"""Rows of tables of others become records of a bounded length."""

import pytest
from pyspark.sql import SparkSession

from spark_jobs.bronze.rows import added_rows, changed_rows
from spark_jobs.config.sources import DeltaSource

SOURCE = DeltaSource.model_validate({"format": "delta", "path": "partner/orders", "bytes_per_record": 1000})
TOO_LONG = "a record of 2,015 bytes, longer than bytes_per_record allows: 1,000"
ROWS = [(1, "a", "/f/part-1"), (2, "x" * 2000, "/f/part-1"), (3, "c", "/f/part-1")]


@pytest.mark.spark
def test_a_row_of_another_table_that_is_too_long_is_set_aside_with_its_place_and_size(
    spark: SparkSession,
) -> None:
    rows = spark.createDataFrame(ROWS, "id int, t string, data_file string")

    found = added_rows(rows, SOURCE, "data_file").orderBy("_line").collect()

    assert [(row["_line"], row["record"], row["_problem"]) for row in found] == [
        (1, '{"id":1,"t":"a"}', None),
        (2, None, TOO_LONG),
        (3, '{"id":3,"t":"c"}', None),
    ]


@pytest.mark.spark
def test_a_change_that_is_too_long_is_set_aside_as_well(spark: SparkSession) -> None:
    rows = spark.createDataFrame(ROWS, "id int, t string, data_file string")
    changes = rows.selectExpr(
        "*",
        "'insert' AS _change_type",
        "5L AS _commit_version",
        "TIMESTAMP '2026-01-01' AS _commit_timestamp",
    )

    found = changed_rows(changes, SOURCE, "data_file").orderBy("_line").collect()

    assert [(row["_line"], row["record"] is None, row["_problem"] is None) for row in found] == [
        (1, False, True),
        (2, True, False),
        (3, False, True),
    ]


@pytest.mark.spark
def test_rows_of_data_files_with_the_same_name_in_two_partitions_have_places_of_their_own(
    spark: SparkSession,
) -> None:
    files = [f"file:///landing/partner/orders/{name}" for name in ("d=1/part-0", "d=2/part-0", "part-1")]
    rows = spark.createDataFrame([(1, file) for file in files], "id int, data_file string")
    inserts = (
        "'insert' AS _change_type",
        "5L AS _commit_version",
        "TIMESTAMP '2026-01-01' AS _commit_timestamp",
    )

    added = added_rows(rows, SOURCE, "data_file").collect()
    changed = changed_rows(rows.selectExpr("*", *inserts), SOURCE, "data_file").collect()

    assert sorted(row["_file"] for row in added) == [
        "partner/orders/d=1/part-0", "partner/orders/d=2/part-0", "partner/orders/part-1",
    ]  # fmt: skip
    assert len({row["_file_id"] for row in changed}) == 3
