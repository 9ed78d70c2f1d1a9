"""The files of reports: where they are, which are kept, and that they can be made again."""

import json
import os
import re
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.report.collect import collect_report
from spark_jobs.report.runs import run_ids
from spark_jobs.report.write import write_report
from spark_jobs.run.maintain import maintain_pipeline
from tests.report.lake_of_runs import START, Day, Judged, LakeOfRuns, run_id_of


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_report_and_both_lists_are_written_and_can_be_made_again(shop: LakeOfRuns) -> None:
    shop.run(Day(0))

    first = write_report(shop.project, "shop", run_id_of(0))
    again = write_report(shop.project, "shop", run_id_of(0))

    assert first == again == shop.root / "reports" / "shop" / f"{run_id_of(0)}.html"
    assert files_below(shop.root / "reports") == [
        "index.html",
        f"shop/{run_id_of(0)}.html",
        "shop/index.html",
        "shop/runs.json",
    ]


def test_links_are_relative_and_lead_to_files(shop: LakeOfRuns) -> None:
    for number in range(2):
        shop.run(Day(number))
        write_report(shop.project, "shop", run_id_of(number))

    links = {
        (page.parent / link).resolve()
        for page in (shop.root / "reports").rglob("*.html")
        for link in re.findall(r'href="([^"]*)"', page.read_text(encoding="utf-8"))
    }
    assert links == {path.resolve() for path in (shop.root / "reports").rglob("*.html")}


def test_the_oldest_reports_go_and_files_of_others_stay(tmp_path: Path) -> None:
    shop = LakeOfRuns(tmp_path)
    shop.set_up("keep_reports: 2\n")
    folder = tmp_path / "reports" / "shop"
    folder.mkdir(parents=True)
    others = ["notes.html", "20260101T000000-zzzzzzzz.html", "20260101T000000-00000000.html.bak", "index.txt"]
    for name in others:
        (folder / name).write_text("mine", encoding="utf-8")
    (folder / f"{run_id_of(9)[:-1]}f.html").symlink_to(folder / "notes.html")
    for number in range(4):
        shop.run(Day(number))
        write_report(shop.project, "shop", run_id_of(number))

    kept = [f"{run_id_of(number)}.html" for number in (2, 3)]
    assert sorted(path.name for path in folder.iterdir()) == sorted(
        [*kept, *others, "index.html", "runs.json", f"{run_id_of(9)[:-1]}f.html"]
    )
    assert (folder / "notes.html").read_text(encoding="utf-8") == "mine"

    write_report(shop.project, "shop", run_id_of(0))
    assert (folder / f"{run_id_of(0)}.html").is_file(), "what was asked for is kept, however old"
    assert not (folder / f"{run_id_of(2)}.html").exists()


def test_reports_are_in_the_order_of_the_ledger_and_not_of_the_clock_in_their_names(tmp_path: Path) -> None:
    shop = LakeOfRuns(tmp_path)
    shop.set_up("keep_reports: 2\n")
    ledger = Ledger(shop.lake)
    ids = ["20360101T000000-00000000", "20260302T000000-00000000", "20260301T000000-00000000"]
    for number, run_id in enumerate(ids):
        at = datetime.strptime(run_id[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
        ledger.write_run(run_id=run_id, at=at, event="started")
        ledger.write_run(run_id=run_id, at=at, event="ended", status="ok" if number else "failed")
        write_report(shop.project, "shop", run_id)

    assert run_ids(shop.lake) == ids
    runs = json.loads((tmp_path / "reports" / "shop" / "runs.json").read_text(encoding="utf-8"))["runs"]
    assert [run["run_id"] for run in runs] == ids[:0:-1], "the newest first, and the oldest is gone"
    front = (tmp_path / "reports" / "index.html").read_text(encoding="utf-8")
    assert "2026-03-01" in front
    assert "2036" not in front


def test_a_second_marker_and_a_finding_that_was_written_twice_count_once(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    report = collect_report(shop.project, "shop", run_id_of(0), START)
    for name in ("batches", "expectations"):
        path = shop.lake.ledger(name)
        write_deltalake(path, DeltaTable(path).to_pyarrow_table(), mode="append")

    again = collect_report(shop.project, "shop", run_id_of(0), START)

    assert [table.counts for table in again.tables] == [table.counts for table in report.tables]
    assert [table.rules for table in again.tables] == [table.rules for table in report.tables]
    assert again.balance == report.balance


def test_the_front_page_lists_every_pipeline_that_has_reports(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    (shop.root / "reports" / "<b>").mkdir(parents=True)
    (shop.root / "reports" / "empty").mkdir()
    write_report(shop.project, "shop", run_id_of(0))

    front = (shop.root / "reports" / "index.html").read_text(encoding="utf-8")
    assert re.findall(r'href="([^"]*)"', front) == ["shop/index.html"]
    assert "Good, with warnings" in front


def test_reports_go_where_the_settings_say(tmp_path: Path) -> None:
    shop = LakeOfRuns(tmp_path / "project")
    shop.set_up(f"reports: {tmp_path}/elsewhere\n")
    shop.run(Day(0))

    assert write_report(shop.project, "shop", run_id_of(0)).parent == tmp_path / "elsewhere" / "shop"


def test_runs_json_has_the_runs_that_have_a_page_and_what_stands_in_the_tables_now(tmp_path: Path) -> None:
    shop = LakeOfRuns(tmp_path)
    shop.set_up("keep_reports: 3\n")
    shop.run(Day(0))
    shop.run(Day(1, quarantined=0))
    shop.run(Day(2, status="failed", message="silver.orders failed: the disk is full"))
    held = {"enough_orders": Judged(None, is_met=False, rows=None, observed="312")}
    shop.run(Day(3, status="blocked", verdict="blocked", judged=held, message="held: found 312"))
    for number in range(4):
        write_report(shop.project, "shop", run_id_of(number))

    text = (tmp_path / "reports" / "shop" / "runs.json").read_text(encoding="utf-8")
    written = json.loads(text)

    assert [(run["run_id"], run["outcome"]) for run in written["runs"]] == [
        (run_id_of(3), "blocked"),
        (run_id_of(2), "failed"),
        (run_id_of(1), "good"),
    ]
    assert written["runs"][2] == {
        "run_id": run_id_of(1),
        "page": f"{run_id_of(1)}.html",
        "started_at": "2026-11-01T07:00:00+00:00",
        "seconds": 48.0,
        "outcome": "good",
        "why": (
            "980 silver rows published, 58 in dimensions, 5 parked, none quarantined; all 5 expectations are"
            " met."
        ),
        "origin": None,
        "records": 1_100,
        "published": 980,
        "set_aside": 5,
        "late": 0,
        "not_met": 0,
    }
    assert written["runs"][0]["why"].startswith(
        "silver.orders: batch blocked, 312 rows not published; failed rule: enough_orders."
    )
    assert written["runs"][1]["why"] == "silver.orders failed: the disk is full"
    assert (written["pipeline"], written["open_quarantine"], written["parked"], written["late"]) == (
        "shop",
        4,
        15,
        0,
    )
    assert {table["table"]: table["rows"] for table in written["tables"]}["silver.orders"] == 2_700
    newest = {table["table"]: (table["newest_event_at"], table["updated_at"]) for table in written["tables"]}
    assert newest["silver.orders"] == ("2026-11-01T07:30:12+00:00", "2026-11-01T08:00:12+00:00")
    assert newest["bronze.orders"] == (None, "2026-11-01T09:00:12+00:00"), "an arrival is no event"
    assert "-3.50" not in text, "no value of any row"


def test_runs_json_says_who_started_a_run_where_the_ledger_knows(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    origin = '{"dag": "shop", "run": "manual__1", "task": "silver", "try": 1}'
    told = pa.table(
        {
            "run_id": [run_id_of(0)],
            "pipeline": ["shop"],
            "at": [Day(0).at],
            "event": ["noted"],
            "origin": [origin],
        }
    )
    in_utc = told.schema.set(2, pa.field("at", pa.timestamp("us", "UTC")))
    write_deltalake(shop.lake.ledger("runs"), told.cast(in_utc), mode="append", schema_mode="merge")

    write_report(shop.project, "shop", run_id_of(0))

    [run] = json.loads((shop.root / "reports" / "shop" / "runs.json").read_text(encoding="utf-8"))["runs"]
    assert run["origin"] == origin


def test_upkeep_removes_reports_beyond_those_that_are_kept_now_and_lists_the_others(shop: LakeOfRuns) -> None:
    for number in range(3):
        shop.run(Day(number))
        write_report(shop.project, "shop", run_id_of(number))
    (shop.root / "conf" / "lakehouse.yml").write_text(
        "landing: landing\nlake: lake\nkeep_reports: 1\n", encoding="utf-8"
    )
    with hold_lease(shop.lake.lease(), "shop", "test"):
        pass

    assert maintain_pipeline(shop.project, "shop", is_dry=True).removed["reports"] == 2
    assert maintain_pipeline(shop.project, "shop").removed["reports"] == 2

    folder = shop.root / "reports" / "shop"
    assert [path.name for path in folder.glob("2*.html")] == [f"{run_id_of(2)}.html"]
    assert re.findall(r'href="(2[^"]*)"', (folder / "index.html").read_text(encoding="utf-8")) == [
        f"{run_id_of(2)}.html"
    ]
    assert maintain_pipeline(shop.project, "shop").removed["reports"] == 0


@pytest.mark.parametrize(("mask", "mode"), [(0o077, 0o600), (0o022, 0o644)])
def test_who_may_read_reports_is_what_the_user_says_of_new_files(
    mask: int, mode: int, shop: LakeOfRuns
) -> None:
    shop.run(Day(0))
    before = os.umask(mask)
    try:
        page = write_report(shop.project, "shop", run_id_of(0))
    finally:
        os.umask(before)

    files = [page, *page.parent.glob("[!2]*.*"), page.parents[1] / "index.html"]
    assert {file.name: file.stat().st_mode & 0o777 for file in files} == dict.fromkeys(
        (file.name for file in files), mode
    )
