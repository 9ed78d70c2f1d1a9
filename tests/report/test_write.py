"""The files of reports: where they are, which are kept, and that they can be made again."""

import re
from pathlib import Path

from spark_jobs.lake.lease import hold_lease
from spark_jobs.report.write import write_report
from spark_jobs.run.maintain import maintain_pipeline
from tests.report.lake_of_runs import Day, LakeOfRuns, run_id_of


def files_below(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_report_and_both_lists_are_written_and_can_be_made_again(shop: LakeOfRuns) -> None:
    shop.run(Day(0))

    first = write_report(shop.project, "shop", run_id_of(0))
    again = write_report(shop.project, "shop", run_id_of(0))

    assert first == again == shop.root / "reports" / "shop" / f"{run_id_of(0)}.html"
    assert files_below(shop.root / "reports") == ["index.html", f"shop/{run_id_of(0)}.html", "shop/index.html"]


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
    assert sorted(path.name for path in folder.iterdir()) == sorted([*kept, *others, "index.html", f"{run_id_of(9)[:-1]}f.html"])
    assert (folder / "notes.html").read_text(encoding="utf-8") == "mine"

    write_report(shop.project, "shop", run_id_of(0))
    assert (folder / f"{run_id_of(0)}.html").is_file(), "what was asked for is kept, however old"
    assert not (folder / f"{run_id_of(2)}.html").exists()


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


def test_upkeep_removes_reports_beyond_those_that_are_kept_now_and_lists_the_others(shop: LakeOfRuns) -> None:
    for number in range(3):
        shop.run(Day(number))
        write_report(shop.project, "shop", run_id_of(number))
    (shop.root / "conf" / "lakehouse.yml").write_text("landing: landing\nlake: lake\nkeep_reports: 1\n", encoding="utf-8")
    with hold_lease(shop.lake.lease(), "shop", "test"):
        pass

    assert maintain_pipeline(shop.project, "shop", is_dry=True).removed["reports"] == 2
    assert maintain_pipeline(shop.project, "shop").removed["reports"] == 2

    folder = shop.root / "reports" / "shop"
    assert [path.name for path in folder.glob("2*.html")] == [f"{run_id_of(2)}.html"]
    assert re.findall(r'href="(2[^"]*)"', (folder / "index.html").read_text(encoding="utf-8")) == [f"{run_id_of(2)}.html"]
    assert maintain_pipeline(shop.project, "shop").removed["reports"] == 0
