"""Reads and writes of Delta tables: what they give, and how many questions they cost."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.testing import assertDataFrameEqual

from spark_jobs.lake import delta_log, tables, upkeep
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.gate import OpenGate
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease, LeaseNotTaken, hold_lease, refuse_writes
from spark_jobs.lake.tables import Batch
from tests.conftest import unguarded
from tests.lake.questions import Questions, counting

pytestmark = pytest.mark.spark

NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
DDL = "id bigint, amount decimal(12,2), at timestamp, tags array<struct<name: string, weight: double>>"
NAME = "silver.sales"


@pytest.fixture
def lease(tmp_path: Path) -> Iterator[Lease]:
    with hold_lease(str(tmp_path / "lease"), "shop", "test") as held:
        yield held


def new_batch(tmp_path: Path, lease: Lease, number: int = 0, place: str = "lake") -> Batch:
    lake = Lake(str(tmp_path / place), "shop")
    tables.create(lake.table(NAME), DDL, tables.CHANGE_FEED, unguarded)
    inputs = {NAME: delta_log.table_version(lake.table(NAME))}
    return Batch(lake, lease, NAME, "stream", 1, number, "run", NOON, inputs, OpenGate())


def sales(spark: SparkSession, *ids: int, amount: str = "9.50") -> DataFrame:
    values = [f"cast('{amount}' as decimal(12,2)) AS amount", "timestamp'2024-05-01 10:00:00.123456' AS at"]
    tags = "array(named_struct('name', 'new', 'weight', 0.5D)) AS tags"
    return spark.createDataFrame(pa.table({"id": list(ids)})).selectExpr("id", *values, tags)


def by_delta(spark: SparkSession, path: str, version: int) -> DataFrame:
    return spark.read.format("delta").option("versionAsOf", version).load(path)


def test_no_table_is_created_without_the_lease(tmp_path: Path) -> None:
    with pytest.raises(LeaseNotTaken):
        tables.create(str(tmp_path / "new"), DDL, tables.CHANGE_FEED, refuse_writes)

    assert not (tmp_path / "new").exists()


def test_a_read_of_a_small_table_asks_nothing_but_the_query_itself(
    spark: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    batch = new_batch(tmp_path, lease)
    tables.append(sales(spark, 1, 2), NAME, batch, Counts(inserted=2))

    with counting(spark) as asked:
        found = tables.read(spark, batch.lake.table(NAME)).where("id > 1").collect()

    assert [row["id"] for row in found] == [2]
    assert (asked.executions, asked.jobs) == (1, 1)


def test_every_version_of_a_small_table_is_read_as_delta_reads_it(
    spark: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    batch = new_batch(tmp_path, lease)
    path = batch.lake.table(NAME)
    tables.append(sales(spark, 1, 2), NAME, batch, Counts(inserted=2))
    # an older table gets a column that came later
    tables.create(path, f"{DDL}, note string", tables.CHANGE_FEED, unguarded)
    tables.replace(
        sales(spark, 2, amount="1.00").withColumn("note", F.lit("new")),
        NAME,
        "id = 2",
        new_batch(tmp_path, lease, 1),
        Counts(),
    )

    versions = range((delta_log.table_version(path) or 0) + 1)

    assert len(versions) == 4
    for version in versions:
        assert delta_log.plain_files(path, version) is not None
        found, expected = tables.read(spark, path, version), by_delta(spark, path, version)
        assert found.schema == expected.schema
        assertDataFrameEqual(found, expected)
    assert tables.read(spark, path, 0).count() == 0


def test_a_read_stays_at_its_version_whatever_is_written_later(
    spark: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    batch = new_batch(tmp_path, lease)
    path = batch.lake.table(NAME)
    tables.append(sales(spark, 1, 2), NAME, batch, Counts())
    pinned, empty = tables.read(spark, path), tables.read(spark, path, 0)
    before = sorted(row["id"] for row in pinned.collect())

    tables.append(sales(spark, 3), NAME, new_batch(tmp_path, lease, 1), Counts())
    tables.replace(sales(spark, 2, 4), NAME, "id = 2 OR id = 4", new_batch(tmp_path, lease, 2), Counts())
    tables.overwrite(sales(spark, 9), NAME, new_batch(tmp_path, lease, 3), Counts())

    assert sorted(row["id"] for row in pinned.collect()) == before == [1, 2]
    assert empty.count() == 0
    assert [row["id"] for row in tables.read(spark, path).collect()] == [9]


def partitioned(rows: DataFrame, path: str) -> None:
    rows.write.format("delta").partitionBy("id").save(path)


def with_deleted_rows(rows: DataFrame, path: str) -> None:
    rows.coalesce(1).write.format("delta").option("delta.enableDeletionVectors", "true").save(path)
    rows.sparkSession.sql(f"DELETE FROM delta.`{path}` WHERE id = 2")


def with_a_renamed_column(rows: DataFrame, path: str) -> None:
    rows.write.format("delta").option("delta.columnMapping.mode", "name").save(path)
    rows.sparkSession.sql(f"ALTER TABLE delta.`{path}` RENAME COLUMN amount TO price")


@pytest.mark.parametrize("write", [partitioned, with_deleted_rows, with_a_renamed_column])
def test_a_table_that_is_more_than_its_files_is_read_by_delta(
    spark: SparkSession, tmp_path: Path, write: Callable[[DataFrame, str], None]
) -> None:
    path = str(tmp_path / "table")
    write(sales(spark, 1, 2, 3), path)
    version = delta_log.table_version(path) or 0

    assert delta_log.plain_files(path) is None
    assertDataFrameEqual(tables.read(spark, path), by_delta(spark, path, version))


def test_a_folder_whose_name_is_a_pattern_is_read_as_it_is_called(
    spark: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    for place, number in (("lake[1]", 1), ("lake1", 2), ("a lake 100%", 3)):
        batch = new_batch(tmp_path, lease, place=place)
        tables.append(sales(spark, number), NAME, batch, Counts())
        assert [row["id"] for row in tables.read(spark, batch.lake.table(NAME)).collect()] == [number]


def test_many_or_large_files_are_left_to_deltas_statistics(
    spark: SparkSession, tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = new_batch(tmp_path, lease)
    path = batch.lake.table(NAME)
    for number in range(2):
        tables.append(sales(spark, number), NAME, new_batch(tmp_path, lease, number), Counts())

    assert delta_log.plain_files(path) is not None
    for limit in ("FEW_FILES", "FEW_BYTES"):
        with monkeypatch.context() as patch:
            patch.setattr(delta_log, limit, 1)
            assert delta_log.plain_files(path) is None
            assertDataFrameEqual(tables.read(spark, path), by_delta(spark, path, 2))


def test_rows_are_fixed_that_are_held_and_picked_from_and_no_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    held = sales(spark, 1, 2, 3)
    checkpointed = spark.range(3).localCheckpoint()
    cached = spark.range(3).persist()

    assert tables.is_fixed(held.where("id > 1").select("id").alias("new"))
    assert tables.is_fixed(checkpointed.where("id > 1").unionAll(held.select("id")))
    assert not tables.is_fixed(cached.where("id > 1"))
    assert not tables.is_fixed(held.where(F.rand() > 0.5))
    assert not tables.is_fixed(held.dropDuplicates(["id"]))
    assert not tables.is_fixed(spark.range(3))
    assert not tables.is_fixed(held.where(F.col("id").isin(1)).join(cached, on="id", how="left_semi"))
    cached.unpersist()


def test_a_merge_of_fixed_rows_makes_no_copy_and_leaves_the_same_rows_and_changes(
    spark: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    counted: dict[str, Questions] = {}
    left, changes = {}, {}
    for place in ("fixed", "computed"):
        tables.append(sales(spark, 1, 2, 3), NAME, new_batch(tmp_path, lease, 0, place), Counts())
        batch = new_batch(tmp_path, lease, 1, place)
        path = batch.lake.table(NAME)
        rows = sales(spark, 2, 3, 4, amount="7.00")
        rows = rows if place == "fixed" else rows.dropDuplicates(["id"])
        for _ in range(2):  # the second time it has been done
            with (
                counting(spark) as asked,
                tables.merging(rows, NAME, "old.id = new.id", batch, Counts()) as merge,
            ):
                merge = merge.whenMatchedDelete(condition="new.id = 3").whenMatchedUpdate(
                    set={"amount": "new.amount"}
                )
                merge.whenNotMatchedInsertAll().execute()
            counted.setdefault(place, asked)
        left[place] = tables.read(spark, path)
        assert delta_log.table_version(path) == 2
        feed = tables.read_changes(spark, path, 1, 2).drop("_commit_version", "_commit_timestamp")
        changes[place] = feed.localCheckpoint()

    assertDataFrameEqual(left["fixed"], left["computed"])
    assertDataFrameEqual(changes["fixed"], changes["computed"])
    kinds = sorted((row["id"], row["_change_type"]) for row in changes["fixed"].collect())
    assert kinds == [(2, "update_postimage"), (2, "update_preimage"), (3, "delete"), (4, "insert")]
    assert counted["fixed"].executions == counted["computed"].executions - 1
    assert counted["fixed"].jobs < counted["computed"].jobs


def test_rows_of_the_driver_are_appended_once_and_without_a_question(
    spark: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    batch = new_batch(tmp_path, lease)
    path = batch.lake.table(NAME)
    held = sales(spark, 1, 2).toArrow()

    with counting(spark) as asked:
        for _ in range(2):
            tables.append_held(held, spark, NAME, batch, Counts(inserted=2))

    assert (asked.executions, asked.jobs) == (0, 0)
    assertDataFrameEqual(by_delta(spark, path, 1), sales(spark, 1, 2))
    assert delta_log.table_version(path) == 1
    assert delta_log.has_transaction(path, batch.app_id, 0)
    assert not delta_log.has_transaction(path, batch.app_id, 1)
    assert delta_log.noted_counts(path, "stream", 0) == Counts(inserted=2)
    changes = tables.read_changes(spark, path, 0, 1).select("id", "_change_type").collect()
    assert sorted(tuple(row) for row in changes) == [(1, "insert"), (2, "insert")]
    tables.append(sales(spark, 1, 2), NAME, batch, Counts())  # Spark knows the transaction too
    assert delta_log.table_version(path) == 1


def test_rows_without_any_are_a_commit_all_the_same(
    spark: SparkSession, tmp_path: Path, lease: Lease
) -> None:
    batch = new_batch(tmp_path, lease)

    tables.append_held(sales(spark, 1).where("id > 1").toArrow(), spark, NAME, batch, Counts())

    assert delta_log.has_transaction(batch.lake.table(NAME), batch.app_id, 0)
    assert tables.read(spark, batch.lake.table(NAME)).count() == 0


def test_a_few_rows_take_one_job_and_many_are_left_to_spark(
    spark: SparkSession, tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = spark.range(1, 3).join(sales(spark, 1, 2), on="id", how="inner").localCheckpoint()
    batch = new_batch(tmp_path, lease)
    with counting(spark) as few:
        tables.append_few(rows, 2, 9, NAME, batch, Counts())
    monkeypatch.setattr(tables, "FEW_ROWS", 1)
    with counting(spark) as many:
        tables.append_few(rows, 2, 9, NAME, new_batch(tmp_path, lease, 1), Counts())
    monkeypatch.setattr(tables, "FEW_ROWS", 500)
    with counting(spark) as long:
        tables.append_few(rows, 2, tables.FEW_BYTES, NAME, new_batch(tmp_path, lease, 2), Counts())

    assert (few.executions, few.jobs) == (1, 1)
    assert (many.executions, many.jobs) == (long.executions, long.jobs) == (4, 2)
    assert sorted(row["id"] for row in tables.read(spark, batch.lake.table(NAME)).collect()) == [
        1,
        1,
        1,
        2,
        2,
        2,
    ]


def test_small_files_are_put_together_without_a_question_and_those_of_a_load_stay(
    spark: SparkSession, tmp_path: Path, lease: Lease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(upkeep, "FEW_BYTES", 20_000)
    session = spark.newSession()
    held = [sales(spark, number).toArrow() for number in range(4)]
    load = sales(spark, *range(100, 2_000)).withColumn(
        "tags", F.expr("array(named_struct('name', uuid(), 'weight', rand()))")
    )
    tables.append(load.coalesce(1), NAME, new_batch(tmp_path, lease), Counts())
    path = new_batch(tmp_path, lease).lake.table(NAME)
    of_load = delta_log.plain_files(path)
    for number in range(3):
        tables.append_held(held[number], session, NAME, new_batch(tmp_path, lease, number + 1), Counts())
    session.conf.set(tables.COMPACT, "true")
    before = delta_log.table_version(path)

    with counting(spark) as asked:
        for _ in range(2):  # the second time as after a crash: nothing is left to do
            tables.append_held(held[3], session, NAME, new_batch(tmp_path, lease, 4), Counts())

    assert before is not None
    assert delta_log.table_version(path) == before + 2
    assert (asked.executions, asked.jobs) == (0, 0)
    plain = delta_log.plain_files(path)
    assert plain is not None
    assert of_load is not None
    assert of_load.size > upkeep.FEW_BYTES
    assert len(plain.files) == 2
    assert set(of_load.files) < set(plain.files)
    assert sorted(row["id"] for row in tables.read(spark, path).where("id < 100").collect()) == [0, 1, 2, 3]
    changes = tables.read_changes(spark, path, before, before + 2).select("id", "_change_type").collect()
    assert [tuple(row) for row in changes] == [(3, "insert")]
