"""`import weir`: tables by name, at a version, as the library of one's choice has them."""

import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from pyspark.sql import Row, SparkSession
from pyspark.testing import assertDataFrameEqual

import weir
from spark_jobs.config.errors import ConfigError, UsageError
from spark_jobs.look.names import NotThere
from tests.conftest import Workshop, weir_environ
from tests.look.lake import write_orders

ROOT = Path(__file__).resolve().parents[2]
ROWS: list[dict[str, Any]] = [
    {"id": 1, "email": "ann@example.com", "amount": Decimal("3.50")},
    {"id": 2, "email": None, "amount": Decimal("4.00")},
    {"id": 3, "email": "eve@example.org", "amount": Decimal("9.99")},
]
COLUMNS = ["id", "email", "amount"]


@pytest.fixture
def lake(shop: Workshop) -> weir.OpenLake:
    return weir.open(shop.root)


def test_a_table_is_read_as_it_is_by_every_library(lake: weir.OpenLake) -> None:
    orders = lake.table("shop.silver.orders")

    assert orders.arrow(COLUMNS).to_pylist() == ROWS
    assert orders.polars(COLUMNS).equals(pl.DataFrame(orders.arrow(COLUMNS)))
    pd.testing.assert_frame_equal(orders.pandas(COLUMNS), pd.DataFrame(ROWS))
    assert (orders.version, len(orders), orders.columns["amount"]) == (1, 3, "decimal(12,2)")


def test_a_table_stays_at_its_version_while_newer_ones_come(lake: weir.OpenLake, shop: Workshop) -> None:
    orders = lake.table("shop.silver.orders")
    write_orders(shop, (9, None, "Kyiv", "1.00"))

    assert orders.arrow(["id"])["id"].to_pylist() == [1, 2, 3]
    assert lake.table("shop.silver.orders").arrow(["id"])["id"].to_pylist() == [9]
    assert (
        orders.at(0).arrow(["id"])["id"].to_pylist()
        == orders.at("v0").arrow(["id"])["id"].to_pylist()
        == [1, 2]
    )
    assert lake.table("shop.silver.orders@v0").version == 0
    assert [commit.version for commit in orders.history()] == [1, 0]


def test_a_query_masks_as_the_command_does(lake: weir.OpenLake) -> None:
    found = lake.query("select id, email from shop.silver.orders where id > 1 order by id")

    assert found.to_pylist() == [{"id": 2, "email": None}, {"id": 3, "email": "•••"}]
    with pytest.raises(UsageError, match="may not stand in the place of a table"):
        lake.query("from read_csv('/etc/passwd')")


def test_what_is_not_there_is_an_error_with_the_nearest_name(lake: weir.OpenLake, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"did you mean 'shop\.silver\.orders'"):
        lake.table("shop.silver.order")
    with pytest.raises(NotThere, match="`weir run shop`"):
        lake.table("shop.gold.per_city")
    with pytest.raises(ConfigError):
        weir.open(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="there is no profile 'nowhere'"):
        weir.open(tmp_path, profile="nowhere")
    assert "shop.silver.orders" in lake.tables()
    assert repr(lake.table("shop.silver.orders")) == "<shop.silver.orders version 1, 5 columns>"


def test_spark_reads_the_same_version(lake: weir.OpenLake, shop: Workshop, spark: SparkSession) -> None:
    orders = lake.table("shop.silver.orders")
    write_orders(shop, (9, None, "Kyiv", "1.00"))

    assertDataFrameEqual(orders.spark(spark).select(COLUMNS), [Row(**row) for row in ROWS])


@pytest.mark.system
def test_the_package_loads_no_spark_and_finds_the_project_of_the_folder(shop: Workshop) -> None:
    script = """import sys, weir
orders = weir.open().table("shop.silver.orders")
print(len(orders), [name for name in ("pyspark", "duckdb", "polars", "pandas") if name in sys.modules])"""

    done = subprocess.run(
        [sys.executable, "-c", script],
        env=weir_environ(PYTHONPATH=str(ROOT)),
        cwd=shop.root,
        capture_output=True,
        text=True,
        check=True,
    )

    assert done.stdout.split() == ["3", "[]"]
