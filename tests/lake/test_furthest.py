"""Which record moved a watermark."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import write_deltalake

from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.seen import Seen
from spark_jobs.landing.arrivals_schema import ARRIVALS
from spark_jobs.operations.status import find_furthest
from tests.conftest import unguarded

AT = datetime(2026, 3, 1, 8, 0, 0, 123_456, tzinfo=UTC)
POISON = AT + timedelta(days=26_000)


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    """Three batches, of which the second has seen an event time of long after the others."""
    lake = Lake(str(tmp_path), "shop")
    ledger = Ledger(lake, unguarded)
    for number, (high, chunk) in enumerate(((AT, 0), (POISON, 2), (AT + timedelta(hours=1), 3))):
        ledger.write_batch(
            "run", ("silver.orders", "stream", 1, number), AT, number, Counts(), Seen(high=high, chunk=chunk)
        )
    files = [(0, "orders/a.json"), (1, "orders/b.json"), (2, "orders/c.json"), (3, "orders/d.json")]
    rows = [{"chunk": chunk, "path": path, "verdict": "taken"} for chunk, path in files]
    write_deltalake(lake.arrivals("orders"), pa.Table.from_pylist(rows, schema=ARRIVALS))
    return lake


def write_silver(lake: Lake, *times: datetime) -> None:
    count = len(times)
    columns = {
        "_event_at": pa.array(times, pa.timestamp("us", "UTC")),
        "_file": ["orders/c.json"] * count,
        "_line": [*range(7, 7 + count)],
    }
    write_deltalake(lake.table("silver.orders"), pa.table(columns))


def test_the_record_with_the_greatest_event_time_is_named_by_file_and_line(lake: Lake) -> None:
    write_silver(lake, AT, POISON, AT)

    found = find_furthest(Ledger(lake), lake, "silver.orders", 1, "orders")

    assert found is not None
    assert (found.event_at, found.file, found.line) == (POISON, "orders/c.json", 8)
    assert found.as_dict()["event_at"] == POISON.isoformat()


def test_a_record_that_is_not_in_the_table_is_named_by_the_files_among_which_it_came(lake: Lake) -> None:
    write_silver(lake, AT)

    found = find_furthest(Ledger(lake), lake, "silver.orders", 1, "orders")

    assert found is not None
    assert (found.file, found.files, found.file_count) == (None, ("orders/b.json", "orders/c.json"), 2)


def test_a_table_that_has_seen_nothing_has_no_such_record(lake: Lake) -> None:
    assert find_furthest(Ledger(lake), lake, "silver.orders", 2, "orders") is None
