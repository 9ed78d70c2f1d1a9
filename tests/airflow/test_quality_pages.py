"""The Data-quality tab: who sees what, that nothing of a request reaches the file system unchecked, and what
the pages say.
"""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from service.demo.airflow import Airflow
from spark_jobs.report.write import write_report
from tests.airflow.conftest import ROOT, run_inside
from tests.report.lake_of_runs import PIPELINE, Day, LakeOfRuns, run_id_of

pytestmark = pytest.mark.airflow

RUNS = [run_id_of(number) for number in range(3)]
NEWEST = f"{RUNS[2]}.html"
HOSTILE = "</bdi><script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
STARTED_BY = {
    RUNS[0]: ("manual__0", "run"),
    RUNS[1]: ("manual__1", "bronze"),
    RUNS[2]: ("manual__1", HOSTILE),
}
# Pipelines that have a DAG, and how their reports are made bad.
SPOILED = [
    "cut_off",
    "of_other_shape",
    "without_list",
    "with_other_page",
    "linked",
    "linked_list",
    "linked_page",
]
WITH_REPORTS = ["shop", "secret_shop", *SPOILED]
DAGS = [*WITH_REPORTS, "fresh", "secret_fresh", "weir.maintenance", "no_pipeline"]
ODD_PATHS = [
    "reports/shop/runs.json", "reports/shop/index.txt", "reports/shop/notes.html", "reports/shop/..%2f..%2fconf%2flakehouse.yml",
    "reports/shop/%2e%2e/%2e%2e/conf/lakehouse.yml", "reports/..%2fconf/lakehouse.yml", "reports/%2e%2e/index.html",
    "reports/conf/lakehouse.yml", f"reports/shop/{NEWEST}%00", f"reports/shop/..%2fsecret_shop%2f{NEWEST}", f"reports/shop/{RUNS[2]}",
    "reports//etc/passwd", "dags/..%2f..", "dags/%3Cscript%3E", "docs", "openapi.json", "redoc", "",
    "reports/weir.maintenance/index.html", "reports/no_pipeline/index.html",
]  # fmt: skip
ASKED = [
    "reports/index.html", "reports/shop/index.html", f"reports/shop/{NEWEST}", *(f"reports/{name}/{NEWEST}" for name in SPOILED),
    "dags/shop", "dags/shop?run=manual__0", "dags/shop?run=manual__1", f"dags/shop?run=manual__1&show={RUNS[1]}", "dags/shop?task=bronze",
    "dags/shop?run=manual__1&task=bronze", *(f"dags/shop?run=manual__{number}" for number in (7, 8, 9, 10)),
    "dags/shop?run=manual__8&task=gold", "dags/shop?run=manual__1&task=gold", "dags/shop?show=../../conf",
    "dags/fresh", "dags/cut_off", "dags/weir.maintenance", *ODD_PATHS,
]  # fmt: skip
POLICY = (
    r"default-src 'none'; style-src 'sha256-[\w+/=]+'; frame-src 'self'; frame-ancestors 'self'; base-uri"
    r" 'none'; form-action 'none'"
)


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A shop with three reports, one that is not for everybody, one that has not run, and some whose files
    are bad.
    """
    shop = LakeOfRuns(tmp_path_factory.mktemp("shop"))
    shop.set_up()
    for number in range(3):
        shop.run(Day(number, quarantined=0 if number == 1 else 2))
        write_report(shop.project, "shop", run_id_of(number))
    for folder in ("dags", "plugins", ".envs"):
        (shop.root / folder).symlink_to(ROOT / folder)
    for name in (*WITH_REPORTS, "fresh", "secret_fresh"):
        (shop.root / "conf" / "pipelines" / f"{name}.yml").write_text(
            PIPELINE.replace("shop", name), encoding="utf-8"
        )
    reports = shop.root / "reports"
    change_runs(reports / "shop", tell_origins)
    (reports / "shop" / "notes.html").write_text("<p>mine", encoding="utf-8")
    for name in WITH_REPORTS[1:]:
        shutil.copytree(reports / "shop", reports / name)
    spoil(reports)
    return shop.root


def tell_origins(runs: dict[str, Any]) -> None:
    for run in runs["runs"]:
        dag_run, task = STARTED_BY[run["run_id"]]
        run["origin"] = json.dumps({"dag": "shop", "run": dag_run, "task": task, "try": 1})
        run["why"] = f"{run['why']} {HOSTILE}"


def spoil(reports: Path) -> None:
    """Each pipeline has something else wrong with its files."""
    elsewhere = reports.parent / "conf" / "lakehouse.yml"
    (reports / "cut_off" / "runs.json").write_text('{"pipeline": "cut', encoding="utf-8")
    change_runs(reports / "of_other_shape", lambda runs: runs.pop("made_at"))
    (reports / "without_list" / "runs.json").unlink()
    change_runs(
        reports / "with_other_page", lambda runs: runs["runs"][0].update(page="../../conf/lakehouse.yml")
    )
    shutil.rmtree(reports / "linked")
    (reports / "linked").symlink_to(reports / "shop")
    (reports / "linked_list" / "runs.json").rename(reports / "linked_list" / "other.json")
    (reports / "linked_list" / "runs.json").symlink_to("other.json")
    (reports / "linked_page" / NEWEST).unlink()
    (reports / "linked_page" / NEWEST).symlink_to(elsewhere)


def change_runs(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    runs = json.loads((folder / "runs.json").read_text(encoding="utf-8"))
    change(runs)
    (folder / "runs.json").write_text(json.dumps(runs), encoding="utf-8")


@pytest.fixture(scope="module")
def told(shops: Path, airflow: Airflow) -> dict[str, Any]:
    mine = Airflow(shops, airflow.environ)
    mine.home.mkdir()
    shutil.copy(airflow.home / "airflow.db", mine.home)
    fills = {"dag_id": ["shop", "secret_shop", "there_is_none"], "page": [NEWEST, "runs.json"]}
    answer: dict[str, Any] = json.loads(
        run_inside(mine, "ask_pages.py", json.dumps(DAGS), json.dumps(fills), json.dumps(ASKED))
    )
    return answer


def answers(told: dict[str, Any], user: str, name: str = "") -> dict[str, dict[str, Any]]:
    """What a user got on the walk through all routes, where the path has this name."""
    return {
        each["path"]: each
        for each in told["walk"]
        if each["user"] == user and (not name or f"/{name}" in each["path"])
    }


def test_no_route_tells_anything_to_somebody_who_has_not_signed_in(told: dict[str, Any]) -> None:
    refused = answers(told, "anonymous")

    assert len(refused) >= len(told["routes"]) > 0
    assert {each["status"] for each in refused.values()} == {401}
    assert len({each["text"] for each in refused.values()}) == 1, (
        "it is the same whether there is such a pipeline or not"
    )


def test_who_may_not_read_a_dag_learns_neither_its_name_nor_that_it_is_there(told: dict[str, Any]) -> None:
    hidden, missing = answers(told, "viewer", "secret_shop"), answers(told, "viewer", "there_is_none")

    assert {each["status"] for each in hidden.values()} == {404}
    assert [each["text"] for each in hidden.values()] == [each["text"] for each in missing.values()]
    outside = answers(told, "outsider")
    assert {path: each["status"] for path, each in outside.items() if each["status"] != 404} == {
        "/air/weir/reports/index.html": 200
    }
    for user in ("viewer", "outsider"):
        assert "secret" not in "".join(each["text"] for each in answers(told, user).values())
    assert "shop" not in "".join(each["text"] for each in outside.values())
    assert "no pipeline that you may read" in outside["/air/weir/reports/index.html"]["text"]


@pytest.mark.parametrize(("user", "names"), [("viewer", ["shop"]), ("admin", ["shop", "secret_shop"])])
def test_who_may_read_a_dag_sees_its_reports(told: dict[str, Any], user: str, names: list[str]) -> None:
    for name in names:
        statuses = {
            path.removeprefix("/air/weir/"): each["status"]
            for path, each in answers(told, user, name).items()
        }
        assert statuses == {
            f"reports/{name}/index.html": 200,
            f"reports/{name}/{NEWEST}": 200,
            f"reports/{name}/runs.json": 404,
            f"dags/{name}": 200,
        }
        assert f">{name}</a>" in answers(told, user)["/air/weir/reports/index.html"]["text"]


def test_no_path_leads_to_another_file(told: dict[str, Any]) -> None:
    assert {path: told["asked"][path]["status"] for path in ODD_PATHS} == dict.fromkeys(ODD_PATHS, 404)
    assert "landing: landing" not in json.dumps(told["asked"])


def test_broken_missing_and_linked_files_are_said_in_their_place_and_break_nothing_else(
    told: dict[str, Any],
) -> None:
    rows = re.split(r"<tr>", told["asked"]["reports/index.html"]["text"])
    said = {name: next(row for row in rows if f">{name}</a>" in row) for name in [*WITH_REPORTS, "fresh"]}

    assert [name for name, row in said.items() if "Not readable" in row] == SPOILED[:-1]
    assert "<code>weir report cut_off</code>" in said["cut_off"]
    assert "no list of them" in said["without_list"]
    assert "Nothing has run yet: trigger the DAG <bdi>fresh</bdi>" in said["fresh"]
    assert "Good, with warnings" in said["shop"]
    assert {name: told["asked"][f"reports/{name}/{NEWEST}"]["status"] for name in SPOILED} == dict.fromkeys(
        SPOILED, 500
    )
    assert "Not readable" in told["asked"]["dags/cut_off"]["text"]


def test_values_from_files_and_requests_are_inert(told: dict[str, Any]) -> None:
    pages = [each["text"] for each in (*told["walk"], *told["asked"].values())]

    assert sum("&lt;script&gt;alert(1)" in page for page in pages) > 5
    assert [page for page in pages if "<script" in page or "<img" in page] == []


def test_every_answer_lets_nothing_but_its_own_style_through(told: dict[str, Any], shops: Path) -> None:
    for each in (*told["walk"], *told["asked"].values()):
        headers = each["headers"]
        assert re.fullmatch(POLICY, headers["content-security-policy"]), each["path"]
        assert headers["content-type"] == "text/html; charset=utf-8"
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
    report = told["asked"][f"reports/shop/{NEWEST}"]
    assert report["text"] == (shops / "reports" / "shop" / NEWEST).read_text(encoding="utf-8")
    [own] = re.findall(r"'sha256-[^']+'", report["text"])
    assert f"style-src {own};" in report["headers"]["content-security-policy"], (
        "as strict as the report is by itself"
    )


def test_links_work_behind_a_prefix_and_without_one(told: dict[str, Any]) -> None:
    crawled = told["crawl"]

    assert all(path.startswith("/air/weir/") for path in crawled)
    assert {f"/air{path}": status for path, status in told["crawl_without_prefix"].items()} == crawled
    pages = {f"/air/weir/reports/{name}/{run}.html" for name in ("shop", "secret_shop") for run in RUNS}
    assert pages < crawled.keys()
    assert {path for path, status in crawled.items() if status != 200} == {
        f"/air/weir/reports/linked_page/{NEWEST}"
    }
    assert [view["href"] for view in told["views"]] == [
        "weir/reports/index.html",
        "weir/dags/{DAG_ID}",
        "weir/dags/{DAG_ID}?run={RUN_ID}",
        "weir/dags/{DAG_ID}?task={TASK_ID}",
        "weir/dags/{DAG_ID}?run={RUN_ID}&task={TASK_ID}",
    ]


@pytest.mark.parametrize(
    ("query", "shown", "links"),
    [
        ("", 2, 3),
        ("?run=manual__0", 0, 0),
        ("?run=manual__1", 2, 2),
        (f"?run=manual__1&show={RUNS[1]}", 1, 2),
        ("?task=bronze", 1, 1),
        ("?run=manual__1&task=bronze", 1, 0),
        ("?show=../../conf", 2, 3),
    ],
)
def test_a_tab_shows_the_newest_report_of_its_dag_run_or_task_and_leads_to_the_others(
    told: dict[str, Any], query: str, shown: int, links: int
) -> None:
    page = told["asked"][f"dags/shop{query}"]["text"]

    assert re.findall(r'<iframe [^>]*src="([^"]*)"', page) == [f"../reports/shop/{RUNS[shown]}.html"]
    assert len(re.findall(r'href="\?[^"]*show=', page)) == links


def test_a_tab_without_a_report_says_what_airflow_knows_of_its_run(told: dict[str, Any]) -> None:
    said = {run: told["asked"][f"dags/shop?run=manual__{run}"]["text"] for run in (7, 8, 9, 10)}

    assert "This DAG run is queued: it has not begun." in said[7]
    assert "This DAG run is at work since 2026-03-01 08:05 UTC: no task is running now." in said[8]
    assert "This DAG run had nothing to do" in said[9]
    assert "Airflow has no such run of this DAG." in said[10]
    assert "This task has not begun." in told["asked"]["dags/shop?run=manual__8&task=gold"]["text"]
    assert (
        "Airflow has no such run of this DAG." in told["asked"]["dags/shop?run=manual__1&task=gold"]["text"]
    )
    assert "Nothing has run yet" in told["asked"]["dags/fresh"]["text"]
    assert "not a pipeline of Weir" in told["asked"]["dags/weir.maintenance"]["text"]
    states = told["states"]
    assert "This task is at work since 2026-03-01 08:05 UTC." in states["running"]
    assert states["awaiting_input"] == "This task waits for an answer."
    assert "its log says why" in states["failed"]
    assert "nothing for it to do" in states["skipped"]
    assert "goes on now that it is up again" in states["up_for_reschedule"]
    assert "run is running. A report is written when a run of its tables ends." in states["run running"]
    assert "decide waits for an answer" in states["run waiting"]
    assert "failed in run and has left no report" in states["run failed"]
    assert "had nothing to do" in states["run idle"]


def test_a_token_that_was_not_made_by_this_airflow_gets_the_advice_to_sign_in(told: dict[str, Any]) -> None:
    refused = answers(told, "broken")

    assert {each["status"] for each in refused.values()} == {403}
    assert len({each["text"] for each in refused.values()}) == 1, (
        "it is the same whether there is such a pipeline or not"
    )
    assert all(
        "Sign in to Airflow" in each["text"] and "no such page" not in each["text"]
        for each in refused.values()
    )


def test_only_the_api_server_loads_the_pages_and_they_need_no_spark(told: dict[str, Any]) -> None:
    assert told["import_errors"] == {}
    assert told["loaded_early"] == []
    assert told["loaded"] == []
