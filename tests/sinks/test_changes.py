"""What a batch of changes comes to: pure transforms over a few rows."""

from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.sinks.changes import Tally, changed_images, net_changes, whole_images

pytestmark = pytest.mark.spark

FEED = "id bigint, name string, _change_type string, _commit_version bigint"
Change = tuple[int | None, str | None, str, int]


def net(
    spark: SparkSession, changes: list[Change], key: list[str] | None
) -> tuple[list[tuple[Any, ...]], Tally]:
    tally = Tally()
    rows = net_changes(
        changed_images(spark.createDataFrame(changes, FEED), ["id", "name"]), ["id", "name"], key, tally
    )
    return sorted(((row["_operation"], row["id"], row["name"]) for row in rows.collect()), key=repr), tally


def test_changes_of_one_key_come_to_one(spark: SparkSession) -> None:
    changes: list[Change] = [
        # new, and changed at once
        (1, "a", "insert", 3), (1, "a", "update_preimage", 4), (1, "b", "update_postimage", 4),
        # changed, then gone
        (2, "a", "update_preimage", 4), (2, "b", "update_postimage", 4), (2, "b", "delete", 5),
        (3, "x", "insert", 3), (3, "x", "delete", 5),  # came and went
        (4, "x", "delete", 4), (4, "x", "insert", 4),  # replaced by itself, as a window is
        (None, "y", "delete", 4), (None, "z", "insert", 4),  # a group without a value
    ]  # fmt: skip

    rows, tally = net(spark, changes, ["id"])

    assert rows == [("delete", 2, "b"), ("insert", 1, "b"), ("update", None, "z")]
    counts = tally.counts()
    assert (counts.rows_in, counts.inserted, counts.updated, counts.deleted, counts.superseded) == (
        10,
        1,
        1,
        1,
        7,
    )
    assert (counts.grown, counts.missing, tally.version, tally.doubled) == (0, 0, 5, 0)


def test_equal_rows_without_a_key_are_as_many_as_came_more_than_went(spark: SparkSession) -> None:
    changes: list[Change] = [(1, "a", "insert", 3)] * 3 + [
        (1, "a", "delete", 4),
        (2, None, "delete", 4),
        (3, "c", "delete", 4),
    ]
    changes += [(3, "c", "insert", 4)]

    rows, tally = net(spark, changes, None)

    assert rows == [("delete", 2, None), ("insert", 1, "a"), ("insert", 1, "a")]
    assert (tally.counts().inserted, tally.counts().deleted, tally.counts().grown) == (2, 1, 1)


def test_a_key_of_two_rows_is_found(spark: SparkSession) -> None:
    _, tally = net(spark, [(1, "a", "insert", 3), (1, "b", "insert", 3)], ["id"])

    assert tally.doubled == 1


def test_two_versions_of_a_table_give_their_difference(spark: SparkSession) -> None:
    columns, tally = ["id", "name"], Tally()
    old = whole_images(
        spark.createDataFrame([(1, "a"), (2, "b"), (3, "c")], "id bigint, name string"),
        columns,
        4,
        is_new=False,
    )
    new = whole_images(
        spark.createDataFrame([(1, "a"), (2, "x"), (4, "d")], "id bigint, name string"),
        columns,
        9,
        is_new=True,
    )

    rows = net_changes(old.unionByName(new), columns, ["id"], tally).collect()

    assert sorted((row["_operation"], row["id"]) for row in rows) == [
        ("delete", 3),
        ("insert", 4),
        ("update", 2),
    ]
    assert len({row["_row"] for row in rows}) == 3
    assert (tally.counts().grown, tally.version) == (0, 9)
