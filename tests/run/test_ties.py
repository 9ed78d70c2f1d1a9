"""Versions of one sequence that say different things: somebody hears of them, and the pipeline file says
which one wins.
"""

from typing import Any

import pytest

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.report.account import sum_up
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from tests.conftest import PROFILE, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

TABLE = "{from: orders, key: id, columns: {id: int, amount: int, at: timestamp}, "
PIPELINE = f"""
pipeline: shop
sources: {{orders: {{format: json, path: orders}}}}
dimensions:
  by_hash: {TABLE}sequence_by: at, history: scd2}}
  newest:  {TABLE}sequence_by: at, history: scd2, ties: newest_arrival}}
silver:
  by_hash: {TABLE}event_time: at, delete_when: amount = 0}}
  newest:  {TABLE}event_time: at, delete_when: amount = 0, ties: newest_arrival}}
"""
TIED = ("dimension.by_hash", "dimension.newest", "silver.by_hash", "silver.newest")


def orders(*amounts: int) -> str:
    return "".join(
        f'{{"id":{number},"amount":{amount},"at":"2024-05-01T10:00:00Z"}}\n'
        for number, amount in enumerate(amounts, start=1)
    )


def run(workshop: Workshop) -> Any:
    result = workshop.run("shop")
    assert result.exit_code == 0, result.message
    return result


def test_ties_are_counted_and_won_as_the_pipeline_file_says_in_any_grouping(
    workshop: Workshop, new_workshop: Any
) -> None:
    """Six orders are sent, sent again with other amounts and the last one deleted, and sent a third time as
    they were, all at one time.
    """
    files = [orders(1, 2, 3, 4, 5, 6), orders(11, 12, 13, 14, 15, 0) + orders(11), orders(1, 2, 3, 14)]
    at_once = new_workshop()
    for where in (workshop, at_once):
        where.write("conf/pipelines/shop.yml", PIPELINE)
    runs = []
    for number, text in enumerate(files):
        workshop.land(f"orders/{number}.json", text)
        at_once.land(f"orders/{number}.json", text)
        runs.append(run(workshop))
    together = run(at_once)

    assert [[table.counts.ties for table in result.tables if table.table in TIED] for result in runs[:2]] == [
        [0] * 4,
        [6] * 4,
    ]
    assert {
        table.table: table.counts.ties for table in together.tables if table.table in TIED
    } == dict.fromkeys(TIED, 6)
    assert not any("versions with the same" in warning for warning in runs[0].warnings)
    said = [warning for warning in runs[1].warnings if "versions with the same" in warning]
    assert len(said) == len(TIED)
    assert any(
        line.startswith("silver.by_hash: 6 keys have versions with the same at and different content: a hash")
        for line in said
    )
    assert any(
        line.startswith("dimension.newest: 6 keys have versions") and "arrived last won" in line
        for line in said
    )
    for table in ("dimension.by_hash", "dimension.newest"):
        counts = next(known.counts for known in runs[1].tables if known.table == table)
        assert (counts.inserted, counts.updated + counts.superseded, counts.duplicate) == (
            0,
            6,
            1,
        ), "history was rewritten, not added to"
    ledger = Ledger(Lake(workshop.project.lake, "shop"))
    assert (
        sum(row["ties"] for row in ledger.rows("batches") if row["table"] == "silver.newest")
        == runs[1].tables[-1].counts.ties + 3
    )
    account = {
        row["table"]: row
        for row in sum_up(workshop.project.pipelines["shop"], Lake(workshop.project.lake, "shop"))
    }
    assert {row["missing"] for row in account.values()} == {0}
    assert account["silver.newest"]["ties"] == 9

    assert workshop.rows("shop.silver.newest", "id", "amount") == [(1, 1), (2, 2), (3, 3), (4, 14), (5, 15)]
    assert workshop.rows("shop.dimension.newest", "id", "amount") == [
        (1, 1),
        (2, 2),
        (3, 3),
        (4, 14),
        (5, 15),
        (6, 0),
    ]
    for table in ("silver.newest", "silver.by_hash", "dimension.newest", "dimension.by_hash"):
        assert workshop.rows(f"shop.{table}", "id", "amount") == at_once.rows(f"shop.{table}", "id", "amount")
    # Order 4 was sent twice as it stands: the newer copy is what a version that comes late has to compete
    # with.
    assert (4, "orders/2.json") in workshop.rows("shop.silver.newest", "id", "_file")
    assert verified(workshop, "shop") == verified(at_once, "shop") == []

    before = {table: workshop.rows(f"shop.{table}", "id", "amount") for table in TIED}
    rebuilt = rebuild_tables(
        workshop.project, "shop", PROFILE, standing_tables(workshop.project, "shop"), start=workshop._start
    )
    assert rebuilt.exit_code == 0, rebuilt.message
    assert {table: workshop.rows(f"shop.{table}", "id", "amount") for table in TIED} == before
