"""What `weir plan` foresees, against what a run then does. No Spark: a run that would start it fails, and so
shows that it has work.
"""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from types import SimpleNamespace

import pyarrow as pa
import pytest
from deltalake import CommitProperties, write_deltalake

from spark_jobs.config.errors import ConfigError
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger_tables import SWAPPING, Definition
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.verdicts import BLOCKED, Verdict, Verdicts
from spark_jobs.landing.arrivals import close_marks, read_arrivals
from spark_jobs.run import pipeline as run_module
from spark_jobs.run import register
from spark_jobs.run.maintain import maintain_pipeline
from spark_jobs.run.preview import SourceBacklog
from spark_jobs.run.result import State, Status, TableRun
from tests.conftest import Workshop, _empty_workshop
from tests.run.standing_lake import AN_ORDER, PIPELINE, StandingLake, build, copy_of

NOW = datetime.now(UTC)
BELOW_SILVER = {"gold.closed": "below silver.orders", "gold.total": "below silver.orders"}
BELOW_BRONZE = {"silver.orders": "below bronze.orders", **BELOW_SILVER}
Change = Callable[[StandingLake], object]


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> StandingLake:
    return build(_empty_workshop(tmp_path_factory.mktemp("standing"), None), NOW - timedelta(minutes=10))


@pytest.fixture
def standing(original: StandingLake, tmp_path: Path) -> StandingLake:
    return copy_of(original, tmp_path)


def change_pipeline(standing: StandingLake, old: str, new: str) -> None:
    file = standing.workshop.root / "conf" / "pipelines" / "shop.yml"
    assert old in file.read_text()
    file.write_text(file.read_text().replace(old, new))


def hold_a_batch(standing: StandingLake) -> None:
    standing.write_table("bronze.orders")
    verdict = Verdict("run", ("silver.orders", "stream", 1, 1), NOW, NOW, BLOCKED, ("usual_mean",))
    Verdicts(standing.ledger).write(verdict, "0123456789ab", 7)


def cut_a_replay(standing: StandingLake) -> None:
    standing.write_table("quarantine.silver.orders")
    standing.ledger.begin_batch("run", ("silver.orders", "replay", 1, 0), {})


def cut_a_swap(standing: StandingLake) -> None:
    known = standing.plan.definitions["gold.total"]
    write_deltalake(f"{standing.lake.stage}/gold/total", pa.table({"n": [1]}))
    standing.ledger.write_definitions("run", {"gold.total": Definition(2, known.parts, {}, SWAPPING)})


def park_a_row(standing: StandingLake, days: int) -> None:
    standing.write_table("parked.silver.orders", arrived_at=NOW - timedelta(days=days))


def move_the_dimension(standing: StandingLake) -> None:
    park_a_row(standing, days=0)
    standing.write_table("dimension.members")


NO_WORK: dict[str, Change] = {
    "nothing came": lambda standing: None,
    "a file whose name hides it": lambda standing: standing.workshop.land("orders/_2.json", "{}"),
    "a file that has not settled": lambda standing: standing.workshop.land("members/2.json", "{}"),
    "a file that says what another one said": lambda standing: standing.workshop.land("orders/2.json", AN_ORDER),
    "a file that was only touched": lambda standing: standing.workshop.land("orders/1.json", AN_ORDER),
    "a file that was taken and has changed": lambda standing: standing.workshop.land("orders/1.json", "{}"),
    "rows that have not waited long enough": lambda standing: park_a_row(standing, days=6),
    "a key that concerns what comes next": lambda standing: change_pipeline(standing, "give_up_after: 7 days", "give_up_after: 9 days"),
}  # fmt: skip
WORK: dict[str, tuple[Change, dict[str, str]]] = {
    "a new file": (
        lambda standing: standing.workshop.land("orders/2.json", "{}"),
        {"bronze.orders": "1 new file, 2 bytes", **BELOW_BRONZE},
    ),
    "a file that has settled": (
        lambda standing: standing.land_settled("members/2.json", "{}"),
        {"bronze.members": "1 new file, 2 bytes", "dimension.members": "below bronze.members", "silver.orders": "below dimension.members",
         **BELOW_SILVER},
    ),
    "an input that moved": (
        lambda standing: standing.write_table("bronze.orders"),
        {"silver.orders": "bronze.orders moved from version 0 to 1", **BELOW_SILVER},
    ),
    "a member that rows wait for": (
        move_the_dimension,
        {"silver.orders": "dimension.members moved from version 0 to 1, and 1 parked row waits for a member", **BELOW_SILVER},
    ),
    "rows that have waited long enough": (
        lambda standing: park_a_row(standing, days=8),
        {"silver.orders": "parked rows are to be given up", **BELOW_SILVER},
    ),
    "a changed SQL file": (
        lambda standing: standing.workshop.write("conf/sql/total.sql", "SELECT count(*) + 1 AS n FROM silver.orders"),
        {"gold.total": "its definition changed"},
    ),
    "a held batch": (
        hold_a_batch,
        {"silver.orders": "a batch that is blocked is judged again (usual_mean); bronze.orders moved from version 0 to 1", **BELOW_SILVER},
    ),
    "a replay that was cut": (cut_a_replay, {"silver.orders": "a replay that was cut is to be finished", **BELOW_SILVER}),
    "a rebuild that was cut": (cut_a_swap, {"gold.total": "a rebuild that was cut is to be finished"}),
}  # fmt: skip


@pytest.mark.parametrize("change", NO_WORK.values(), ids=NO_WORK)
def test_what_makes_no_work_for_a_run_makes_none_in_the_plan(standing: StandingLake, change: Change) -> None:
    change(standing)
    before = standing.files()

    outlook = standing.workshop.plan("shop")

    assert (outlook.exit_code, outlook.as_dict()["status"], outlook.tables) == (3, "nothing_to_do", ())
    assert standing.files() == before
    assert standing.workshop.run("shop").status is Status.NOTHING_TO_DO


@pytest.mark.parametrize(("change", "expected"), WORK.values(), ids=WORK)
def test_the_plan_names_what_a_run_has_to_do_and_why(
    standing: StandingLake, change: Change, expected: dict[str, str]
) -> None:
    change(standing)
    before = standing.files()

    outlook = standing.workshop.plan("shop")

    assert outlook.exit_code == 0
    assert {due.table: due.why for due in outlook.tables} == expected
    assert outlook.as_dict()["reasons"] == [
        f"{table}: {why}" for table, why in expected.items() if not why.startswith("below ")
    ]
    assert standing.files() == before
    assert "must not start Spark" in standing.workshop.run("shop").message


def test_an_idle_feed_is_work_exactly_where_a_run_closes_windows(
    standing: StandingLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Later:
        @staticmethod
        def now(zone: tzinfo) -> datetime:
            return datetime.now(zone) + timedelta(hours=2)

    monkeypatch.setattr(register, "datetime", Later)
    change_pipeline(standing, "settle: 1 hour", "settle: 1 hour, idle_after: 1 hour")
    change_pipeline(standing, "idle_after: 1 hour, same", "idle_after: 1 day, same")
    assert standing.workshop.run("shop").status is Status.NOTHING_TO_DO, "no window is made of members"
    assert close_marks(standing.lake.arrivals("members"))

    change_pipeline(standing, "idle_after: 1 day, same", "idle_after: 30 minutes, same")
    [closed] = standing.workshop.plan("shop").tables

    assert (closed.table, closed.why) == ("gold.closed", "the watermark moved to 2024-05-01T08:10:00+00:00")
    assert standing.workshop.run("shop").status is Status.FAILED, "Spark would have been started"


def test_a_run_that_only_finishes_a_rebuild_has_done_something(
    standing: StandingLake, monkeypatch: pytest.MonkeyPatch
) -> None:
    cut_a_swap(standing)
    rebuilt = TableRun("silver.orders", State.DONE, counts=Counts(rows_in=2, inserted=2), version=7)
    monkeypatch.setattr(
        run_module,
        "finish_swap",
        lambda *_: SimpleNamespace(order=SimpleNamespace(run_id="r1"), tables=(rebuilt,)),
    )
    monkeypatch.setattr(run_module, "write_page", lambda *_: ("shop/r1.html", "good", []))

    result = standing.workshop.run("shop")

    assert (result.status, result.message) == (
        Status.OK,
        "a rebuild that was cut is finished; nothing else is new",
    )
    assert (result.run_id, result.report) == (
        "r1",
        "shop/r1.html",
    ), "what is announced of it has its own figures"
    assert [run for run in result.tables if run.state is State.DONE] == [rebuilt]


def test_a_table_that_upkeep_has_moved_was_published_by_the_run_before(standing: StandingLake) -> None:
    rows, note = pa.table({"_file_id": ["of no file"], "_line": [2]}), {"userMetadata": '{"run_id": "r2"}'}
    path, ledger = standing.lake.table("silver.orders"), standing.ledger
    standing.workshop.run("shop")
    write_deltalake(path, rows, mode="append", commit_properties=CommitProperties(custom_metadata=note))
    for table, counts in {
        "silver.orders": Counts(rows_in=1, inserted=1),
        **dict.fromkeys(BELOW_SILVER, Counts()),
    }.items():
        version = standing.plan.version(table)
        ledger.write_table("r2", table, 1.0, standing.plan.current_inputs(table), version, 1, counts)
    maintain_pipeline(standing.workshop.project, "shop", is_dry=False)

    result = standing.workshop.run("shop")

    assert result.status is Status.NOTHING_TO_DO
    found = {run.table: run for run in result.tables}
    silver = found["silver.orders"].as_dict()
    assert (silver["version"], silver["published_version"]) == (2, 1)
    assert silver["last"] == {"run_id": "r2", "report": None, **Counts(rows_in=1, inserted=1).as_dict()}
    assert found["gold.total"].last is not None, "upkeep has written only what it has consumed"


def test_a_table_that_a_rebuild_on_the_command_line_has_replaced_has_the_figures_of_the_rebuild(
    standing: StandingLake,
) -> None:
    note, counts = {"userMetadata": '{"run_id": "r3", "step": "swap"}'}, Counts(rows_in=4, inserted=1)
    rows, path = pa.table({"_file_id": ["of no file"], "_line": [3]}), standing.lake.table("gold.total")
    standing.ledger.write_batch("r3", ("gold.total", "stream", 1, 0), NOW, 0, counts, Seen(None, None, 0))
    write_deltalake(path, rows, mode="overwrite", commit_properties=CommitProperties(custom_metadata=note))

    result = standing.workshop.run("shop")

    assert result.status is Status.NOTHING_TO_DO
    [total] = [run for run in result.tables if run.table == "gold.total"]
    assert total.last == {"run_id": "r3", "report": None, **counts.as_dict()}


def test_files_that_wait_are_counted_and_are_no_work(standing: StandingLake) -> None:
    standing.workshop.land("members/2.json", "{}")
    standing.workshop.land("orders/2.json", "{}")

    outlook = standing.workshop.plan("shop")

    assert outlook.sources == {"orders": SourceBacklog(1, 2, 0), "members": SourceBacklog(0, 0, 1)}
    assert outlook.message == "1 new file; 1 table due, 3 below"


def test_files_that_a_run_registered_and_did_not_read_are_new_still(idle_workshop: Workshop) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.write("conf/sql/total.sql", "SELECT count(*) AS n FROM silver.orders")
    idle_workshop.land("orders/1.json", AN_ORDER)
    first = idle_workshop.plan("shop")
    assert not (idle_workshop.root / "lake").exists()

    assert idle_workshop.run("shop").status is Status.FAILED
    again = idle_workshop.plan("shop")

    assert [(due.table, due.why) for due in first.tables] == [(due.table, due.why) for due in again.tables]
    assert {due.table: due.why for due in again.tables} == {
        "bronze.orders": f"1 new file, {len(AN_ORDER)} bytes",
        **BELOW_BRONZE,
    }


def test_the_plan_is_made_while_another_process_holds_the_pipeline(standing: StandingLake) -> None:
    standing.workshop.land("orders/2.json", "{}")

    with hold_lease(standing.lake.lease(), "shop", "a test"):
        assert standing.workshop.plan("shop").exit_code == 0


def test_a_definition_that_a_run_refuses_is_refused_by_the_plan(standing: StandingLake) -> None:
    change_pipeline(standing, "columns: {id: bigint, member", "columns: {id: string, member")

    with pytest.raises(ConfigError, match=r"definition of silver\.orders has changed"):
        standing.workshop.plan("shop")


def test_chunks_of_a_run_follow_its_own_files_per_batch(standing: StandingLake) -> None:
    for number in range(5):
        standing.workshop.land(f"orders/new{number}.json", f'{{"id":{number}}}')

    standing.workshop.run("shop", files_per_batch=2)

    rows = read_arrivals(standing.lake.arrivals("orders"), ["chunk", "path", "verdict"])
    assert sorted((row["chunk"], row["path"].removeprefix("orders/"), row["verdict"]) for row in rows) == [
        (1, "1.json", "taken"),
        # the lake of the test is a copy; it brings no record, and takes no place in the chunk
        (2, "1.json", "touched"),
        (2, "new0.json", "taken"),
        (2, "new1.json", "taken"),
        (3, "new2.json", "taken"),
        (3, "new3.json", "taken"),
        (4, "new4.json", "taken"),
    ]
    assert standing.workshop.run("shop", files_per_batch=1).status is Status.FAILED
    assert len(read_arrivals(standing.lake.arrivals("orders"))) == len(rows)
