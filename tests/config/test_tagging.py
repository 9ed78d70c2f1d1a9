"""Rules with `on_fail: tag` give their table a column that gold may name, and only then."""

from tests.config.conftest import Workspace

RULES = """
expectations:
  big: {type: expect_column_values_to_be_between, kwargs: {column: amount, max_value: 9}, on_fail: ACTION, reason: so}
"""
DOUBTFUL = """
gold:
  doubtful:
    from: silver.orders
    where: size(_failed_rules) > 0
    measures: {orders: count(*), big: "count_if(array_contains(_failed_rules, 'big'))"}
"""


def test_gold_may_count_the_rows_that_fail_a_rule(workspace: Workspace) -> None:
    workspace.write("expectations/shop/silver.orders.yml", RULES.replace("ACTION", "tag"))
    workspace.replace("\ngold:\n", DOUBTFUL)

    assert [str(problem) for problem in workspace.problems()] == []


def test_without_such_a_rule_there_is_no_such_column(workspace: Workspace) -> None:
    workspace.write("expectations/shop/silver.orders.yml", RULES.replace("ACTION", "warn"))
    workspace.replace("\ngold:\n", DOUBTFUL)

    assert {problem.value for problem in workspace.problems()} >= {"size(_failed_rules) > 0"}
    assert all("_failed_rules" in problem.message for problem in workspace.problems())


def test_another_pipeline_knows_the_column_too(workspace: Workspace) -> None:
    workspace.write("expectations/shop/silver.orders.yml", RULES.replace("ACTION", "tag"))
    text = DOUBTFUL.replace("silver.orders", "shop.silver.orders").replace("doubtful", "theirs")
    workspace.write("conf/pipelines/other.yml", f"pipeline: other{text}")

    assert [str(problem) for problem in workspace.problems()] == []


def test_rows_that_a_native_query_reads_are_not_tagged(workspace: Workspace) -> None:
    rules = RULES.replace("amount, max_value: 9", "line, max_value: 9").replace("_be_between", "_not_be_null")
    workspace.write(
        "expectations/shop/silver.logs.yml", rules.replace(", max_value: 9", "").replace("ACTION", "tag")
    )
    workspace.replace("      level: {", "      at: {type: timestamp, from: value}\n      level: {")
    workspace.replace("    from: logs\n", "    from: logs\n    event_time: at\n")
    workspace.replace(
        "\ngold:\n", "\ngold:\n  once: {from: silver.logs, dedup: {on: line, within: 1 hour}}\n"
    )

    problem = workspace.problem()

    assert "rules with on_fail: tag, so that its rows follow rules that change" in problem.message
    assert problem.value == "silver.logs"
