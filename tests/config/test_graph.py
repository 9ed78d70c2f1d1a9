"""Tables stand after their inputs, whatever the order of the file."""

from pathlib import Path
from typing import Any

import pytest

from spark_jobs.config import ConfigError, load_project
from spark_jobs.config.expectations import Rule
from spark_jobs.config.graph import inputs_of, order_tables, tables_read_by
from tests.config.conftest import Workspace

ROOT = Path(__file__).resolve().parents[2]


def test_every_table_stands_after_its_inputs(workspace: Workspace) -> None:
    workspace.replace(
        "  hourly:\n",
        "  early:\n    python: hooks/shop.py:funnel\n    inputs: [gold.funnel, gold.hourly]\n  hourly:\n",
    )
    project = load_project(workspace.root, {})

    order = order_tables(project.pipelines["shop"], project.conf)

    seen: set[str] = set()
    for table, inputs in order.items():
        assert seen.issuperset(inputs), table
        seen.add(table)
    assert order["bronze.orders"] == ()
    assert order["dimension.customers"] == ("bronze.customers",)
    assert order["silver.orders"] == ("bronze.orders", "dimension.customers")
    assert order["gold.hourly"] == ("silver.orders",)
    assert order["gold.top"] == ("silver.orders", "silver.lines")
    assert order["gold.early"] == ("gold.funnel", "gold.hourly")
    assert len(order) == 4 + 2 + 3 + 4


def test_the_inputs_of_one_table_are_in_the_order_of_its_parameters(workspace: Workspace) -> None:
    project = load_project(workspace.root, {})

    assert inputs_of(project.pipelines["shop"], "gold.funnel", project.conf) == ["silver.orders", "gold.top"]


def test_a_ring_is_refused_and_printed(workspace: Workspace) -> None:
    workspace.write("conf/sql/top.sql", "SELECT 1 AS one FROM gold.funnel")
    project = load_project(workspace.root, {})

    with pytest.raises(
        ConfigError,
        match=r"ring: gold\.(top -> gold\.funnel -> gold\.top|funnel -> gold\.top -> gold\.funnel)",
    ):
        order_tables(project.pipelines["shop"], project.conf)


def test_a_table_that_is_not_there_is_refused(workspace: Workspace) -> None:
    workspace.write("conf/sql/top.sql", "SELECT 1 AS one FROM silver.ordrs")
    project = load_project(workspace.root, {})

    with pytest.raises(ConfigError, match=r"no table 'silver.ordrs'\n    did you mean 'silver.orders'"):
        order_tables(project.pipelines["shop"], project.conf)


def test_the_shipped_pipelines_can_be_ordered() -> None:
    project = load_project(ROOT, {})

    assert order_tables(project.pipelines["retail"], project.conf)["gold.top_products"] == (
        "silver.order_lines",
    )


@pytest.mark.parametrize(
    ("kwargs", "tables"),
    [
        ({"column": "amount"}, []),
        (
            {"column": "customer_id", "other_table": "dimension.customers", "other_column": "customer_id"},
            ["dimension.customers"],
        ),
        (
            {"unexpected_rows_query": "SELECT * FROM {batch} JOIN Silver.lines USING (order_id) -- gold.top"},
            ["silver.lines"],
        ),
    ],
)
def test_a_rule_names_the_other_tables_that_it_reads(kwargs: dict[str, Any], tables: list[str]) -> None:
    assert tables_read_by(Rule("rule", "type", kwargs, "warn", "info", "So.")) == tables
