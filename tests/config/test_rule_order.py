"""Rules are edges of the graph: what they read comes first, and what cannot come first is refused."""

import pytest

from spark_jobs.config.graph import is_blocking, rule_edges
from spark_jobs.config.loading import load_project
from spark_jobs.config.task_stages import stages
from tests.config.conftest import Workspace

MEMBERS = """\
expectations:
  {name}:
    type: expect_column_values_to_be_in_other_table
    kwargs: {{column: {column}, other_table: {other}, other_column: {known_as}}}
    on_fail: {on_fail}
    reason: One belongs to the other.
"""


def judge(
    workspace: Workspace, table: str, other: str, column: str = "order_id", on_fail: str = "warn"
) -> None:
    known_as = "city" if other == "gold.hourly" else column
    text = MEMBERS.format(
        name=f"as_in_{other.partition('.')[2]}",
        column=column,
        other=other,
        known_as=known_as,
        on_fail=on_fail,
    )
    workspace.write(f"expectations/shop/{table}.yml", text)


def test_a_table_has_the_tables_that_its_rules_read_before_it(workspace: Workspace) -> None:
    judge(workspace, "silver.lines", "silver.orders", on_fail="block")
    judge(workspace, "gold.hourly", "dimension.customers", "city")
    rules = load_project(workspace.root, {}).rules["shop"]

    assert workspace.problems() == []
    assert rule_edges(rules) == {"silver.lines": ("silver.orders",), "gold.hourly": ("dimension.customers",)}
    assert rule_edges(rules, is_blocking) == {"silver.lines": ("silver.orders",)}


def test_tables_whose_rules_read_one_another_are_refused(workspace: Workspace) -> None:
    judge(workspace, "silver.lines", "silver.orders")
    judge(workspace, "silver.orders", "silver.lines")

    problem = workspace.problem()

    assert problem.file in ("expectations/shop/silver.lines.yml", "expectations/shop/silver.orders.yml")
    assert problem.line == 2
    assert "the tables form a ring" in problem.message
    assert {"silver.lines", "silver.orders"} <= set(problem.message.partition("read: ")[2].split(" -> "))
    assert "remove one of these rules" in problem.hint


def test_a_ring_through_a_table_that_is_made_from_another_is_refused(workspace: Workspace) -> None:
    judge(workspace, "silver.orders", "silver.lines")
    judge(workspace, "silver.lines", "gold.hourly", "country")

    ring = workspace.problem().message.partition("read: ")[2].split(" -> ")
    assert set(ring) == {"silver.orders", "gold.hourly", "silver.lines"}


@pytest.mark.parametrize("tasks", ["layer", "table"])
def test_a_rule_that_reads_what_a_later_task_makes_is_refused(workspace: Workspace, tasks: str) -> None:
    judge(workspace, "silver.lines", "gold.hourly", "country")
    workspace.replace("pipeline: shop\n", "pipeline: shop\ntasks: pipeline\n")
    assert workspace.problems() == []

    workspace.replace("tasks: pipeline\n", f"tasks: {tasks}\n")

    assert f"with `tasks: {tasks}` a later task of the DAG makes it" in workspace.problem().message
    assert "tasks: pipeline" in workspace.problem().hint


def test_a_task_for_each_table_waits_for_the_tables_that_its_rules_read(workspace: Workspace) -> None:
    judge(workspace, "silver.lines", "silver.orders")
    workspace.replace("pipeline: shop\n", "pipeline: shop\ntasks: table\n")
    project = load_project(workspace.root, {})

    found = stages(project.pipelines["shop"], rule_edges(project.rules["shop"]))

    assert [sorted(stage) for stage in found if any(task.startswith("silver.") for task in stage)] == [
        ["silver.logs", "silver.orders"], ["silver.lines"],
    ]  # fmt: skip
    assert workspace.problems() == []
