"""Changes of definition: refused where old rows would not follow, rebuilt beside what stands, swapped, and
rolled forward after a cut.
"""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.config.errors import ConfigError
from spark_jobs.lake import failpoints
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.report.account import sum_up
from spark_jobs.run.finish_swap import Rebuild, describe_difference
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from tests.conftest import PROFILE, Workshop

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
    delete_when: v > 90
    lookup: {members: {on: member, take: city, if_missing: park}}
  log: {from: orders, columns: {id: bigint, at: timestamp}, event_time: at}
gold:
  per_hour: {from: silver.orders, window: {size: 1 hour}, group_by: city, measures: {n: count(*)}}
  closed:   {from: silver.log, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour, emit: append, late: keep}
  total:    {sql: sql/total.sql}
"""


def order(number: int, member: int, version: int, hour: int, tip: int = 0) -> str:
    return (
        f'{{"id":{number},"member":{member},"v":{version},"at":"2024-05-01T{hour:02}:10:00Z","tip":{tip}}}\n'
    )


def rebuild(workshop: Workshop, *tables: str, is_dry: bool = False) -> Rebuild:
    return rebuild_tables(workshop.project, "shop", PROFILE, tables, is_dry, workshop._start)


def run(workshop: Workshop) -> dict[str, Any]:
    result = workshop.run("shop")
    assert result.exit_code == 0, result.message
    return {table.table: table for table in result.tables}


def hour(number: int) -> datetime:
    return datetime(2024, 5, 1, number, tzinfo=UTC)


def missing(workshop: Workshop) -> list[int]:
    return [
        row["missing"]
        for row in sum_up(workshop.project.pipelines["shop"], Lake(workshop.project.lake, "shop"))
    ]


def test_a_changed_definition_is_refused_and_a_rebuild_brings_the_rows_to_it(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("conf/sql/total.sql", "SELECT count(*) AS n FROM silver.orders")
    workshop.land("members/1.json", '{"id":1,"city":"Ulm","v":1}\n')
    workshop.land(
        "orders/1.json",
        order(1, 1, 1, 8, tip=3) + order(2, 1, 1, 9) + order(3, 7, 1, 9) + order(4, 1, 99, 9) + "x\n",
    )
    workshop.land("orders/2.json", order(2, 1, 2, 12))
    run(workshop)
    changed = PIPELINE.replace(
        "v: int, at: timestamp}\n    key: id", "v: int, at: timestamp, tip: int}\n    key: id"
    )
    changed = changed.replace(
        "window: {size: 1 hour}, group_by: city", "window: {size: 6 hours}, group_by: city"
    )
    workshop.write("conf/pipelines/shop.yml", changed)

    with pytest.raises(ConfigError) as refused:
        workshop.run("shop")
    assert (
        "the definition of silver.orders has changed since its rows were made, and they would not follow:"
        " columns.tip" in str(refused.value)
    )
    assert "run `weir rebuild shop silver.orders`" in str(refused.value)
    assert "gold.per_hour has changed" in str(refused.value)
    assert "window.size" in str(refused.value)
    lines = {problem.where: changed.splitlines()[problem.line - 1] for problem in refused.value.problems}
    assert "tip: int}" in lines["silver.orders"]
    assert "per_hour: {" in lines["gold.per_hour"]

    before = workshop.versions()
    dry = rebuild(workshop, is_dry=True)
    assert (dry.exit_code, [check.table for check in dry.differences]) == (
        0,
        ["silver.orders", "gold.per_hour", "gold.total"],
    )
    same = "silver.orders: 2 rows, the same as far as both have their columns; the column 'tip' is new"
    assert [describe_difference(check) for check in dry.differences if check.table != "gold.per_hour"] == [
        same,
        "gold.total: nothing changes, 1 row",
    ]
    readable = {table: version for table, version in workshop.versions().items() if "/_weir/" not in table}
    assert readable == {table: version for table, version in before.items() if "/_weir/" not in table}
    assert not (workshop.root / "lake/shop/_weir/rebuild").exists()

    done = rebuild(workshop)
    assert done.exit_code == 0, done.message
    assert workshop.rows("shop.silver.orders", "id", "v", "city", "tip") == [
        (1, 1, "Ulm", 3),
        (2, 2, "Ulm", 0),
    ]
    assert workshop.rows("shop.gold.per_hour", "window_start", "city", "n") == [
        (hour(12), "Ulm", 1),
        (hour(6), "Ulm", 1),
    ]
    assert (
        len(workshop.rows("shop.parked.silver.orders"))
        == len(workshop.rows("shop.deleted.silver.orders"))
        == 1
    )
    assert len(workshop.rows("shop.quarantine.silver.orders")) == 1
    assert set(missing(workshop)) == {0}
    assert workshop.run("shop").status == "nothing_to_do"

    # The new generation goes on where the rebuild ended.
    workshop.land("orders/3.json", order(1, 1, 2, 13, tip=5) + order(4, 1, 50, 9))
    workshop.land("members/2.json", '{"id":7,"city":"Bonn","v":1}\n')
    run(workshop)
    assert workshop.rows("shop.silver.orders", "id", "v", "city", "tip") == [
        (1, 2, "Ulm", 5),
        (2, 2, "Ulm", 0),
        (3, 1, "Bonn", 0),
    ]
    assert workshop.rows("shop.gold.per_hour", "window_start", "city", "n") == [
        (hour(12), "Ulm", 2),
        (hour(6), "Bonn", 1),
    ]
    assert workshop.rows("shop.gold.total", "n") == [(3,)]
    assert set(missing(workshop)) == {0}

    # What only concerns what comes next passes and is noted; a table by SQL is rebuilt.
    workshop.write(
        "conf/pipelines/shop.yml",
        changed.replace("if_missing: park", "if_missing: park, give_up_after: 7 days"),
    )
    workshop.write("conf/sql/total.sql", "SELECT count(*) + 1 AS n FROM silver.orders")
    run(workshop)
    assert workshop.rows("shop.gold.total", "n") == [(4,)]
    assert {
        row["table"]
        for row in Ledger(Lake(workshop.project.lake, "shop")).rows("definitions")
        if row["generation"] == 1
    } >= {"gold.total"}

    # All tables at once come out as they stand.
    everything = rebuild(workshop, *standing_tables(workshop.project, "shop"), is_dry=True)
    every_table = (
        "dimension.members",
        "silver.orders",
        "silver.log",
        "gold.per_hour",
        "gold.closed",
        "gold.total",
    )
    assert {check.table: check.is_equal for check in everything.differences} == dict.fromkeys(
        every_table, True
    )


LOG = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  log: {from: orders, columns: {id: bigint, at: timestamp}, event_time: at}
gold:
  closed: {from: silver.log, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour, emit: append, late: keep}
"""


@pytest.fixture(scope="module")
def first_log(new_workshop: Callable[[], Workshop]) -> Workshop:
    """A log with a window that has closed and a row that came late for another. Not to be touched: it is
    copied.
    """
    workshop = new_workshop()
    workshop.write("conf/pipelines/shop.yml", LOG)
    workshop.land("orders/1.json", order(1, 1, 1, 8) + order(2, 1, 1, 12))
    workshop.land("orders/2.json", order(3, 1, 1, 7))
    run(workshop)
    return workshop


@pytest.mark.parametrize(
    "point",
    ["swap.before:gold.closed", "swap.after:silver.log", "write.after:silver.log", "marker.after:silver.log"],
)
def test_a_rebuild_that_is_cut_leaves_the_old_tables_or_is_rolled_forward(
    first_log: Workshop, tmp_path: Path, point: str
) -> None:
    workshop = first_log.copied(tmp_path / "home")
    log, closed = (workshop.rows(f"shop.{table}") for table in ("silver.log", "gold.closed"))

    with failpoints.arm(f"{point}=raise"):
        cut = rebuild(workshop, "silver.log")
    assert cut.exit_code == 1
    assert "Failpoint" in cut.message
    if point.startswith(("write", "marker")):
        assert workshop.rows("shop.silver.log") == log

    workshop.land("orders/3.json", order(4, 1, 1, 13))
    run(workshop)

    assert sorted(workshop.rows("shop.silver.log", "id")) == [(1,), (2,), (3,), (4,)]
    assert workshop.rows("shop.gold.closed", "window_start", "n") == [(hour(8), 1)]
    assert workshop.rows("shop.late.gold.closed", "window_start") == [(hour(7),)]
    assert len(closed) == 1
    assert set(missing(workshop)) == {0}


def test_a_rebuild_says_what_it_published_and_so_does_the_run_that_finishes_a_cut_one(
    first_log: Workshop, tmp_path: Path
) -> None:
    workshop = first_log.copied(tmp_path / "home")
    workshop.write("conf/lakehouse.yml", "landing: landing\nlake: lake\nprofile: local\nkeep_reports: 9\n")
    lake = Lake(workshop.project.lake, "shop")

    done = rebuild(workshop, "silver.log").as_dict()

    assert {
        table["table"]: (table["state"], table["version"], table["rows_in"], table["inserted"])
        for table in done["tables"]
    } == {
        "silver.log": ("done", table_version(lake.table("silver.log")), 3, 3),
        "gold.closed": ("done", table_version(lake.table("gold.closed")), 0, 1),
    }
    assert (workshop.root / "reports" / done["report"]).name == f"{done['run_id']}.html"
    assert (workshop.root / "reports" / done["report"]).is_file()

    with failpoints.arm("swap.after:silver.log=raise"):
        assert rebuild(workshop, "silver.log").exit_code == 1
    finished = workshop.run("shop")

    assert finished.message == "a rebuild that was cut is finished; nothing else is new"
    assert {
        run.table: (run.state.value, run.version, run.counts.inserted)
        for run in finished.tables
        if run.state == "done"
    } == {
        "silver.log": ("done", table_version(lake.table("silver.log")), 3),
        "gold.closed": ("done", table_version(lake.table("gold.closed")), 1),
    }
    assert (workshop.root / "reports" / str(finished.report)).name == f"{finished.run_id}.html"
    again = workshop.run("shop")
    assert again.run_id is None, "and that is told once"
    last = {
        run.table: run.last and (run.last["rows_in"], run.last["report"] is not None) for run in again.tables
    }
    assert last == {
        "bronze.orders": (3, False),
        "silver.log": (3, True),
        "gold.closed": (0, True),
    }, "of each table the figures of the run, or of the rebuild, that has published it"
