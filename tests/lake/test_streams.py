"""A query over an append-only table: each row once, whatever of its first batch was done before, and however
the table looks by then.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake import delta_commit, delta_log, streams, tables
from spark_jobs.lake.checkpoints import Checkpoint, CheckpointDamaged
from tests.conftest import unguarded

pytestmark = pytest.mark.spark


@pytest.fixture
def table(tmp_path: Path) -> str:
    """Three commits of one row each."""
    path = str(tmp_path / "bronze")
    tables.create(path, "id bigint", tables.APPEND_ONLY, unguarded)
    for number in range(3):
        delta_commit.append_rows(path, pa.table({"id": [number]}), "test", number, "{}")
    return path


class Killed(Exception):
    pass


def read(spark: SparkSession, table: str, checkpoint: Checkpoint, files: int | None = None) -> DataFrame:
    return streams.read_rows(spark, table, files, checkpoint)


def batches(
    rows: DataFrame,
    checkpoint: Checkpoint,
    last_done: int | None = None,
    during: Callable[[], None] = lambda: None,
) -> list[list[int]]:
    """The ids of each batch that the query hands over until it ends or is killed;
    `during` is called in each.
    """
    found: list[list[int]] = []

    def handle(batch: DataFrame, number: int) -> None:
        found.append([row["id"] for row in batch.collect()])
        during()

    with suppress(Killed):
        streams.start_stream(rows, checkpoint, last_done, handle).wait()
    return found


def kill() -> None:
    raise Killed


def test_rows_come_in_the_order_of_their_commits(spark: SparkSession, tmp_path: Path, table: str) -> None:
    checkpoint = Checkpoint("silver.t", str(tmp_path / "checkpoint"))

    first = batches(read(spark, table, checkpoint, files=1), checkpoint)
    delta_commit.append_rows(table, pa.table({"id": [3]}), "test", 3, "{}")
    second = batches(read(spark, table, checkpoint, files=1), checkpoint, last_done=2)

    assert (first, second) == ([[0], [1], [2]], [[3]])


def test_a_first_batch_of_commits_is_the_same_after_the_table_was_compacted(
    spark: SparkSession, tmp_path: Path, table: str
) -> None:
    checkpoint = Checkpoint("silver.t", str(tmp_path / "checkpoint"))
    assert [sorted(ids) for ids in batches(read(spark, table, checkpoint), checkpoint, during=kill)] == [
        [0, 1, 2]
    ]
    delta_commit.append_rows(table, pa.table({"id": [3]}), "test", 3, "{}")
    DeltaTable(table).optimize.compact()
    delta_commit.append_rows(table, pa.table({"id": [4]}), "test", 4, "{}")

    again = batches(read(spark, table, checkpoint), checkpoint)

    assert [sorted(ids) for ids in again] == [[0, 1, 2], [3, 4]]


def test_a_first_batch_that_is_a_part_of_the_table_stays_one(
    spark: SparkSession, tmp_path: Path, table: str
) -> None:
    """As a query was begun by a version that knew no other way."""
    checkpoint = Checkpoint("silver.t", str(tmp_path / "checkpoint"))
    begun = batches(streams.read_rows(spark, table, 1), checkpoint, during=kill)
    assert [len(ids) for ids in begun] == [1]

    again = batches(read(spark, table, checkpoint, files=1), checkpoint)

    assert again[0] == begun[0]
    assert sorted(id_ for ids in again for id_ in ids) == [0, 1, 2]


def test_a_first_batch_whose_offsets_are_damaged_is_named(
    spark: SparkSession, tmp_path: Path, table: str
) -> None:
    checkpoint = Checkpoint("silver.t", str(tmp_path / "checkpoint"))
    batches(read(spark, table, checkpoint), checkpoint)
    offsets = Path(checkpoint.path, "offsets/0")
    offsets.write_text(offsets.read_text().splitlines()[0])

    with pytest.raises(CheckpointDamaged, match=r"silver\.t: .*offsets/0 of its checkpoint is damaged"):
        read(spark, table, checkpoint)


def test_a_table_that_lost_rows_or_its_first_commits_is_read_as_it_is(tmp_path: Path, table: str) -> None:
    assert delta_log.only_grew(table)
    DeltaTable(table).optimize.compact()
    assert not delta_log.only_grew(table)

    other = str(tmp_path / "other")
    tables.create(other, "id bigint", tables.APPEND_ONLY, unguarded)
    delta_commit.append_rows(other, pa.table({"id": [1]}), "test", 1, "{}")
    assert delta_log.only_grew(other)
    DeltaTable(other).create_checkpoint()
    Path(other, "_delta_log", f"{0:020}.json").unlink()
    assert not delta_log.only_grew(other)
    assert not delta_log.only_grew(str(tmp_path / "none"))
