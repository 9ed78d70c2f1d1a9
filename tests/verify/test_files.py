"""`weir verify --files`: landed files against bronze, without Spark."""

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from typer.testing import CliRunner

from spark_jobs.bronze.arrived import make_arrived
from spark_jobs.bronze.counting import Count
from spark_jobs.bronze.ingest import _bronze_rows
from spark_jobs.bronze.records import read_records
from spark_jobs.cli.app import app
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.arrivals import read_arrivals
from spark_jobs.landing.feed import Feed, make_feed
from spark_jobs.landing.look import register_arrivals
from spark_jobs.verify.files import CHANGED, GONE, UNREAD, verify_files
from spark_jobs.verify.result import Outcome, TableCheck, Verification
from tests.conftest import Workshop, unguarded

PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders, changed: take}
  ticks: {format: rate}
silver: {orders: {from: orders, columns: {id: bigint}}}
"""
TABLE = "bronze.orders"


@dataclass(frozen=True)
class Shop:
    workshop: Workshop

    @property
    def lake(self) -> Lake:
        return Lake(self.workshop.project.lake, "shop")

    @property
    def feed(self) -> Feed:
        source = self.workshop.project.pipelines["shop"].sources["orders"]
        return make_feed(self.lake, self.workshop.project.landing, "orders", source, unguarded)

    def take(self, **files: str) -> list[Path]:
        """Land files and read them into bronze, as a run does."""
        paths = [self.workshop.land(f"orders/{name}.json", text) for name, text in files.items()]
        feed = self.feed
        before = {row["chunk"] for row in read_arrivals(feed.arrivals)}
        register_arrivals(feed, datetime(2026, 3, 1, tzinfo=UTC))
        new = [row for row in read_arrivals(feed.arrivals) if row["chunk"] not in before]
        for row in new:
            batches = [
                _bronze_rows(row, batch)
                for batch in read_records(make_arrived(row, feed.landing), feed.files)
            ]
            if batches:
                write_deltalake(self.lake.table(TABLE), pa.Table.from_batches(batches), mode="append")
        Ledger(self.lake, unguarded).write_table(
            "run", TABLE, 0.0, {"arrivals": max(row["chunk"] for row in new)}, None, 1, Counts()
        )
        return paths

    def rewrite(self, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> None:
        """Something else writes to bronze."""
        table = DeltaTable(self.lake.table(TABLE))
        rows = table.to_pyarrow_table()
        write_deltalake(
            table,
            pa.Table.from_pylist(change(rows.sort_by("_line").to_pylist()), schema=rows.schema),
            mode="overwrite",
        )

    def verify(self) -> tuple[Verification, TableCheck]:
        found = verify_files(self.workshop.project, "shop")
        [check] = found.tables
        return found, check


@pytest.fixture
def shop(idle_workshop: Workshop) -> Shop:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    return Shop(idle_workshop)


def test_bronze_is_compared_with_the_files_that_are_there_and_the_others_are_named(shop: Shop) -> None:
    _, gone, changed, grown, _ = shop.take(
        kept='{"id":1}\n{"id":2}\n', gone="{}\n", changed="{}\n", grown="{}\n", broken="\xff\n"
    )
    gone.unlink()
    changed.write_text("[]\n")
    grown.write_text("{}\n{}\n")

    found, check = shop.verify()

    assert (found.status, found.exit_code) == (Outcome.OK, 0)
    assert found.message == "bronze has what 3 files say, 4 rows; not compared: 2 files"
    assert (check.files, check.rows, check.recomputed) == (3, 4, 4)
    assert check.not_compared == (("orders/changed.json", CHANGED), ("orders/gone.json", GONE))

    shop.take(more="{}\n")  # takes what is new of `grown` and `changed` as well
    assert shop.verify()[1].files == 6


def test_a_file_that_is_as_it_was_and_is_not_read_to_its_end_does_not_pass_for_a_changed_one(
    shop: Shop, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.take(a='{"id":1}\n')
    monkeypatch.setattr("spark_jobs.bronze.records.count_records", lambda *_: Count(2, 2, "its lines"))

    found, check = shop.verify()

    assert found.status == Outcome.DIFFERENT
    assert check.problems == (
        (
            "'orders/a.json' is as it was, and cannot be read to its end: UnreadableFile: 1 record was read,"
            " but it holds 2 by its lines"
        ),
    )


def test_records_that_bronze_lacks_has_too_many_or_has_otherwise_are_named_by_file_and_line(
    shop: Shop,
) -> None:
    shop.take(a='{"id":1}\n{"id":2}\n{"id":3}\n')
    shop.take(b='{"id":4}\n')

    def damage(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
        by_record = {row["record"]: row for row in rows}
        other, twice = {**by_record['{"id":2}'], "record": '{"id":9}'}, by_record['{"id":3}']
        return [other, twice, twice, by_record['{"id":4}'], {**twice, "_file_id": "unknown"}]

    shop.rewrite(damage)
    found, check = shop.verify()

    assert (found.status, found.exit_code) == (Outcome.DIFFERENT, 1)
    assert (check.only_here, check.only_recomputed, check.different) == (2, 1, 1)
    assert [(row.kind.value, row.key.get("line"), row.key["file"]) for row in check.first] == [
        ("only_recomputed", "1", "'orders/a.json'"),
        ("different", "2", "'orders/a.json'"),
        ("only_here", "3", "'orders/a.json'"),
        ("only_here", None, "a file that never arrived"),
    ]
    assert found.message == "1 of 1 bronze table differs from the landed files: bronze.orders"


def test_a_file_of_which_bronze_has_nothing_is_missed(shop: Shop) -> None:
    shop.take(a="{}\n", b="{}\n")
    shop.rewrite(lambda rows: [row for row in rows if row["_file"] != "orders/b.json"])

    assert shop.verify()[1].only_recomputed == 1


def test_rows_of_no_chunk_or_of_one_that_never_was_do_not_pass_and_those_of_an_unfinished_batch_are_left_out(
    shop: Shop,
) -> None:
    shop.take(a="{}\n")
    shop.workshop.land("orders/b.json", "{}\n")
    register_arrivals(shop.feed, datetime(2026, 3, 2, tzinfo=UTC))
    unfinished = max(row["chunk"] for row in read_arrivals(shop.feed.arrivals))
    shop.rewrite(lambda rows: [*rows, *({**rows[0], "_chunk": chunk} for chunk in (None, 99, unfinished))])

    found, check = shop.verify()

    assert (found.status, check.only_here, check.rows) == (Outcome.DIFFERENT, 2, 1)
    assert [row.key["chunk"] for row in check.first] == ["None", "99"]


def test_bronze_that_is_gone_is_missed_where_its_files_were_read(shop: Shop) -> None:
    shop.take(a="{}\n{}\n")
    shutil.rmtree(shop.lake.table(TABLE))

    found, check = shop.verify()

    assert (found.status, check.only_recomputed) == (Outcome.DIFFERENT, 2)


def test_a_file_that_could_not_be_read_then_is_named_with_the_way(shop: Shop) -> None:
    [file] = shop.take(a="{}\n")
    shop.rewrite(lambda rows: [{**rows[0], "_line": 0, "record": None, "_problem": "PermissionError"}])

    found, check = shop.verify()

    assert (found.status, check.not_compared) == (Outcome.NOTHING_TO_DO, (("orders/a.json", UNREAD),))
    assert os.path.exists(file)


def test_the_command_says_it_in_lines_and_as_json(shop: Shop) -> None:
    shop.take(a='{"id":1}\n', b="{}\n")
    (shop.workshop.landing / "orders" / "b.json").unlink()
    shop.rewrite(lambda rows: [{**row, "record": "secret"} for row in rows])
    environ = {"WEIR_HOME": str(shop.workshop.root)}

    plain = CliRunner().invoke(app, ["verify", "shop", "--files"], env=environ)
    as_json = CliRunner().invoke(app, ["verify", "shop", "--files", "--json"], env=environ)

    assert (plain.exit_code, as_json.exit_code) == (1, 1)
    assert "bronze.orders: 1 file, 1 row, 1 different, 1 not compared" in plain.stdout
    assert "file='orders/a.json', line=1: record: the table has hash " in plain.stdout
    assert "not compared: 'orders/b.json': it is gone" in plain.stdout
    assert "secret" not in plain.output
    [table] = json.loads(as_json.stdout)["tables"]
    assert (table["files"], table["different"], table["not_compared"]) == (
        1,
        1,
        [{"path": "orders/b.json", "reason": GONE}],
    )


def test_a_lake_without_bronze_has_nothing_to_compare_and_stays_as_it_is(shop: Shop) -> None:
    assert verify_files(shop.workshop.project, "shop").exit_code == 3
    assert not (shop.workshop.root / "lake").exists()
