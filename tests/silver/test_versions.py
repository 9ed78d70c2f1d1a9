"""What tells versions apart, and their order."""

from datetime import UTC, datetime

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from spark_jobs.silver.versions import content_hash, judge_winners, rank_versions

pytestmark = pytest.mark.spark


def test_rows_that_say_something_else_have_another_hash(spark: SparkSession) -> None:
    schema = (
        "a int, b int, c string, d array<string>, e struct<x:int,y:int>, f map<string,int>, g"
        " struct<at:timestamp>"
    )
    rows = [
        (1, None, None, None, None, None, None),
        (None, 1, None, None, None, None, None),
        (None, None, None, None, None, None, None),
        (1, 1, None, None, None, None, None),
        (None, None, "", None, None, None, None),
        (None, None, None, [], None, None, None),
        (None, None, None, [""], None, None, None),
        (None, None, None, [None], None, None, None),
        (None, None, None, [None, ""], None, None, None),
        (None, None, None, ["", None], None, None, None),
        (None, None, None, None, (1, None), None, None),
        (None, None, None, None, (None, 1), None, None),
        (None, None, None, None, (None, None), None, None),
        (None, None, None, None, None, {}, None),
        (None, None, None, None, None, {"x": None}, None),
        (None, None, None, None, None, {"x": 1}, None),
        (None, None, None, None, None, None, (datetime(2024, 5, 1, 0, 0, 0, 1, UTC),)),
        (None, None, None, None, None, None, (datetime(2024, 5, 1, 0, 0, 0, 2, UTC),)),
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
        [(*row, at) for row in rows],
        "k int, seq int, _content long, _class string, _file_id string, _line long, _arrived_at timestamp",
    ).withColumns({"_is_delete": F.lit(False), "_chunk": F.lit(1), "_file": F.lit("f")})

    ranked = rank_versions(frame, ["k"], ["seq"]).select("_line", "_class").orderBy(F.col("_line")).collect()

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


def test_a_winner_that_ties_with_what_stands_or_was_deleted_is_marked_and_a_newer_copy_takes_the_place_over(
    spark: SparkSession,
) -> None:
    """Key 1 meets another content, 2 a delete, 3 its own copy of an earlier arrival, 4 its own copy of a
    later one, 5 an older version, 6 none; 6 ties in its batch, and so does 7, which meets a newer version.
    """
    columns = "k int, seq int, _content long, _is_delete boolean, _chunk long"
    new = [
        (1, 5, 20, False, 3),
        (2, 5, 20, False, 3),
        (3, 5, 20, False, 3),
        (4, 5, 20, False, 3),
        (5, 5, 20, False, 3),
        (6, 5, 20, False, 3),
        (7, 5, 20, False, 3),
    ]
    old = [
        (1, 5, 90, False, 2),
        (2, 5, 90, True, 2),
        (3, 5, 20, False, 2),
        (4, 5, 20, False, 4),
        (5, 4, 90, False, 4),
        (7, 6, 90, False, 2),
    ]
    winners = spark.createDataFrame(new, columns).withColumns(
        {"_class": F.lit("winner"), "_is_tied": F.col("k") >= 6}
    )

    def judged(*ties: str) -> list[tuple[object, ...]]:
        rows = judge_winners(winners, spark.createDataFrame(old, columns), ["k"], ["seq"], ties, 7)
        return [
            tuple(row) for row in rows.select("_class", "_is_tied", "_is_newer_copy").orderBy("k").collect()
        ]

    others = [("updated", False, False), ("inserted", True, False), ("superseded", False, False)]
    assert judged() == [
        ("superseded", True, False),
        ("superseded", True, False),
        *[("duplicate", False, False)] * 2,
        *others,
    ]
    by_arrival = [
        ("updated", True, False),
        ("inserted", True, False),
        ("duplicate", False, True),
        ("duplicate", False, False),
    ]
    assert judged("_chunk") == [*by_arrival, *others]
