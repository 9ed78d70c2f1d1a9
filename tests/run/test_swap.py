"""A rebuild that is cut while it replaces tables is finished, or built again where what it had built is lost;
it never empties a table.
"""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from spark_jobs.config.errors import ConfigError
from spark_jobs.lake import failpoints
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import LIVE, SWAPPING
from spark_jobs.report.account import sum_up
from spark_jobs.run.finish_swap import Rebuild
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders: {format: json, path: orders}
silver:
  orders: {from: orders, columns: {id: bigint, amount: bigint, at: timestamp}, key: id, sequence_by: amount, event_time: at}
gold:
  per_hour: {from: silver.orders, window: {size: 1 hour}, measures: {total: sum(amount)}}
  per_day:  {from: silver.orders, window: {size: 1 day}, measures: {total: sum(amount)}}
"""
TABLES = ("silver.orders", "quarantine.silver.orders", "gold.per_hour", "gold.per_day")


def order(number: int, amount: int) -> str:
    return f'{{"id":{number},"amount":{amount},"at":"2024-05-01T08:10:00Z"}}\n'


def rebuild(workshop: Workshop, *tables: str) -> Rebuild:
    return rebuild_tables(workshop.project, "shop", PROFILE, tables, False, workshop._start)


def lake(workshop: Workshop) -> Lake:
    return Lake(workshop.project.lake, "shop")


def contents(workshop: Workshop) -> dict[str, list[tuple[Any, ...]]]:
    shown = {"quarantine.silver.orders": ("file", "line"), "silver.orders": ("id", "amount")}
    return {
        table: workshop.rows(f"shop.{table}", *shown.get(table, ("window_start", "total")))
        for table in TABLES
    }


@pytest.fixture(scope="module")
def first_load(new_workshop: Callable[[], Workshop]) -> Workshop:
    """A lake in which every table has rows. Not to be touched: it is copied."""
    workshop = new_workshop()
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("orders/1.json", order(1, 10) + order(2, 20) + "no json\n")
    assert workshop.run("shop").exit_code == 0
    assert all(contents(workshop).values())
    return workshop


@pytest.fixture
def loaded(first_load: Workshop, tmp_path: Path) -> Workshop:
    return first_load.copied(tmp_path / "home")


def fill_the_disk(point: str, table: str, step: str) -> None:
    """When gold.per_hour is to be replaced: the rebuild lives on, and says how far it came."""
    if (point, table, step) == ("write.before", "gold.per_hour", "swap"):
        raise OSError("no space left on device")


def test_what_a_cut_rebuild_has_lost_stops_the_run_and_is_built_again(loaded: Workshop) -> None:
    before = contents(loaded)
    with failpoints.deciding(fill_the_disk):
        cut = rebuild(loaded, "silver.orders")
    assert cut.status is Status.FAILED
    assert "gold.per_hour could not be replaced: OSError: no space left on device" in cut.message
    assert "1 of 3 tables were replaced (silver.orders)" in cut.message
    assert "`weir run shop` replaces the others" in cut.message

    shutil.rmtree(f"{lake(loaded).stage}/gold/per_day")
    versions = loaded.versions()
    refused = loaded.run("shop")
    assert refused.status is Status.FAILED
    assert "gold/per_day is not there" in refused.message
    assert "`weir rebuild shop` builds it again from bronze" in refused.message
    assert loaded.versions() == versions
    shutil.rmtree(lake(loaded).stage)
    assert loaded.run("shop").status is Status.FAILED
    assert contents(loaded) == before

    again = rebuild(loaded)
    assert again.exit_code == 0, again.message
    assert contents(loaded) == before
    assert {known.state for known in Ledger(lake(loaded)).definitions().values()} == {LIVE}
    assert loaded.run("shop").status is Status.NOTHING_TO_DO
    loaded.land("orders/2.json", order(1, 30))
    assert loaded.run("shop").exit_code == 0
    assert contents(loaded)["silver.orders"] == [(1, 30), (2, 20)]
    assert [row["missing"] for row in sum_up(loaded.project.pipelines["shop"], lake(loaded))] == [0] * 4


def test_a_column_may_change_in_case_alone(loaded: Workshop) -> None:
    before = contents(loaded)
    renamed = PIPELINE.replace("amount: bigint", "Amount: {type: bigint, from: amount}").replace(
        "sequence_by: amount", "sequence_by: Amount"
    )
    loaded.write("conf/pipelines/shop.yml", renamed.replace("sum(amount)", "sum(Amount)"))

    done = rebuild(loaded)

    assert done.exit_code == 0, done.message
    assert loaded.rows("shop.silver.orders", "id", "Amount") == before["silver.orders"]
    loaded.land("orders/2.json", order(1, 30))
    assert loaded.run("shop").exit_code == 0
    assert loaded.rows("shop.silver.orders", "id", "Amount") == [(1, 30), (2, 20)]
    assert loaded.rows("shop.gold.per_day", "total") == [(50,)]


def test_a_table_that_leaves_the_pipeline_file_in_mid_swap_keeps_nobody_waiting(loaded: Workshop) -> None:
    with failpoints.arm("swap.before:gold.per_day=raise"):
        assert rebuild(loaded, "silver.orders").status is Status.FAILED
    without = "\n".join(line for line in PIPELINE.splitlines() if "per_day" not in line)
    loaded.write("conf/pipelines/shop.yml", without)

    assert loaded.run("shop").exit_code == 0

    assert SWAPPING not in {known.state for known in Ledger(lake(loaded)).definitions().values()}
    assert loaded.run("shop").status is Status.NOTHING_TO_DO
    loaded.write("conf/pipelines/shop.yml", PIPELINE)
    with pytest.raises(ConfigError, match="left out of the pipeline file while a rebuild replaced it"):
        loaded.run("shop")
    assert rebuild(loaded).exit_code == 0
    assert loaded.rows("shop.gold.per_day", "total") == [(30,)]


WITH_SHOPS = PIPELINE.replace(
    "silver:",
    "dimensions:\n  shops: {from: shops, key: id, columns: {id: bigint, v: int, city: string}, sequence_by: v}\nsilver:",
)
WITH_SHOPS = WITH_SHOPS.replace(
    "  orders: {format: json, path: orders}",
    "  orders: {format: json, path: orders}\n  shops: {format: json, path: shops}",
)
WITH_SHOPS = WITH_SHOPS.replace("event_time: at}", "event_time: at, lookup: {shops: {on: id, take: city}}}")


def test_facts_are_rebuilt_with_a_dimension_that_they_look_up_for_the_first_time(loaded: Workshop) -> None:
    loaded.write("conf/pipelines/shop.yml", WITH_SHOPS)
    loaded.land("shops/1.json", '{"id":1,"v":1,"city":"Ulm"}\n')
    assert loaded.run("shop", "bronze.shops").exit_code == 0
    before = loaded.versions()

    dry = rebuild_tables(loaded.project, "shop", PROFILE, (), True, loaded._start)
    changed = {table for table, version in loaded.versions().items() if before.get(table) != version}
    done = rebuild(loaded)

    assert dry.exit_code == 0, dry.message
    assert [table for table in changed if "/_weir/" not in table] == [], "a dry run adds no table"
    assert done.exit_code == 0, done.message
    assert loaded.rows("shop.silver.orders", "id", "city") == [(1, "Ulm"), (2, None)]
    assert loaded.run("shop").status is Status.NOTHING_TO_DO
