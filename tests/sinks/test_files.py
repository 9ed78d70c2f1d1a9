"""What stands in files, whatever the rows hold; and folders that are not a sink's own."""

import json

import pytest

from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop
from tests.sinks import shop
from tests.sinks.shop import csv_rows, json_rows, missing, order, run

pytestmark = pytest.mark.spark

HOSTILE = (
    "=1+1",
    "@x",
    "+49",
    "-3.5",
    'say "hi", now',
    "two\nlines\r\nthree",
    "  blanks  ",
    "",
    "\ttab",
    "'",
    "\\",
    'end\\"',
    "ünï",
    "NULL",
    ",",
)


def test_text_comes_out_as_it_went_in(workshop: Workshop) -> None:
    sinks = """\
  plain: {from: silver.log, to: files, format: csv, path: plain, compact_after: 2}
  safe: {from: silver.log, to: files, format: csv, path: safe, formulas: neutralise}
  lines: {from: silver.log, to: files, format: json, path: lines, compact_after: 2}
"""
    shop.declare(workshop, shop.LOG, sinks)
    workshop.land("orders/1.json", "".join(order(number, 1, text) for number, text in enumerate(HOSTILE)))
    run(workshop)
    workshop.land("orders/2.json", order(99, 1, None) + order(100, 1, "last"))
    run(workshop)

    expected = {str(number): text for number, text in enumerate(HOSTILE)} | {"99": "", "100": "last"}
    rows = csv_rows(workshop, "plain")
    assert [row for row in rows if row[0] == "id"] == [["id", "name", "at"]], "one header in one file"
    assert {row[0]: row[1] for row in rows if row[0] != "id"} == expected
    assert {row[2] for row in rows if row[0] != "id"} == {"2024-05-01T08:10:00.123456Z"}
    safe = {row[0]: row[1] for row in csv_rows(workshop, "safe") if row[0] != "id"}
    changed = {number: text for number, text in safe.items() if text != expected[number]}
    assert changed == {"0": "'=1+1", "1": "'@x", "8": "'\ttab"}
    lines = {str(row["id"]): row["name"] for row in json_rows(workshop, "lines")}
    assert lines == expected | {"99": None}
    assert missing(workshop) == {}


def test_folders_of_others_are_left_alone(workshop: Workshop) -> None:
    shop.declare(workshop, shop.LOG, "  log: {from: silver.log, to: files, format: json, path: mine}\n")
    theirs = workshop.write("exports/mine/theirs.txt", "theirs")
    workshop.land("orders/1.json", order(1, 1, "Ann"))

    refused = workshop.run("shop")

    assert refused.status is Status.FAILED
    assert "PlaceOccupied" in refused.message
    assert [path.name for path in theirs.parent.iterdir()] == ["theirs.txt"]
    theirs.unlink()
    theirs.parent.rmdir()
    elsewhere = workshop.write("elsewhere/keep.txt", "").parent
    theirs.parent.symlink_to(elsewhere)
    assert "leads out of the exports root" in workshop.run("shop").message
    theirs.parent.unlink()
    assert run(workshop).status is Status.OK


def test_rows_that_were_appended_and_are_gone_ask_for_a_new_beginning(workshop: Workshop) -> None:
    shop.declare(workshop, shop.LOG, "  log: {from: silver.log, to: files, format: json, path: log}\n")
    workshop.land("orders/1.json", order(1, 1, "Ann") + order(2, 1, "Bob"))
    run(workshop)
    pipeline = workshop.root / "conf/pipelines/shop.yml"
    pipeline.write_text(
        pipeline.read_text().replace(
            "log: {from: orders, columns", "log: {from: orders, where: id > 1, columns"
        )
    )
    assert (
        rebuild_tables(workshop.project, "shop", PROFILE, ["silver.log"], False, workshop._start).exit_code
        == 0
    )

    refused = workshop.run("shop")

    assert refused.status is Status.FAILED
    assert "RowsTakenBack: sink.log: 1 row that was delivered is no longer in its table" in refused.message
    assert sorted(row["id"] for row in json_rows(workshop, "log")) == [1, 2]
    rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["sink.log"], False, workshop._start)
    assert rebuilt.message == "the next `weir run shop` delivers everything again: sink.log"
    assert [due.why for due in workshop.plan("shop").tables] == [
        "silver.log has come; everything is to be delivered again"
    ]
    run(workshop)
    assert [row["id"] for row in json_rows(workshop, "log")] == [2]
    assert missing(workshop) == {}
    manifest = json.loads((shop.current(workshop, "log") / "_manifest.json").read_text())
    assert (manifest["rows"], manifest["generation"]) == (1, 3)
