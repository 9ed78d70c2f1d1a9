import threading
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake import delta_commit
from spark_jobs.lake import ledger as ledger_module
from spark_jobs.lake import verdicts as verdicts_module
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.known_rows import FEW, KnownRows
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseNotTaken
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_schemas import SCHEMAS
from spark_jobs.lake.ledger_tables import SWAPPING, Definition
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.sequence import read_markers
from spark_jobs.lake.verdicts import Decision, Verdict, Verdicts
from tests.conftest import unguarded

AT = datetime(2026, 3, 1, tzinfo=UTC)
COUNTS = Counts(rows_in=10, inserted=4, updated=1, superseded=2, duplicate=1, quarantined=1, filtered=1)


def test_counts_add_up_class_by_class_and_name_what_is_missing() -> None:
    assert COUNTS.missing == 0
    assert (COUNTS + Counts(rows_in=3, inserted=1)).missing == 2
    assert (COUNTS + Counts(parked=-2, inserted=1, superseded=1)).missing == 0
    assert Counts.of_row({"rows_in": 3, "inserted": 2, "late": None, "table": "silver.orders"}) == Counts(
        rows_in=3, inserted=2
    )


def test_a_batch_is_done_once_its_marker_is_written_also_for_the_next_reader(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    ledger = Ledger(lake, unguarded)
    batch = ("silver.orders", "stream", 1, 7)
    assert not ledger.has_batch(batch)
    ledger.write_batch("run", batch, AT, 3, COUNTS, Seen(AT, None, 4))
    assert ledger.has_batch(batch)
    assert Ledger(lake, unguarded).has_batch(batch)
    assert [row["batch"] for row in Ledger(lake, unguarded).batches("silver.orders", 1)] == [7]
    assert Ledger(lake, unguarded).batches("silver.orders", 2) == []
    assert Ledger(lake, unguarded).seen("silver.orders", 1) == Seen(AT, None, 4)


def test_a_batch_that_is_begun_again_reads_what_it_began_with(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    batch = ("silver.orders", "release", 1, 0)
    begun = Ledger(lake, unguarded).begin_batch(
        "run 1", batch, {"silver.orders": 3, "dimension.members": None}
    )

    again = Ledger(lake, unguarded)
    assert again.begin_batch("run 2", batch, {"silver.orders": 9, "dimension.members": 5}) == begun
    assert begun.inputs == {"silver.orders": 3, "dimension.members": None}
    assert again.open_batch("silver.orders", "release", 1) == 0
    assert again.open_batch("silver.orders", "stream", 1) is None
    again.write_batch("run 2", batch, AT, 4, COUNTS, Seen())
    assert again.open_batch("silver.orders", "release", 1) is None


def test_records_are_added_up_over_batches_of_the_stream_also_of_earlier_versions(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, schema = Lake(str(tmp_path), "shop"), SCHEMAS["batches"]
    with monkeypatch.context() as older:
        older.setitem(SCHEMAS, "batches", schema.remove(schema.get_field_index("records")))
        Ledger(lake, unguarded).write_batch("run", ("silver.orders", "stream", 1, 0), AT, 1, COUNTS, Seen())
        assert Ledger(lake).records_read("silver.orders", 1, is_one_row_each=True) == 10
    Ledger(lake, unguarded).write_batch(
        "run", ("silver.orders", "stream", 1, 1), AT, 2, COUNTS, Seen(records=3)
    )
    Ledger(lake, unguarded).write_batch("run", ("silver.orders", "replay", 1, 0), AT, 3, COUNTS, Seen())
    assert Ledger(lake).records_read("silver.orders", 1, is_one_row_each=True) == 13
    assert Ledger(lake).records_read("silver.orders", 1, is_one_row_each=False) is None
    assert Ledger(lake).records_read("silver.lines", 1, is_one_row_each=False) == 0


def test_many_batches_are_asked_as_columns(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path), "shop")
    ledger = Ledger(lake, unguarded)
    for number in range(3):
        ledger.write_batch(
            "run", ("silver.orders", "stream", 1, number), AT, 10 + number, COUNTS, Seen(AT, None, number)
        )
    ledger.write_batch("run", ("silver.orders", "reenrich members", 1, 0), AT, 13, COUNTS, Seen())
    ledger.write_batch("run", ("silver.orders", "stream", 2, 9), AT, 1, COUNTS, Seen())

    for known in (ledger, Ledger(lake, unguarded)):  # what it has written itself, and what another reads
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


def test_whoever_only_looks_gets_the_answers_of_whoever_has_loaded_the_ledger(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake, schema = Lake(str(tmp_path), "o'shop"), SCHEMAS["batches"]
    kept = [field for field in schema if field.name not in ("records", "chunk", "ties", "sequence")]
    with monkeypatch.context() as older:
        older.setitem(SCHEMAS, "batches", pa.schema(kept))
        Ledger(lake, unguarded).write_batch(
            "run", ("silver.orders", "stream", 1, 0), AT, 1, COUNTS, Seen(high=AT)
        )
    for number, step in enumerate(("stream", "replay", "reenrich members"), 1):
        batch = ("silver.orders", step, 1, number)
        # a second marker, after an answer that was lost, says nothing
        for run, version in (("run", number), ("again", 90)):
            ledger = Ledger(lake, unguarded)
            ledger.begin_batch(run, batch, {})
            monkeypatch.setattr(ledger, "has_batch", lambda _: False)
            ledger.write_batch(
                run,
                batch,
                AT,
                version,
                COUNTS,
                Seen(AT + timedelta(hours=version), AT, version, records=version),
            )
    Ledger(lake, unguarded).begin_batch("run", ("silver.orders", "discard", 1, 7), {})
    loaded = Ledger(lake)
    loaded.open_intents()

    def answers(ledger: Ledger) -> list[object]:
        tables = (("silver.orders", 1), ("silver.orders", 2), ("silver.lines", 1))
        steps = ("stream", "replay", "discard")
        return [
            [(ledger.seen(*table), ledger.seen(*table, until=2)) for table in tables],
            [(ledger.sums(*table), ledger.sums(*table, without="reenrich")) for table in tables],
            [[row["run_id"] for row in ledger.batches(*table)] for table in tables],
            [(last or {}).get("version") for last in (ledger.last_batch(*table) for table in tables)],
            [ledger.open_batch(table, step, generation) for table, generation in tables for step in steps],
        ]  # fmt: skip

    assert answers(Ledger(lake)) == answers(loaded)
    assert Ledger(lake).seen("silver.orders", 1) == Seen(AT + timedelta(hours=3), AT, 3)
    assert Ledger(lake).open_batch("silver.orders", "discard", 1) == 7


def test_a_run_of_many_batches_knows_them_all(tmp_path: Path) -> None:
    schema = SCHEMAS["intents"]
    known = KnownRows(pa.schema([field for field in schema if field.name != "inputs"]).empty_table(), schema)
    for number in range(2 * FEW + 10):
        known.add({"table": "silver.orders", "batch": number, "inputs": "{}"})

    assert known.where(table="silver.orders")["batch"].to_pylist() == list(range(2 * FEW + 10))
    assert [known.where(batch=number)["inputs"].to_pylist() for number in (0, FEW, 2 * FEW + 9)] == [
        ["{}"]
    ] * 3


def test_a_batch_that_was_held_begins_anew_and_is_open_until_then(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
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
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
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
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
    assert ledger.consumed_inputs() == {}
    for version in (4, 5):
        ledger.write_table("run", "silver.orders", 1.0, {"bronze.orders": version}, 2, 1, COUNTS)
    assert ledger.consumed_inputs() == {"silver.orders": {"bronze.orders": 5}}


def test_a_ledger_of_an_earlier_version_gets_the_columns_that_came_later(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
    columns = [field for field in SCHEMAS["runs"] if field.name != "origin"]
    write_deltalake(
        ledger.lake.ledger("runs"), pa.Table.from_pylist([{"run_id": "old"}], schema=pa.schema(columns))
    )

    for run_id in ("new", "newer"):
        ledger.write_run(run_id=run_id, at=AT, event="started", origin="by hand")

    found = {row["run_id"]: (row["pipeline"], row["origin"]) for row in ledger.rows("runs")}
    assert found == {"old": (None, None), "new": ("shop", "by hand"), "newer": ("shop", "by hand")}


def test_the_ledger_stays_small_however_many_runs_it_holds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_module, "COMMITS_PER_COMPACTION", 5)
    lake = Lake(str(tmp_path), "shop")
    for number in range(12):
        Ledger(lake, unguarded).write_batch(
            "run", ("silver.orders", "stream", 1, number), AT, 3, COUNTS, Seen()
        )
    assert len(Ledger(lake, unguarded).rows("batches")) == 12
    assert len(DeltaTable(lake.ledger("batches")).file_uris()) < 6


def test_what_one_table_notes_while_another_loads_the_ledger_is_not_forgotten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
    is_loading, first, second = threading.Event(), ("sink.a", "begin", 1, 0), ("sink.b", "begin", 1, 0)
    read = ledger.read

    def read_slowly(name: str) -> pa.Table:
        found = read(name)
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


class Clock(datetime):
    """A clock that a test sets."""

    shows = AT

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> datetime:  # type: ignore[override]
        return cls.shows


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    """The ledger's clock. It begins in 2036."""
    monkeypatch.setattr(Clock, "shows", datetime(2036, 1, 1, tzinfo=UTC))
    for module in (ledger_module, verdicts_module):
        monkeypatch.setattr(module, "datetime", Clock)
    return Clock


def test_a_clock_that_steps_back_makes_no_row_older_than_those_before_it(
    tmp_path: Path, clock: type[Clock]
) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
    batch, verdicts = ("silver.x", "stream", 1, 0), Verdicts(ledger)
    for number in (1, 2):
        ledger.write_definitions(f"run {number}", {"silver.x": Definition(number, {}, {})})
        ledger.write_batch(f"run {number}", ("silver.x", "stream", 1, 7 + number), AT, number, COUNTS, Seen())
        ledger.write_table(f"run {number}", "silver.x", 1.0, {"bronze.x": number}, number, 1, COUNTS)
        ledger.write_run(run_id=f"run {number}", at=Clock.shows, event="ended")
        ledger.forget_intent(batch)
        ledger.begin_batch(f"run {number}", batch, {"try": number})
        verdicts.write(
            Verdict("r", batch, Clock.shows, Clock.shows, "blocked" if number == 2 else "passed"), "rules", 1
        )
        verdicts.decide(
            "r", Decision(batch, "hold" if number == 1 else "release", (), "me", "why"), Clock.shows
        )
        clock.shows = AT

    for known in (ledger, Ledger(ledger.lake)):  # what it has written itself, and what another reads
        assert (known.last_batch("silver.x", 1) or {})["batch"] == 9
        assert (known.last_run() or {})["run_id"] == "run 2"
        assert getattr(known.intent(batch), "inputs", None) == {"try": 2}
        assert getattr(Verdicts(known).decision(batch), "action", None) == "release"
        assert [row["batch"] for row in known.batches("silver.x", 1)] == [8, 9]
        assert (
            known.definitions()["silver.x"].generation == known.live_definitions()["silver.x"].generation == 2
        )
        assert known.consumed_inputs() == {"silver.x": {"bronze.x": 2}}
        assert Verdicts(known).blocked("silver.x", 1) is not None


@pytest.mark.parametrize("step", ["reenrich.members", "complete"])
def test_a_blocked_batch_is_over_when_one_is_done_that_takes_its_place(tmp_path: Path, step: str) -> None:
    """As after its rules were removed: a table without rules has no verdicts. Nor do the old files stay that
    it has read.
    """
    ledger, blocked = Ledger(Lake(str(tmp_path), "shop"), unguarded), ("silver.x", step, 1, 5)
    ledger.begin_batch("r", blocked, {"dimension.members": 5})
    Verdicts(ledger).write(Verdict("r", blocked, AT, AT, "blocked"), "rules", 1)
    assert Verdicts(ledger).blocked("silver.x", 1) is not None
    assert list(ledger.open_intents()) == [blocked]

    ledger.write_batch("r", ("silver.x", step, 1, 7), AT, 3, COUNTS, Seen())

    assert Verdicts(ledger).blocked("silver.x", 1) is None
    assert ledger.open_intents() == {}


@pytest.mark.parametrize("step", ["reenrich.members", "complete"])
def test_a_decision_holds_for_the_batch_that_takes_the_place_of_a_blocked_one(
    tmp_path: Path, step: str
) -> None:
    """Its number is a version, which upkeep moves, and a write whose marker a crash has cut off."""
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
    verdicts, decision = (
        Verdicts(ledger),
        Decision(("silver.x", step, 1, 5), "release", ("few",), "me", "why"),
    )
    verdicts.decide("r", decision, AT)

    assert [verdicts.decision(("silver.x", step, 1, number)) for number in (5, 7)] == [decision, decision]
    others = [("silver.x", step, 2, 7), ("silver.y", step, 1, 7), ("silver.x", "stream", 1, 7)]
    assert [verdicts.decision(batch_id) for batch_id in others] == [None, None, None]
    ledger.write_batch("r", ("silver.x", step, 1, 7), AT, 3, COUNTS, Seen())
    assert verdicts.decision(("silver.x", step, 1, 8)) is None, "it was carried out"


def test_a_decision_about_a_batch_of_a_stream_holds_for_no_later_one(tmp_path: Path) -> None:
    verdicts = Verdicts(Ledger(Lake(str(tmp_path), "shop"), unguarded))
    verdicts.decide("r", Decision(("silver.x", "stream", 1, 5), "release", ("few",), "me", "why"), AT)

    assert verdicts.decision(("silver.x", "stream", 1, 6)) is None


def test_a_rebuild_or_a_run_is_the_newest_by_its_place_and_not_by_its_time(
    tmp_path: Path, clock: type[Clock]
) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
    ledger.write_table("run 1", "gold.x", 1.0, {"silver.a": 5}, 2, 1, COUNTS)
    clock.shows = AT
    ledger.write_definitions("run 2", {"gold.x": Definition(2, {}, {"silver.a": 9})})
    assert ledger.consumed_inputs() == {"gold.x": {"silver.a": 9}}

    clock.shows = AT - timedelta(minutes=5)
    ledger.write_table("run 3", "gold.x", 1.0, {"silver.a": 11}, 3, 1, COUNTS)
    assert ledger.consumed_inputs() == {"gold.x": {"silver.a": 11}}


def test_rows_of_an_earlier_version_keep_their_order_and_come_before_all_others(
    tmp_path: Path, clock: type[Clock]
) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)
    for name, rows in {
        "definitions": [(3, AT.replace(year=2035)), (2, AT), (4, AT.replace(year=2037))],
        "tables": [(31, AT.replace(year=2036)), (30, AT)],
    }.items():
        old = pa.schema(
            [column for column in SCHEMAS[name] if column.name not in ("sequence", "tables_until", "stage")]
        )
        at = {"definitions": "noted_at", "tables": "ended_at"}[name]
        said = {"table": "gold.x", "definition": "{}", "state": "live"}
        more = [
            {
                **said,
                at: time,
                "generation": number,
                "inputs": f'{{"a": {number}}}',
                "starts_after": f'{{"a": {number}}}',
            }
            for number, time in rows
        ]
        write_deltalake(ledger.lake.ledger(name), pa.Table.from_pylist(more, schema=old))
    assert ledger.live_definitions()["gold.x"].generation == 4
    assert ledger.consumed_inputs() == {"gold.x": {"a": 4}}

    clock.shows = AT
    ledger.write_table("new", "gold.x", 1.0, {"a": 40}, 3, 1, COUNTS)
    assert ledger.consumed_inputs() == {"gold.x": {"a": 40}}
    ledger.write_definitions("new", {"gold.x": Definition(5, {}, {"a": 41})})
    assert ledger.live_definitions()["gold.x"].generation == 5
    assert ledger.consumed_inputs() == {"gold.x": {"a": 41}}


def test_a_second_marker_of_a_batch_says_nothing(tmp_path: Path) -> None:
    lake, batch = Lake(str(tmp_path), "shop"), ("silver.orders", "stream", 1, 7)
    ledgers = [Ledger(lake, unguarded) for _ in range(2)]
    assert not any(ledger.has_batch(batch) for ledger in ledgers)  # each has read before the other writes
    for version, ledger in enumerate(ledgers):
        ledger.write_batch("run", batch, AT, version, COUNTS, Seen())
        ledger.write_batch("run", batch, AT, version, COUNTS, Seen())
    assert DeltaTable(lake.ledger("batches")).to_pyarrow_table().num_rows == 2

    for known in (*ledgers, Ledger(lake)):
        assert known.sums("silver.orders", 1) == COUNTS
        assert len(known.batches("silver.orders", 1)) == 1
    assert Ledger(lake).last_version("silver.orders", 1) == 0
    assert len(read_markers(lake, ["run_id"])) == 1


def test_a_row_whose_answer_was_lost_is_written_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """delta-rs takes its own commit for that of another writer then, and would commit once more behind it."""
    ledger = Ledger(Lake(str(tmp_path), "shop"), unguarded)

    def write_without_an_answer(table: DeltaTable, *args: Any, **said: Any) -> None:
        write_deltalake(ledger.lake.ledger("drift"), *args, **said)
        write_deltalake(table, *args, **said)

    ledger.append("drift", [{"source": "a"}])
    monkeypatch.setattr(delta_commit, "write_deltalake", write_without_an_answer)
    ledger.append("drift", [{"source": "b"}])

    assert [(row["source"], row["sequence"]) for row in ledger.ordered("drift")] == [("a", 0), ("b", 1)]


def test_a_ledger_without_a_lease_only_reads_and_takes_notes(tmp_path: Path) -> None:
    ledger = Ledger(Lake(str(tmp_path), "shop"))
    with pytest.raises(LeaseNotTaken):
        ledger.write_table("run", "gold.x", 1.0, {}, 0, 1, COUNTS)
    ledger.write_run(run_id="run", at=AT, event="ended")
    assert ledger.last_run() is not None


def test_first_drifts_of_several_sources_at_once_are_all_written(tmp_path: Path) -> None:
    lake, barrier = Lake(str(tmp_path), "shop"), threading.Barrier(4)

    def note(source: str) -> None:
        barrier.wait()
        Ledger(lake, unguarded).append("drift", [{"source": source, "field": "x", "kind": "added"}])

    threads = [threading.Thread(target=note, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(row["source"] for row in Ledger(lake).rows("drift")) == ["a", "b", "c", "d"]
    assert sorted(row["sequence"] for row in Ledger(lake).rows("drift")) == [0, 1, 2, 3]
