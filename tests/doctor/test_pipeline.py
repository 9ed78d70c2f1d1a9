"""What the doctor says of a pipeline's tables: failures that were planted in a lake that Spark has made, each named
with what mends it.
"""

import json
import os
import shutil
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.doctor import tables
from spark_jobs.doctor.finding import BAD, OK, WARNING, Finding
from spark_jobs.doctor.pipeline import look_at_pipeline
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.look import register_arrivals
from tests.conftest import Workshop, unguarded

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders:  {format: json, path: orders}
  members: {format: json, path: members}
dimensions:
  members: {from: members, key: id, columns: {id: bigint, city: string, v: int}, sequence_by: v}
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, v: int, at: timestamp}
    key: id
    sequence_by: v
    event_time: at
    lookup: {members: {on: member, take: city, if_missing: park}}
gold:
  per_hour: {from: silver.orders, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour}
"""


def order(number: int, member: int = 1, at: str = "2024-05-02T10:00:00Z") -> str:
    return json.dumps({"id": number, "member": member, "v": 1, "at": at}) + "\n"


@pytest.fixture(scope="module")
def healthy(new_workshop: Callable[[], Workshop]) -> Workshop:
    shop = new_workshop()
    shop.write("conf/pipelines/shop.yml", PIPELINE)
    shop.land("members/a.json", '{"id": 1, "city": "Rome", "v": 1}\n')
    shop.land("orders/a.json", order(1) + order(2))
    assert shop.run("shop").exit_code == 0
    return shop


@pytest.fixture
def shop(healthy: Workshop, tmp_path: Path) -> Workshop:
    """The same in a folder of its own."""
    return healthy.copied(tmp_path / "copy")


def look(shop: Workshop, now: datetime | None = None) -> list[Finding]:
    return look_at_pipeline(shop.project, "shop", now or datetime.now(UTC))


def wrong(shop: Workshop, now: datetime | None = None) -> list[Finding]:
    return [finding for finding in look(shop, now) if finding.state != OK]


def lake(shop: Workshop) -> Lake:
    return Lake(shop.project.lake, "shop")


def test_nothing_is_wrong_with_a_healthy_lake_and_nothing_is_written(healthy: Workshop) -> None:
    before = {file: file.stat().st_mtime_ns for file in healthy.root.rglob("*") if file.is_file()}

    found = look(healthy)

    assert [finding for finding in found if finding.state != OK] == []
    assert [finding.about for finding in found] == [
        "lease", "definitions", "ledger", "checkpoints", "states", "waiting rows", "files", "landed files",
    ]  # fmt: skip
    assert {file: file.stat().st_mtime_ns for file in healthy.root.rglob("*") if file.is_file()} == before


def test_a_lease_whose_holder_has_ended_is_named(shop: Workshop) -> None:
    place = lake(shop).lease()
    with hold_lease(place, "shop", "weir run"):
        held = json.loads(Path(place).read_text(encoding="utf-8"))
        Path(place).write_text(json.dumps({**held, "pid": "4194305"}), encoding="utf-8")
        [found] = wrong(shop)
        Path(place).write_text(json.dumps({**held, "since": "2020-01-01T00:00:00+00:00"}), encoding="utf-8")
        [old] = wrong(shop)

    assert (found.about, found.state) == ("lease", BAD)
    assert "process 4194305" in found.message
    assert f"`fuser {place}`" in found.remedy
    assert (old.about, old.state, old.message[:9]) == ("lease", WARNING, "held by w")


def test_a_run_at_work_is_no_failure(shop: Workshop) -> None:
    with hold_lease(lake(shop).lease(), "shop", "weir run"):
        found = look(shop)

    assert [finding for finding in found if finding.state != OK] == []
    assert "not looked at while somebody writes" in [finding.message for finding in found]


def test_a_rewritten_file_is_named_and_the_named_command_takes_it(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.land("orders/a.json", order(1) + order(3))
    source = shop.project.pipelines["shop"].sources["orders"]
    register_arrivals(
        make_feed(lake(shop), shop.project.landing, "orders", source, unguarded), datetime.now(UTC)
    )

    [found] = wrong(shop)

    assert (found.about, found.state) == ("landed files", WARNING)
    assert "1 file refused of orders, as 'orders/a.json': " in found.message
    assert found.remedy.startswith("`weir take shop orders orders/a.json` loads it")
    monkeypatch.setenv("WEIR_HOME", str(shop.root))
    assert CliRunner().invoke(app, found.remedy.split("`")[1].split()[1:]).exit_code == 0
    assert wrong(shop) == []


def test_a_changed_key_is_named_with_the_rebuild(shop: Workshop) -> None:
    shop.write("conf/pipelines/shop.yml", PIPELINE.replace("key: id\n", "key: [id, member]\n"))

    [found] = wrong(shop)

    assert (found.about, found.state) == ("definitions", BAD)
    assert "the definition of silver.orders has changed" in found.message
    assert "`weir rebuild shop silver.orders`" in found.remedy


def test_a_broken_checkpoint_is_named_with_the_rebuild(shop: Workshop) -> None:
    place = Path(lake(shop).checkpoint("silver.orders", 1), "offsets")
    newest = max(place.glob("[0-9]*"), key=lambda file: int(file.name))
    newest.write_text("v1", encoding="utf-8")
    [damaged] = wrong(shop)
    shutil.rmtree(place.parent)
    [lost] = wrong(shop)

    assert (damaged.about, damaged.state, lost.about, lost.state) == ("checkpoints", BAD, "checkpoints", BAD)
    assert f"{newest} of its checkpoint is damaged" in damaged.message
    assert "is gone, but the ledger knows batch" in lost.message
    assert "run `weir rebuild` for silver.orders" in damaged.remedy
    assert "run `weir rebuild` for silver.orders" in lost.remedy


def test_a_lost_file_is_named_with_the_rebuild_and_of_bronze_with_the_backup(shop: Workshop) -> None:
    for table in ("silver.orders", "bronze.orders"):
        next(Path(lake(shop).table(table)).glob("*.parquet")).unlink()

    found = [finding for finding in wrong(shop) if finding.about == "files"]
    by_table = {finding.message.partition(":")[0]: finding for finding in found}

    assert {table: (finding.about, finding.state) for table, finding in by_table.items()} == {
        "silver.orders": ("files", BAD),
        "bronze.orders": ("files", BAD),
    }
    assert "`weir rebuild shop silver.orders`" in by_table["silver.orders"].remedy
    assert "docs/backup.md" in by_table["bronze.orders"].remedy


def test_a_log_that_cannot_be_read_is_named_and_the_rest_is_looked_at(shop: Workshop) -> None:
    log = Path(lake(shop).table("gold.per_hour"), "_delta_log")
    max(log.glob("*.json")).write_text("no JSON", encoding="utf-8")

    found = {finding.about: finding for finding in wrong(shop)}

    assert found["logs"].state == BAD
    assert "the log of gold.per_hour cannot be read" in found["logs"].message
    assert "`weir rebuild shop gold.per_hour`" in found["logs"].remedy
    assert "landed files" in [finding.about for finding in look(shop)]


def test_a_broken_ledger_is_a_finding(shop: Workshop) -> None:
    log = Path(lake(shop).ledger("runs"), "_delta_log")
    for file in log.iterdir():
        if not file.is_dir():
            file.write_text("no JSON", encoding="utf-8")

    found = wrong(shop)

    assert [(finding.about, finding.state) for finding in found] == [("ledger", BAD)]
    assert "docs/backup.md" in found[0].remedy


def test_folders_without_the_right_to_write_are_named(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No mode bit stops root, who may run the tests."""
    real, locked = os.access, lake(shop).table("silver.orders")
    monkeypatch.setattr("os.access", lambda path, mode: str(path) != locked and real(path, mode))

    [found] = wrong(shop)

    assert (found.about, found.state, found.message) == (
        "rights",
        BAD,
        f"this user may not write to {locked}",
    )
    assert found.remedy.endswith(f"`ls -ld {locked}`")


def test_a_killed_run_and_a_sum_that_does_not_balance_are_named(shop: Workshop) -> None:
    ledger = Ledger(lake(shop), unguarded)
    ledger.write_run(run_id="cut", pipeline="shop", at=datetime.now(UTC), event="started", host="h", pid=1)
    ledger.write_evidence("cut", ("silver.orders", "stream", 1, 0), {}, "7 rows are missing")

    by_about = {finding.about: finding for finding in wrong(shop)}

    assert {about: finding.state for about, finding in by_about.items()} == {"account": BAD, "runs": WARNING}
    assert by_about["runs"].remedy == "`weir run shop` resumes"
    assert by_about["account"].message == "1 sum did not balance, of silver.orders"
    assert "`weir verify shop`" in by_about["account"].remedy


def test_a_clock_that_went_back_is_named(shop: Workshop) -> None:
    [found] = wrong(shop, datetime.now(UTC) - timedelta(hours=1))

    assert (found.about, found.state) == ("clock", BAD)
    assert "still to come by this clock" in found.message
    assert "timedatectl" in found.remedy


def test_small_files_and_leftovers_are_cleared_by_fix_but_not_beside_a_run(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    old = Path(lake(shop).checkpoint("silver.orders", 7))
    old.mkdir()
    monkeypatch.setattr(tables, "MANY_SMALL", 1)
    found = {finding.about: finding for finding in wrong(shop)}
    small, leftovers = found["small files"], found["leftovers"]

    assert (small.state, leftovers.state, leftovers.message) == (WARNING, WARNING, "1 old checkpoint")
    assert small.fix
    assert leftovers.fix
    assert small.fix.what == leftovers.fix.what, "done once for both"
    with hold_lease(lake(shop).lease(), "shop", "weir run"):
        assert "is held by process" in str(small.fix.do())
    assert old.exists()
    assert small.fix.do() is None
    assert not old.exists()


def test_a_table_that_no_file_declares_any_more_is_named_and_kept(shop: Workshop) -> None:
    old = Path(lake(shop).table("silver.old_orders"))
    old.mkdir()

    [found] = wrong(shop)

    assert (found.about, found.state, found.fix) == ("orphans", WARNING, None)
    assert "does not declare silver.old_orders" in found.message


def test_poisoned_times_and_waiting_rows_are_named_with_the_file_and_line(shop: Workshop) -> None:
    tomorrow = (datetime.now(UTC) + timedelta(hours=20)).isoformat()
    shop.land("orders/b.json", order(3) + order(4, at=tomorrow) + order(5, member=9))
    assert shop.run("shop").exit_code == 0

    by_about = {finding.about: finding for finding in wrong(shop)}

    assert {about: finding.state for about, finding in by_about.items()} == {
        "event times": BAD, "waiting rows": WARNING,
    }  # fmt: skip
    assert "moved there by 'orders/b.json' line 2" in by_about["event times"].message
    assert "`weir rebuild shop silver.orders`" in by_about["event times"].remedy
    assert by_about["waiting rows"].message == "1 row of silver.orders waits for a member"
    assert "`weir query " in by_about["waiting rows"].remedy


def test_one_record_that_claims_to_be_of_now_in_an_old_feed_is_named(shop: Workshop) -> None:
    shop.land("orders/b.json", order(3, at=(datetime.now(UTC) - timedelta(hours=1)).isoformat()))
    assert shop.run("shop").exit_code == 0

    [found] = wrong(shop)

    assert (found.about, found.state) == ("event times", WARNING)
    assert "of 'orders/b.json' line 1, lies " in found.message
    assert "days ahead of all others" in found.message


def test_the_query_that_the_doctor_names_finds_the_waiting_rows(
    shop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.land("orders/b.json", order(5, member=9))
    assert shop.run("shop").exit_code == 0
    monkeypatch.setenv("WEIR_HOME", str(shop.root))

    [found] = wrong(shop)
    sql = found.remedy.partition('"')[2].partition('"')[0]
    [row] = json.loads(CliRunner().invoke(app, ["query", sql, "--json"]).stdout)["rows"]

    assert (row["file"], row["line"], row["reasons"][0]["rule"]) == ("orders/b.json", 1, "member of members")


def test_a_dimension_without_members_is_named_with_where_they_land(
    new_workshop: Callable[[], Workshop],
) -> None:
    early = new_workshop()
    early.write("conf/pipelines/shop.yml", PIPELINE)
    early.land("orders/a.json", order(1))
    assert early.run("shop").exit_code == 0

    by_about = {finding.about: finding for finding in wrong(early)}

    assert by_about["dimensions"].state == BAD
    assert by_about["dimensions"].message == "dimension.members has no member, and silver.orders looks it up"
    assert f"{early.landing}/members" in by_about["dimensions"].remedy
