"""What started a run is kept with it and shown on its page; the run's result says where that page is. No
Spark: the run fails early.
"""

import json
from pathlib import Path

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.report.text import say_origin
from spark_jobs.run.result import read_origin
from tests.conftest import Workshop

PIPELINE = (
    "pipeline: shop\nsources: {orders: {format: json, path: orders}}\nsilver: {orders: {from: orders,"
    " columns: {id: bigint}}}\n"
)
OF_AIRFLOW = json.dumps({"dag": "shop<b>", "run": "manual__2026", "task": "run", "try": 1})


def keep_reports(workshop: Workshop, number: int) -> None:
    file = workshop.root / "conf" / "lakehouse.yml"
    file.write_text(file.read_text().replace("keep_reports: 0", f"keep_reports: {number}"))


@pytest.mark.parametrize("number", [0, 3])
def test_a_run_says_where_its_page_is_what_it_says_and_what_started_it(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    monkeypatch.setenv("WEIR_ORIGIN", OF_AIRFLOW)
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    keep_reports(idle_workshop, number)
    idle_workshop.land("orders/1.json", "{}\n")

    result = idle_workshop.run("shop").as_dict()

    page = f"shop/{result['run_id']}.html"
    assert (result["report"], result["verdict"]) == ((page, "failed") if number else (None, None))
    assert (result["blocked"], result["origin"]) == ([], OF_AIRFLOW)
    runs = Ledger(Lake(idle_workshop.project.lake, "shop")).rows("runs", ["event", "origin"])
    assert sorted((run["event"], run["origin"]) for run in runs) == [
        ("ended", OF_AIRFLOW),
        ("started", OF_AIRFLOW),
    ]
    if number:
        assert "Airflow: shop&lt;b&gt;, manual__2026, run" in Path(
            idle_workshop.project.reports, page
        ).read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("by\thand\n", "by hand"),
        ("\x1b[31mred\x00", "[31mred"),
        ("x" * 900, "x" * 500),
        (" \n", None),
        ("", None),
        ("\udcff", None),
    ],
)
def test_an_origin_is_one_bounded_line(given: str, kept: str | None) -> None:
    assert read_origin({"WEIR_ORIGIN": given}) == kept
    assert read_origin({}) is None


@pytest.mark.parametrize(
    ("origin", "said"),
    [
        (OF_AIRFLOW, "Airflow: shop<b>, manual__2026, run"),
        ('{"dag": "shop"}', '{"dag": "shop"}'),
        ('{"dag": 1, "run": 2, "task": 3}', '{"dag": 1, "run": 2, "task": 3}'),
        ("[" * 500, "[" * 500),
        ("by hand", "by hand"),
    ],
)
def test_an_origin_is_said_in_plain_words(origin: str, said: str) -> None:
    assert say_origin(origin) == said
