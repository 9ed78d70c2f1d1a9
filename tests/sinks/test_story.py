"""One story for all kinds of sinks: a first load, a delivery with updates, deletes and new rows, and a
rebuild of the table.
"""

import json
from dataclasses import dataclass, field
from typing import Any

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.report.write import write_report
from spark_jobs.run import progress
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import RunResult, Status
from tests.conftest import PROFILE, Workshop
from tests.sinks import shop
from tests.sinks.shop import ask, counts, csv_rows, json_rows, missing, order, parquet_rows, run

pytestmark = pytest.mark.spark

SINKS = """\
  log: {from: silver.log, to: files, format: parquet, path: log}
  changes: {from: silver.orders, to: files, format: json, path: changes, operation: op, columns: [id, v, name]}
  names: {from: gold.per_name, to: files, format: csv, path: out/names, mode: complete}
  orders_pg: {from: silver.orders, to: jdbc, connection: warehouse, table: public.orders, columns: [id, name, tags, at]}
  hours_pg: {from: gold.per_hour, to: jdbc, connection: warehouse, table: public.hours}
  names_pg: {from: gold.per_name, to: jdbc, connection: warehouse, table: public.names, mode: complete}
  log_pg: {from: silver.log, to: jdbc, connection: warehouse, table: public.log, mode: append}
  rows: {from: silver.orders, to: python, function: hooks/push.py:send_row, per: row, columns: [id, name]}
  batches: {from: silver.orders, to: python, function: hooks/push.py:send_batch, columns: [id, name]}
  look: {from: silver.orders, to: console, rows: 1}
  kept: {from: silver.orders, to: memory, columns: [id, name]}
"""
HOOKS = """
import json, os

def _write(*said):
    with open(os.path.join({root!r}, "sent.txt"), "a") as file:
        file.write(json.dumps(said) + chr(10))

def send_row(row, batch):
    _write("row", batch.step, row["_operation"], row["id"], row["name"])

def send_batch(rows, batch):
    found = sorted((row["_operation"], row["id"], row["name"]) for row in rows.collect())
    _write("batch", batch.step, batch.is_whole, found)
"""


@dataclass
class Story:
    workshop: Workshop
    runs: dict[str, RunResult] = field(default_factory=dict)
    said: dict[str, list[str]] = field(default_factory=dict)
    kept: list[tuple[Any, ...]] = field(default_factory=list)

    def sent(self) -> list[list[Any]]:
        return [json.loads(line) for line in (self.workshop.root / "sent.txt").read_text().splitlines()]


@pytest.fixture(scope="module")
def story(new_workshop: Any, database: str) -> Story:
    workshop: Workshop = new_workshop()
    told = Story(workshop)
    with pytest.MonkeyPatch.context() as patch:
        lines: list[str] = []
        patch.setattr(progress.LineProgress, "say", lambda self, line: lines.append(line))
        workshop.write("conf/hooks/push.py", HOOKS.format(root=str(workshop.root)))
        shop.declare(workshop, shop.TABLES, SINKS, database)
        workshop.land("orders/1.json", order(1, 1, "Ann") + order(2, 1, "Bob") + order(4, 1, None, 9))
        told.runs["first"] = run(workshop)
        told.said["first"], lines = lines, []
        told.runs["nothing"] = run(workshop)
        workshop.land(
            "orders/2.json",
            order(1, 2, "Ann B.") + order(2, 99, "") + order(3, 1, "Cid") + order(4, 1, None, 9),
        )
        told.runs["second"] = run(workshop)
        assert workshop.spark is not None
        told.kept = sorted(tuple(row) for row in workshop.spark.table("global_temp.shop__kept").collect())
        rebuilt = rebuild_tables(workshop.project, "shop", PROFILE, ["silver.orders"], False, workshop._start)
        assert rebuilt.exit_code == 0, rebuilt.message
        told.runs["rebuilt"] = run(workshop)
        workshop.land("orders/3.json", order(3, 2, "Cid"))
        told.runs["third"] = run(workshop)
    return told


def test_nothing_is_due_when_everything_is_delivered(story: Story) -> None:
    assert story.runs["nothing"].status is Status.NOTHING_TO_DO
    assert run(story.workshop).status is Status.NOTHING_TO_DO
    assert missing(story.workshop) == {}


def test_a_batch_counts_what_it_delivered(story: Story) -> None:
    assert counts(story.runs["first"], "sink.changes") == (3, 3, 0, 0, 0)
    assert counts(story.runs["second"], "sink.changes") == (3, 1, 1, 1, 0)
    ledger = Ledger(Lake(str(story.workshop.root / "lake"), "shop"))
    begun = [(row["step"], row["batch"], row["inserted"]) for row in ledger.batches("sink.changes", 1)]
    assert begun == [("begin", 0, 3), ("stream", 0, 1)]
    assert next(row["version"] for row in ledger.batches("sink.changes", 1)) is not None


def test_files_have_new_rows_once_or_every_change_or_the_whole_table(story: Story) -> None:
    log = [(1, "Ann"), (1, "Ann B."), (2, "Bob"), (2, ""), (3, "Cid"), (3, "Cid"), (4, None), (4, None)]
    assert sorted(parquet_rows(story.workshop, "log", "id", "name"), key=repr) == sorted(log, key=repr)
    changes = [(row["op"], row["id"], row["v"], row["name"]) for row in json_rows(story.workshop, "changes")]
    assert sorted(changes[:3], key=repr) == [
        ("insert", 1, 1, "Ann"),
        ("insert", 2, 1, "Bob"),
        ("insert", 4, 1, None),
    ]
    assert sorted(changes[3:6], key=repr) == [
        ("delete", 2, 1, "Bob"),
        ("insert", 3, 1, "Cid"),
        ("update", 1, 2, "Ann B."),
    ]
    assert changes[6:] == [("update", 3, 2, "Cid")]
    assert sorted(csv_rows(story.workshop, "out/names")) == [
        ["", "1"],
        ["Ann B.", "1"],
        ["Cid", "1"],
        ["name", "n"],
    ]


def test_the_report_of_a_run_shows_its_sinks(story: Story) -> None:
    page = write_report(story.workshop.project, "shop", str(story.runs["second"].run_id)).read_text(
        encoding="utf-8"
    )

    assert "3 changes delivered" in page
    assert "sink.orders_pg" in page
    assert "missing" not in page.partition("Since the lake began")[2].partition("</table>")[0]


def test_a_rebuilt_table_sends_only_what_differs(story: Story) -> None:
    assert counts(story.runs["rebuilt"], "sink.changes") == (6, 0, 0, 0, 6)
    assert counts(story.runs["rebuilt"], "sink.orders_pg") == (6, 0, 0, 0, 6)


def test_after_a_rebuild_changes_go_on_and_those_that_do_not_show_are_none(story: Story) -> None:
    assert counts(story.runs["third"], "sink.changes") == (1, 0, 1, 0, 0)
    assert counts(story.runs["third"], "sink.rows") == (1, 0, 0, 0, 1)
    assert missing(story.workshop) == {}


def test_postgres_has_the_rows_of_the_tables(story: Story, database: str) -> None:
    orders = ask(database, "SELECT id, name, tags, at AT TIME ZONE 'UTC' FROM public.orders ORDER BY id")
    assert orders[0] == ["1", "Ann B.", '["a","b"]', "2024-05-01 08:10:00.123456"]
    assert [row[:2] for row in orders] == [["1", "Ann B."], ["3", "Cid"], ["4", ""]]
    hours = ask(
        database,
        "SELECT extract(hour FROM window_start AT TIME ZONE 'UTC'), name, n FROM public.hours ORDER BY 1, 2",
    )
    assert hours == [["8", "Ann B.", "1"], ["8", "Cid", "1"], ["9", "", "1"]]
    assert ask(database, "SELECT name, n FROM public.names ORDER BY 1") == [
        ["Ann B.", "1"],
        ["Cid", "1"],
        ["", "1"],
    ]
    assert ask(database, "SELECT count(*) FROM public.log") == [["8"]]
    noted = ask(
        database,
        "SELECT step, batch, inserted, updated, deleted FROM public.weir_delivered WHERE sink = 'orders_pg'"
        " ORDER BY delivered_at",
    )
    assert noted == [["begin", "0", "3", "0", "0"], ["stream", "0", "1", "1", "1"]]
    assert ask(database, "SELECT tablename FROM pg_tables WHERE tablename LIKE 'weir_stage%'") == []


def test_a_function_gets_each_row_and_each_batch(story: Story) -> None:
    rows = [said for said in story.sent() if said[0] == "row"]
    assert sorted(rows[:3], key=repr) == [
        ["row", "begin", "insert", number, name] for number, name in ((1, "Ann"), (2, "Bob"), (4, None))
    ]
    assert sorted(rows[3:]) == [
        ["row", "stream", "delete", 2, "Bob"],
        ["row", "stream", "insert", 3, "Cid"],
        ["row", "stream", "update", 1, "Ann B."],
    ]
    batches = [said[1:] for said in story.sent() if said[0] == "batch"]
    changed = [["delete", 2, "Bob"], ["insert", 3, "Cid"], ["update", 1, "Ann B."]]
    assert [batch[:2] for batch in batches] == [["begin", True], ["stream", False]]
    assert batches[1][2] == changed


def test_the_console_is_bounded_and_masks_what_is_sensitive(story: Story) -> None:
    shown = [line for line in story.said["first"] if line.startswith("sink.look")]
    assert len(shown) == 3
    assert "mail" in shown[0]
    assert "•••" in shown[1]
    assert "@home" not in "".join(story.said["first"])
    assert shown[2] == "sink.look  and 2 more rows"


def test_memory_is_a_view_of_the_table(story: Story) -> None:
    assert story.kept == [(1, "Ann B."), (3, "Cid"), (4, None)]
