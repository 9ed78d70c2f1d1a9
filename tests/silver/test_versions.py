"""What tells versions apart, and their order."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.silver.versions import content_hash, rank_versions

pytestmark = pytest.mark.spark


def test_rows_that_say_something_else_have_another_hash(spark: SparkSession) -> None:
    schema = "a int, b int, c string, d array<string>, e struct<x:int,y:int>, f map<string,int>"
    rows = [
        (1, None, None, None, None, None),
        (None, 1, None, None, None, None),
        (None, None, None, None, None, None),
        (1, 1, None, None, None, None),
        (None, None, "", None, None, None),
        (None, None, None, [], None, None),
        (None, None, None, [""], None, None),
        (None, None, None, [None], None, None),
        (None, None, None, [None, ""], None, None),
        (None, None, None, ["", None], None, None),
        (None, None, None, None, (1, None), None),
        (None, None, None, None, (None, 1), None),
        (None, None, None, None, (None, None), None),
        (None, None, None, None, None, {}),
        (None, None, None, None, None, {"x": None}),
        (None, None, None, None, None, {"x": 1}),
    ]
    frame = spark.createDataFrame(rows, schema)

    hashed = frame.withColumn("hash", content_hash(frame, frame.columns)).collect()

    by_hash: dict[int, list[object]] = {}
    for row in hashed:
        by_hash.setdefault(row["hash"], []).append(tuple(row)[:-1])
    assert [same for same in by_hash.values() if len(same) > 1] == []


def test_versions_of_a_batch_are_ranked_and_rows_set_aside_keep_out(spark: SparkSession) -> None:
    at = datetime(2024, 5, 1, tzinfo=UTC)
    rows = [
        (1, 1, 10, None, "f1", 1),
        (1, 2, 20, None, "f1", 2),
        (1, 2, 30, None, "f1", 3),
        (1, 2, 30, None, "f1", 4),
        (1, 2, 20, None, "f1", 5),
        (1, 1, 10, None, "f1", 6),
        (None, 9, 99, "quarantined", "f1", 7),
        (1, 9, 99, "filtered", "f1", 8),
        (2, 1, 10, None, "f1", 9),
    ]
    frame = spark.createDataFrame(
        [(*row, at) for row in rows], "k int, seq int, _content long, _class string, _file_id string, _line long, _arrived_at timestamp"
    ).withColumns({"_is_delete": F.lit(False), "_chunk": F.lit(1), "_file": F.lit("f")})

    ranked = rank_versions(frame, ["k"], "seq").select("_line", "_class").orderBy(F.col("_line")).collect()

    assert [tuple(row) for row in ranked] == [
        (1, "superseded"),
        (2, "superseded"),
        (3, "winner"),
        (4, "duplicate"),
        (5, "duplicate"),
        (6, "duplicate"),
        (7, "quarantined"),
        (8, "filtered"),
        (9, "winner"),
    ]
