import threading
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake import ledger as ledger_module
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.known_rows import FEW, KnownRows
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import SWAPPING, Definition, Ledger
from spark_jobs.lake.seen import Seen

AT = datetime(2026, 3, 1, tzinfo=UTC)
COUNTS = Counts(rows_in=10, inserted=4, updated=1, superseded=2, duplicate=1, quarantined=1, filtered=1)


def test_counts_add_up_class_by_class_and_name_what_is_missing() -> None:
    assert COUNTS.missing == 0
    assert (COUNTS + Counts(rows_in=3, inserted=1)).missing == 2
    assert (COUNTS + Counts(parked=-2, inserted=1, superseded=1)).missing == 0
    assert Counts.of_row({"rows_in": 3, "inserted": 2, "late": None, "table": "silver.orders"}) == Counts(rows_in=3, inserted=2)


def test_a_batch_is_done_once_its_marker_is_written_also_for_the_next_reader(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    ledger = Ledger(lake)
    batch = ("silver.orders", "stream", 1, 7)
    assert not ledger.has_batch(batch)
    ledger.write_batch("run", batch, AT, 3, COUNTS, Seen(AT, None, 4))
    assert ledger.has_batch(batch)
    assert Ledger(lake).has_batch(batch)
    assert [row["batch"] for row in Ledger(lake).batches("silver.orders", 1)] == [7]
    assert Ledger(lake).batches("silver.orders", 2) == []
    assert Ledger(lake).seen("silver.orders", 1) == Seen(AT, None, 4)


def test_a_batch_that_is_begun_again_reads_what_it_began_with(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    batch = ("silver.orders", "release", 1, 0)
    begun = Ledger(lake).begin_batch("run 1", batch, {"silver.orders": 3, "dimension.members": None})

    again = Ledger(lake)
    assert again.begin_batch("run 2", batch, {"silver.orders": 9, "dimension.members": 5}) == begun
    assert begun.inputs == {"silver.orders": 3, "dimension.members": None}
    assert again.open_batch("silver.orders", "release", 1) == 0
    assert again.open_batch("silver.orders", "stream", 1) is None
    again.write_batch("run 2", batch, AT, 4, COUNTS, Seen())
    assert again.open_batch("silver.orders", "release", 1) is None


def test_many_batches_are_asked_as_columns(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    ledger = Ledger(lake)
    for number in range(3):
        ledger.write_batch("run", ("silver.orders", "stream", 1, number), AT, 10 + number, COUNTS, Seen(AT, None, number))
    ledger.write_batch("run", ("silver.orders", "reenrich members", 1, 0), AT, 13, COUNTS, Seen())
    ledger.write_batch("run", ("silver.orders", "stream", 2, 9), AT, 1, COUNTS, Seen())

    for known in (ledger, Ledger(lake)):  # what it has written itself, and what another reads
        assert known.last_number("silver.orders", "stream", 1) == 2
        assert known.last_number("silver.orders", "release", 1) == -1
        assert known.last_version("silver.orders", 1) == 13
        assert known.sums("silver.orders", 1) == sum([COUNTS] * 4, Counts())
        assert known.sums("silver.orders", 1, without="reenrich") == sum([COUNTS] * 3, Counts())
        assert known.sums("silver.lines", 1) == Counts()
        assert known.seen("silver.orders", 1) == Seen(AT, None, 2)
        last = known.last_batch("silver.orders", 1)
        assert last is not None
        assert (last["step"], last["version"]) == ("reenrich members", 13)
        assert known.last_batch("silver.lines", 1) is None


def test_a_run_of_many_batches_knows_them_all(tmp_path: Path) -> None:
    schema = ledger_module.SCHEMAS["intents"]
    known = KnownRows(pa.schema([field for field in schema if field.name != "inputs"]).empty_table(), schema)
    for number in range(2 * FEW + 10):
        known.add({"table": "silver.orders", "batch": number, "inputs": "{}"})

    assert known.where(table="silver.orders")["batch"].to_pylist() == list(range(2 * FEW + 10))
    assert [known.where(batch=number)["inputs"].to_pylist() for number in (0, FEW, 2 * FEW + 9)] == [["{}"]] * 3


def test_a_batch_that_was_held_begins_anew_and_is_open_until_then(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"))
    batch = ("silver.orders", "stream", 1, 0)
    ledger.begin_batch("run 1", batch, {"rules": "old"})

    ledger.forget_intent(batch)
    assert ledger.intent(batch) is None
    assert ledger.open_intents() == {}
    anew = ledger.begin_batch("run 2", batch, {"rules": "new"})

    assert anew.inputs == {"rules": "new"}
    assert ledger.intent(batch) == anew == Ledger(ledger.lake).intent(batch)
    assert list(ledger.open_intents()) == [batch]


def test_a_rebuilt_table_has_consumed_what_it_was_rebuilt_from(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"))
    ledger.write_definitions("run 1", {"gold.x": Definition(1, {"from": "silver.a"}, {})})
    ledger.write_table("run 1", "gold.x", 1.0, {"silver.a": 5}, 2, 1, COUNTS)
    assert ledger.consumed_inputs() == {"gold.x": {"silver.a": 5}}

    swapping = Definition(2, {"from": "silver.b"}, {}, SWAPPING)
    ledger.write_definitions("run 2", {"gold.x": swapping})
    assert ledger.live_definitions()["gold.x"].generation == 1
    assert ledger.definitions()["gold.x"] == swapping

    ledger.write_definitions("run 2", {"gold.x": Definition(2, {"from": "silver.b"}, {"silver.b": 9})})
    assert ledger.live_definitions()["gold.x"].generation == 2
    assert ledger.consumed_inputs() == {"gold.x": {"silver.b": 9}}


def test_the_last_run_of_a_table_says_what_it_consumed(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"))
    assert ledger.consumed_inputs() == {}
    for version in (4, 5):
        ledger.write_table("run", "silver.orders", 1.0, {"bronze.orders": version}, 2, 1, COUNTS)
    assert ledger.consumed_inputs() == {"silver.orders": {"bronze.orders": 5}}


def test_a_ledger_of_an_earlier_version_gets_the_columns_that_came_later(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"))
    columns = [field for field in ledger_module.SCHEMAS["runs"] if field.name != "origin"]
    write_deltalake(ledger.lake.ledger("runs"), pa.Table.from_pylist([{"run_id": "old"}], schema=pa.schema(columns)))

    for run_id in ("new", "newer"):
        ledger.write_run(run_id=run_id, at=AT, event="started", origin="by hand")

    found = {row["run_id"]: (row["pipeline"], row["origin"]) for row in ledger.rows("runs")}
    assert found == {"old": (None, None), "new": ("shop", "by hand"), "newer": ("shop", "by hand")}


def test_the_ledger_stays_small_however_many_runs_it_holds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger_module, "COMMITS_PER_COMPACTION", 5)
    lake = Lake(str(tmp_path), "shop")
    for number in range(12):
        Ledger(lake).write_batch("run", ("silver.orders", "stream", 1, number), AT, 3, COUNTS, Seen())
    assert len(Ledger(lake).rows("batches")) == 12
    assert len(DeltaTable(lake.ledger("batches")).file_uris()) < 6


def test_what_one_table_notes_while_another_loads_the_ledger_is_not_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"))
    is_loading, first, second = threading.Event(), ("sink.a", "begin", 1, 0), ("sink.b", "begin", 1, 0)
    read = ledger.read

    def read_slowly(name: str, columns: list[str] | None = None) -> pa.Table:
        found = read(name, columns)
        if name == "intents" and not is_loading.is_set():
            is_loading.set()
            noting.join(1)  # with the lock it cannot go on before this one has loaded
        return found

    monkeypatch.setattr(ledger, "read", read_slowly)
    noting = threading.Thread(target=lambda: is_loading.wait() and ledger.begin_batch("run", second, {}))
    noting.start()
    ledger.begin_batch("run", first, {})
    noting.join()

    assert ledger.intent(first) is not None
    assert ledger.intent(second) is not None
