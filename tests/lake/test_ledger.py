from datetime import UTC, datetime
from pathlib import Path

import pytest
from deltalake import DeltaTable

from spark_jobs.lake import ledger as ledger_module
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger

AT = datetime(2026, 3, 1, tzinfo=UTC)
COUNTS = Counts(rows_in=10, inserted=4, updated=1, superseded=2, duplicate=1, quarantined=1, filtered=1)


def test_counts_add_up_class_by_class_and_name_what_is_missing() -> None:
    assert COUNTS.missing == 0
    assert (COUNTS + Counts(rows_in=3, inserted=1)).missing == 2
    assert Counts.of_classes(3, {"inserted": 2, "filtered": 1}) == Counts(rows_in=3, inserted=2, filtered=1)
    assert Counts.of_classes(3, {"inserted": 2}).missing == 1


def test_a_batch_is_done_once_its_marker_is_written_also_for_the_next_reader(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    ledger = Ledger(lake)
    batch = ("silver.orders", "stream", 1, 7)
    assert not ledger.has_batch(batch)
    ledger.write_batch("run", batch, AT, AT, 3, COUNTS)
    assert ledger.has_batch(batch)
    assert Ledger(lake).has_batch(batch)
    assert Ledger(lake).has_any_batch("silver.orders", "stream")
    assert not Ledger(lake).has_any_batch("silver.orders", "reenrich.customers")


def test_the_last_run_of_a_table_says_what_it_consumed(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"))
    assert ledger.consumed_inputs() == {}
    for version in (4, 5):
        at = AT.replace(hour=version)
        ledger.write_table("run", "silver.orders", at, 1.0, {"bronze.orders": version}, 2, 1, COUNTS)
    assert ledger.consumed_inputs() == {"silver.orders": {"bronze.orders": 5}}


def test_the_ledger_stays_small_however_many_runs_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "COMMITS_PER_COMPACTION", 5)
    lake = Lake(str(tmp_path), "shop")
    for number in range(12):
        Ledger(lake).write_batch("run", ("silver.orders", "stream", 1, number), AT, AT, 3, COUNTS)
    assert len(Ledger(lake).rows("batches")) == 12
    assert len(DeltaTable(lake.ledger("batches")).file_uris()) < 6
