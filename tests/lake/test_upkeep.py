"""Upkeep of single tables: how short a retention may be, and which files somebody still needs."""

from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake.upkeep import (
    RETENTION,
    Need,
    RetentionTooShort,
    check_retention,
    compact_files,
    delete_expired,
    first_in_need,
    measure_files,
)


def ids(*numbers: int) -> pa.Table:
    return pa.table({"id": pa.array(numbers, pa.int64())})


@pytest.fixture
def feed(tmp_path: Path) -> str:
    """Version 0 has a row, 1 changes it, 2 adds another, 3 puts the files together."""
    path = str(tmp_path / "feed")
    write_deltalake(path, ids(1), configuration={"delta.enableChangeDataFeed": "true"})
    DeltaTable(path).update(predicate="id = 1", updates={"id": "7"})
    write_deltalake(path, ids(2), mode="append")
    compact_files(path)
    return path


def files_of(path: str, version: int) -> set[str]:
    return {Path(uri).name for uri in DeltaTable(path, version=version).file_uris()}


def test_small_files_are_put_together_and_the_table_stays_the_same(feed: str) -> None:
    assert measure_files(feed).count == 1
    assert len(files_of(feed, 2)) == 2
    assert sorted(DeltaTable(feed).to_pyarrow_table()["id"].to_pylist()) == [2, 7]
    compact_files(feed)
    assert DeltaTable(feed).version() == 3, "there was nothing to do"


def test_who_has_read_everything_needs_nothing(feed: str) -> None:
    expired = files_of(feed, 0) | files_of(feed, 2)

    assert first_in_need(feed, 3, expired, [Need("gold.a", 3)]) is None
    assert first_in_need(feed, 3, [], [Need("gold.a", -1)]) is None


def test_a_batch_that_was_cut_needs_the_files_of_the_version_it_began_with(feed: str) -> None:
    at_two, gone_before = Need("a batch", 2), files_of(feed, 0)

    assert first_in_need(feed, 3, files_of(feed, 2), [at_two]) == at_two
    assert first_in_need(feed, 3, gone_before, [at_two]) is None


def test_a_stream_needs_the_changes_and_the_rows_that_it_has_not_read(feed: str) -> None:
    changes = {f"_change_data/{path.name}" for path in Path(feed, "_change_data").iterdir()}
    added = files_of(feed, 2) - files_of(feed, 1)

    needs = [Need("at the end", 3, is_whole=False), Need("behind", 0, is_whole=False)]
    assert first_in_need(feed, 3, changes, needs) == needs[1]
    assert first_in_need(feed, 3, changes, [Need("past the change", 1, is_whole=False)]) is None
    assert first_in_need(feed, 3, added, [Need("past the change", 1, is_whole=False)]) is not None
    assert first_in_need(feed, 3, added, [Need("past the row", 2, is_whole=False)]) is None


def test_where_the_log_is_gone_nothing_may_be_deleted(feed: str) -> None:
    Path(feed, "_delta_log", f"{1:020}.json").unlink()

    assert first_in_need(feed, 3, ["anything"], [Need("behind", 0)]) is not None
    assert first_in_need(feed, 3, ["anything"], [Need("past it", 1)]) is None


@pytest.mark.parametrize(
    "value",
    [
        "interval 0 days",
        "interval 0 seconds",
        "interval 6 days",
        "interval 167 hours",
        "soon",
        "interval 9 lives",
    ],
)
def test_a_retention_that_is_too_short_is_refused(tmp_path: Path, value: str) -> None:
    path = str(tmp_path / "table")
    write_deltalake(path, ids(1), configuration={RETENTION: "interval 7 days"})
    log = Path(path, "_delta_log", f"{0:020}.json")
    log.write_text(log.read_text().replace("interval 7 days", value))

    with pytest.raises(RetentionTooShort) as refused:
        check_retention(path, "silver.orders")

    assert str(refused.value).startswith(
        f"silver.orders: its property {RETENTION} is '{value}', and readers need 7 days at least; "
    )
    with pytest.raises(RetentionTooShort):
        delete_expired(path, "silver.orders")


@pytest.mark.parametrize(
    "value", [None, "interval 7 days", "interval 168 hours", "interval 1 week", "interval 6 days 24 hours"]
)
def test_a_retention_as_long_as_deltas_own_passes(tmp_path: Path, value: str | None) -> None:
    path = str(tmp_path / "table")
    write_deltalake(path, ids(1), configuration={RETENTION: value} if value else None)

    check_retention(path, "silver.orders")


def test_sparks_checksum_of_the_last_checkpoint_goes_when_another_takes_its_place(tmp_path: Path) -> None:
    path = str(tmp_path / "table")
    for number in range(3):
        write_deltalake(path, ids(number), mode="append", configuration={"delta.checkpointInterval": "2"})
    checksum = Path(path, "_delta_log", "._last_checkpoint.crc")
    checksum.write_text("of what Spark wrote")

    compact_files(path)

    assert '"version":3' in Path(path, "_delta_log", "_last_checkpoint").read_text().replace(" ", "")
    assert not checksum.exists()
