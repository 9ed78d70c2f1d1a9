"""`weir report` as a person types it, over a ledger that is there. None of this starts Spark."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT, weir_environ
from tests.report.lake_of_runs import PIPELINE, Day, LakeOfRuns, run_id_of

pytestmark = pytest.mark.system


@pytest.fixture
def shop(tmp_path: Path) -> LakeOfRuns:
    shop = LakeOfRuns(tmp_path)
    shop.set_up(pipeline=PIPELINE)
    return shop


def weir_report(shop: LakeOfRuns, *arguments: str, **environ: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spark_jobs.cli", "report", *arguments]
    known = weir_environ(WEIR_HOME=str(shop.root), PYTHONPATH=str(ROOT), JAVA_HOME="/nowhere", **environ)
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=120, env=known, cwd=shop.root, check=False
    )
    assert "Traceback" not in done.stderr
    return done


def test_the_newest_run_is_reported_and_its_path_printed_last(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=0))
    shop.run(Day(1, quarantined=4))

    newest, again, older = (weir_report(shop, "shop", *extra) for extra in ((), (), ("--run", run_id_of(0))))

    assert [done.returncode for done in (newest, again, older)] == [0, 0, 0]
    assert newest.stdout.splitlines() == [
        (
            "shop: good, with warnings: 980 silver rows published, 58 in dimensions, 4 quarantined, 5 parked;"
            " 1 thing needs a look."
        ),
        str(shop.root / "reports" / "shop" / f"{run_id_of(1)}.html"),
    ]
    assert again.stdout == newest.stdout
    assert older.stdout.splitlines()[-1] == str(shop.root / "reports" / "shop" / f"{run_id_of(0)}.html")


def test_without_a_pipeline_all_are_made_and_the_front_page_is_named(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    (shop.root / "conf" / "pipelines" / "other.yml").write_text(
        PIPELINE.replace("pipeline: shop", "pipeline: other"), encoding="utf-8"
    )

    done = weir_report(shop)
    as_json = weir_report(shop, "--json", WEIR_REPORTS=str(shop.root / "elsewhere"))

    assert done.returncode == 0
    assert "other: nothing has run yet; `weir run other` takes in what has landed" in done.stdout
    assert done.stdout.splitlines()[-1] == str(shop.root / "reports" / "index.html")
    pipelines = json.loads(as_json.stdout)["pipelines"]
    assert [(known["pipeline"], known["run"] and known["run"]["run_id"]) for known in pipelines] == [
        ("other", None),
        ("shop", run_id_of(0)),
    ]
    assert (shop.root / "elsewhere" / "shop" / f"{run_id_of(0)}.html").is_file()


def test_json_is_one_object_with_the_verdict_and_every_rule(shop: LakeOfRuns) -> None:
    shop.run(Day(0, quarantined=4))

    done = weir_report(shop, "shop", "--json")

    assert len(done.stdout.splitlines()) == 1
    report = json.loads(done.stdout)
    assert (report["verdict"]["outcome"], report["run"]["started_at"]) == (
        "good_with_warnings",
        "2026-11-01T06:00:00+00:00",
    )
    rules = {rule["name"]: rule["state"] for table in report["tables"] for rule in table["rules"]}
    assert (rules["amount_in_range"], rules["order_once"]) == ("set_aside", "met")
    assert Path(report["path"]).is_file()


def test_before_any_run_there_is_a_friendly_line_and_no_file(shop: LakeOfRuns) -> None:
    done = weir_report(shop, "shop", "--open")

    assert (done.returncode, done.stdout) == (
        0,
        "shop: nothing has run yet; `weir run shop` takes in what has landed\n",
    )
    assert not (shop.root / "reports").exists()


def test_what_is_not_there_is_refused_with_what_is(shop: LakeOfRuns) -> None:
    shop.run(Day(0))

    near, far = (
        weir_report(shop, "shop", "--run", f"{run_id_of(0)[:-1]}9"),
        weir_report(shop, "shop", "--run", "../../x"),
    )
    pipeline, no_pipeline = weir_report(shop, "shp"), weir_report(shop, "--run", run_id_of(0))

    assert [done.returncode for done in (near, far, pipeline, no_pipeline)] == [2, 2, 2, 2]
    assert f"did you mean '{run_id_of(0)}'" in near.stderr
    assert f"allowed: {run_id_of(0)}" in far.stderr
    assert "did you mean 'shop'" in pipeline.stderr
    assert "weir report PIPELINE --run RUN_ID" in no_pipeline.stderr


def test_open_shows_the_page_in_the_browser(shop: LakeOfRuns) -> None:
    shop.run(Day(0))
    browser, opened = shop.root / "browser", shop.root / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o755)

    done = weir_report(shop, "shop", "--open", BROWSER=f"{browser} %s")

    assert done.returncode == 0
    assert (
        opened.read_text(encoding="utf-8").strip()
        == (shop.root / "reports" / "shop" / f"{run_id_of(0)}.html").as_uri()
    )
