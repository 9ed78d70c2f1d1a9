"""Tables of other pipelines, as their logs and ledgers tell of them, without Spark."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import keeps_changes
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import SWAPPING, Definition
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.upstream import look_at
from tests.conftest import unguarded

ROWS = pa.table({"id": [1]})
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def test_a_table_is_known_by_its_version_what_it_has_seen_and_which_one_it_is(tmp_path: Path) -> None:
    shop, board = Lake(str(tmp_path), "shop"), Lake(str(tmp_path), "board")
    absent = look_at(board, "shop.silver.orders")
    write_deltalake(shop.table("silver.orders"), ROWS)
    Ledger(shop, unguarded).write_definitions("r", {"silver.orders": Definition(3, {}, {})})
    Ledger(shop, unguarded).write_batch(
        "r", ("silver.orders", "stream", 3, 0), NOON, 0, Counts(), Seen(high=NOON)
    )
    there = look_at(board, "shop.silver.orders")

    assert (absent.version, absent.problem) == (None, "shop.silver.orders is not there yet")
    assert (there.version, there.seen.high, there.identity[0], there.problem) == (0, NOON, 3, None)
    assert there.identity == look_at(board, "shop.silver.orders").identity


def test_a_table_that_a_rebuild_is_replacing_is_not_read(tmp_path: Path) -> None:
    shop = Lake(str(tmp_path), "shop")
    write_deltalake(shop.table("silver.orders"), ROWS)
    Ledger(shop, unguarded).write_definitions("r1", {"silver.orders": Definition(1, {}, {})})
    Ledger(shop, unguarded).write_definitions("r2", {"silver.orders": Definition(2, {}, {}, SWAPPING)})

    found = look_at(Lake(str(tmp_path), "board"), "shop.silver.orders")

    assert found.version is None
    assert (
        found.problem
        == "shop.silver.orders is being replaced by a rebuild (`weir run shop` ends one that was cut)"
    )


def test_changes_are_kept_for_as_long_as_the_table_says(tmp_path: Path) -> None:
    for name, properties in (
        ("week", {}),
        ("days", {"delta.deletedFileRetentionDuration": "interval 2 days"}),
    ):
        for _ in range(3):
            write_deltalake(tmp_path / name, ROWS, mode="append", configuration=properties)
    week, days, now = str(tmp_path / "week"), str(tmp_path / "days"), datetime.now(UTC)

    assert keeps_changes(week, 0, now)
    assert keeps_changes(week, 1, now + timedelta(days=6))
    assert not keeps_changes(week, 1, now + timedelta(days=8))
    assert not keeps_changes(days, 1, now + timedelta(days=3))
    assert not keeps_changes(week, 2, now)  # nothing came after it that could be read
