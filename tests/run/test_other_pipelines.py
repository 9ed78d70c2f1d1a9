"""A pipeline on another's tables: its tables depend on what the other has published, not on how the runs of
the two were grouped.
"""

from contextlib import nullcontext
from datetime import UTC, datetime

import pytest
from deltalake import DeltaTable

from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.report.collect import collect_report
from spark_jobs.report.flow_nodes import make_nodes
from spark_jobs.report.runs import run_ids
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.verify.pipeline import verify_pipeline
from tests.conftest import PROFILE, Workshop

SHOP = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders:
    from: orders
    columns: {id: bigint, v: int, at: timestamp, city: string, paid: bigint}
    key: id
    sequence_by: v
    event_time: at
gold:
  hourly: {from: silver.orders, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour}
"""
BOARD = """
pipeline: board
gold:
  hourly: {from: shop.silver.orders, window: {size: 1 hour}, group_by: city, measures: {n: count(*), paid: sum(paid)}}
  closed: {from: shop.silver.orders, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 2 hours, emit: append, late: keep}
  cities: {from: shop.silver.orders, group_by: city, measures: {n: count(*)}}
  ranks:  {sql: sql/ranks.sql}
  joined: {python: hooks/board.py:join, inputs: [shop.silver.orders, gold.cities, shop.gold.hourly]}
"""
RANKS = (
    "SELECT city, sum(paid) AS paid, (SELECT count(*) FROM shop.silver.orders) AS orders FROM gold.hourly"
    " GROUP BY city"
)
JOIN = """
def join(orders, cities, hourly):
    named = orders.select("id", "city").join(cities.select("city", "n"), on="city", how="inner")
    return named.crossJoin(hourly.selectExpr("sum(n) AS total"))
"""
COLUMNS = {
    "gold.hourly": ("window_start", "city", "n", "paid"),
    "gold.closed": ("window_start", "n"),
    "late.gold.closed": ("window_start", "event_at", "row"),
    "gold.cities": ("city", "n"),
    "gold.ranks": ("city", "paid", "orders"),
    "gold.joined": ("id", "city", "n", "total"),
}


def order(number: int, version: int, hour: int, city: str = "Ulm", paid: int = 1) -> str:
    return (
        f'{{"id":{number},"v":{version},"at":"2024-05-01T{hour:02}:10:00Z","city":"{city}","paid":{paid}}}\n'
    )


def write_pipelines(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", SHOP)
    workshop.write("conf/sql/ranks.sql", RANKS)
    workshop.write("conf/hooks/board.py", JOIN)
    for name in ("board", "once"):
        workshop.write(f"conf/pipelines/{name}.yml", BOARD.replace("board", name, 1))


def run(workshop: Workshop, *pipelines: str) -> None:
    for pipeline in pipelines:
        result = workshop.run(pipeline)
        assert result.exit_code == 0, result.message


def assert_same(workshop: Workshop, one: str, other: str) -> None:
    for table, columns in COLUMNS.items():
        assert workshop.rows(f"{one}.{table}", *columns) == workshop.rows(f"{other}.{table}", *columns), table


def assert_verified(workshop: Workshop, pipeline: str) -> None:
    found = verify_pipeline(workshop.project, pipeline, PROFILE, start=lambda: nullcontext(workshop.spark))  # type: ignore[arg-type]
    assert found.exit_code == 0, [
        (check.table, check.first, check.problems, check.error)
        for check in found.tables
        if not check.is_equal
    ]
    assert "what the tables they read give" in found.message


def test_without_the_other_table_there_is_nothing_to_do_and_no_jvm_starts(idle_workshop: Workshop) -> None:
    write_pipelines(idle_workshop)

    result = idle_workshop.run("board")

    assert (result.status, result.exit_code) == ("nothing_to_do", 3)
    assert "shop.silver.orders is not there yet" in result.message


@pytest.mark.spark
def test_the_tables_are_the_same_in_any_grouping_of_both_pipelines_runs(workshop: Workshop) -> None:
    write_pipelines(workshop)
    workshop.land("orders/1.json", order(1, 1, 8) + order(2, 1, 9, "Bonn", 5) + order(3, 1, 12))
    run(workshop, "shop")
    with failpoints.arm("marker.before:gold.closed=raise"):
        assert workshop.run("board").exit_code == 1

    # 1 moves to another hour and city, 4 comes late. Runs are cut before markers and after writes, and the
    # shop goes on meanwhile.
    workshop.land("orders/2.json", order(1, 2, 13, "Bonn", 2) + order(4, 1, 8))
    run(workshop, "shop")
    with failpoints.arm("marker.before:gold.hourly=raise,write.after:gold.closed#2=raise"):
        assert workshop.run("board").exit_code == 1
    workshop.land("orders/3.json", order(2, 2, 15, "Bonn", 7) + order(5, 1, 16))
    run(workshop, "shop")
    lake = Lake(workshop.project.lake, "shop")
    with hold_lease(lake.lease(), "shop", "a test"):  # a reader needs no lease but its own
        run(workshop, "board", "once")
    assert_same(workshop, "board", "once")
    assert_verified(workshop, "board")
    assert len(workshop.rows("board.late.gold.closed")) == 1
    assert workshop.run("board").message == "nothing new in shop.silver.orders, shop.gold.hourly"

    report = collect_report(
        workshop.project,
        "board",
        run_ids(Lake(workshop.project.lake, "board"))[-1],
        datetime(2026, 1, 1, tzinfo=UTC),
    )
    nodes = {node.name: node for node in make_nodes(report.sources, report.tables, report.gates)}
    assert (nodes["shop.silver.orders"].titles, nodes["shop.silver.orders"].lines) == (
        ("silver.orders",),
        ("of shop",),
    )
    assert nodes["gold.hourly"].inputs == ("shop.silver.orders",)


@pytest.mark.spark
def test_a_reader_follows_a_rebuild_of_the_table_and_one_of_its_own(workshop: Workshop) -> None:
    write_pipelines(workshop)
    workshop.land("orders/1.json", order(1, 1, 8) + order(2, 1, 9, "Bonn", 5) + order(3, 1, 14))
    run(workshop, "shop", "board")
    before = DeltaTable(workshop.root / "lake/board/gold/hourly").version()

    # The shop's silver table gets another type and other rows: its change feed cannot be read across that.
    changed = SHOP.replace(
        "paid: bigint}", "paid: {type: bigint, sql: 'half * 2'}, half: {type: int, from: paid}}"
    ).replace("v: int,", "v: bigint,")
    workshop.write("conf/pipelines/shop.yml", changed)
    done = rebuild_tables(workshop.project, "shop", PROFILE, start=workshop._start)
    assert done.exit_code == 0, done.message
    workshop.land("orders/2.json", order(4, 1, 15, paid=3))
    run(workshop, "shop", "board")
    assert sum(row[0] for row in workshop.rows("board.gold.hourly", "paid")) == 20
    assert DeltaTable(workshop.root / "lake/board/gold/hourly").version() == before + 1

    # Its own rebuild reads the version that stands; what the shop publishes while the swap is cut comes with
    # the next run.
    workshop.write("conf/pipelines/board.yml", BOARD.replace("paid: sum(paid)", "paid: sum(paid + 0)"))
    with failpoints.arm("swap.after:gold.hourly=raise"):
        assert rebuild_tables(workshop.project, "board", PROFILE, start=workshop._start).exit_code == 1
    workshop.land("orders/3.json", order(3, 2, 9, "Bonn", 4) + order(5, 1, 17))
    run(workshop, "shop", "board", "once")
    assert_same(workshop, "board", "once")
    assert_verified(workshop, "board")
