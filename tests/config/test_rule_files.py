"""Expectation files become rules by pipeline and table, or problems with file, line and what to do."""

import subprocess
import sys
from pathlib import Path

import pytest

from spark_jobs.config import ConfigError, load_project
from spark_jobs.config.expectations import Rule
from tests.config.conftest import Workspace

ROOT = Path(__file__).resolve().parents[2]
FILE = "expectations/shop/silver.orders.yml"
RULE = """\
description: What an order must be.
expectations:
  amount_in_range:
    type: expect_column_values_to_be_between
    kwargs: {column: amount, min_value: 0}
    on_fail: quarantine
    reason: Nobody pays less than nothing.
"""


def test_rules_are_loaded_by_pipeline_and_table(workspace: Workspace) -> None:
    workspace.write(FILE, RULE)

    rules = load_project(workspace.root, {}).rules

    kwargs = {"column": "amount", "min_value": 0}
    reason = "Nobody pays less than nothing."
    rule = Rule(
        "amount_in_range",
        "expect_column_values_to_be_between",
        kwargs,
        "quarantine",
        "warning",
        reason,
        "batch",
    )
    assert rules == {"shop": {"silver.orders": (rule,)}}


def test_the_folder_of_a_pipeline_may_be_a_link_and_its_rules_are_not_passed_over(
    workspace: Workspace,
) -> None:
    folder = workspace.write(FILE, RULE).parent
    folder.rename(workspace.root / "elsewhere")
    folder.symlink_to(workspace.root / "elsewhere")
    assert list(load_project(workspace.root, {}).rules["shop"]) == ["silver.orders"]


@pytest.mark.parametrize(("name", "said"), [("silver.orders.yml", "it is a folder"), ("more", "is not read")])
def test_a_folder_in_the_place_of_rules_is_a_problem(workspace: Workspace, name: str, said: str) -> None:
    (workspace.root / "elsewhere").mkdir()
    place = workspace.root / "expectations" / "shop" / name
    place.parent.mkdir(parents=True)
    place.symlink_to(workspace.root / "elsewhere")
    assert said in workspace.problem().message


def test_a_project_needs_no_expectations(workspace: Workspace) -> None:
    assert load_project(workspace.root, {}).rules == {"shop": {}}


def test_dates_stay_text_so_that_rules_can_be_kept_as_json(workspace: Workspace) -> None:
    workspace.write(FILE, RULE.replace("amount, min_value: 0", "ordered_at, min_value: 2024-01-31"))

    [rule] = load_project(workspace.root, {}).rules["shop"]["silver.orders"]

    assert rule.kwargs["min_value"] == "2024-01-31"
    assert Rule.of_dict(rule.as_dict()) == rule


@pytest.mark.parametrize(
    ("file", "value", "message", "hint"),
    [
        (
            "expectations/shop/silver.orders.yaml",
            "silver.orders.yaml",
            "does not end in .yml",
            "rename it to silver.orders.yml",
        ),
        (
            "expectations/shop/SILVER.ORDERS.YML",
            "SILVER.ORDERS.YML",
            "does not end in .yml, and is not read",
            "rename it to silver.orders.yml",
        ),
        ("expectations/shp/silver.orders.yml", "shp", "no pipeline 'shp'", "did you mean 'shop'?"),
        (
            "expectations/shop/silver.order.yml",
            "silver.order",
            "no table 'silver.order'",
            "did you mean 'silver.orders'?",
        ),
        ("expectations/shop/orders.yml", "orders", "no table 'orders'", "did you mean 'silver.orders'?"),
        (
            "expectations/shop/bronze.orders.yml",
            "bronze.orders",
            "as they arrived",
            "judge the table made from it",
        ),
        (
            "expectations/silver.orders.yml",
            "silver.orders.yml",
            "not stand in the folder of a pipeline",
            "expectations/<pipeline>/",
        ),
        (
            "expectations/shop/old/silver.orders.yml",
            "silver.orders.yml",
            "not stand in the folder of a pipeline",
            "<layer>.<table>.yml",
        ),
    ],
)
def test_a_file_in_a_wrong_place_is_a_problem(
    workspace: Workspace, file: str, value: str, message: str, hint: str
) -> None:
    workspace.write(file, RULE)

    workspace.assert_refused("", value, message, hint, file)


@pytest.mark.parametrize(
    ("old", "new", "line", "value", "message", "hint"),
    [
        (
            "on_fail: quarantine",
            "on_fail: drop",
            "on_fail",
            "drop",
            "'drop' is not allowed",
            "quarantine, tag, warn, block",
        ),
        ("    on_fail: quarantine\n", "", "amount_in_range", None, "the key 'on_fail' is missing", "add it"),
        ("reason:", "why:", "why", "Nobody pays less than nothing.", "the key 'why' is unknown", "reason"),
        ("amount_in_range", "Amount", "Amount", "Amount", "not a legal name", "lower-case"),
        ("type: expect_column_values_to_be_between", "type: 5", "type", 5, "is not text", "quotes"),
        (
            "{column: amount, min_value: 0}",
            "[amount]",
            "kwargs",
            ["amount"],
            "is not a mapping",
            "{key: value}",
        ),
        (
            "on_fail: quarantine",
            "on_fail: quarantine\n    severity: high",
            "severity",
            "high",
            "'high' is not allowed",
            "critical",
        ),
        (
            "on_fail: quarantine",
            "on_fail: quarantine\n    scope: all",
            "scope",
            "all",
            "'all' is not allowed",
            "batch, table",
        ),
    ],
)
def test_a_file_is_strict(
    workspace: Workspace, old: str, new: str, line: str, value: object, message: str, hint: str
) -> None:
    workspace.write(FILE, RULE)
    workspace.replace(old, new, FILE)

    problems = [problem for problem in workspace.problems() if message in problem.message]

    [problem] = problems
    assert line in (workspace.root / FILE).read_text(encoding="utf-8").splitlines()[problem.line - 1]
    assert (problem.file, hint in problem.hint) == (FILE, True)
    assert value is None or problem.value == value


def test_all_problems_are_told_at_once(workspace: Workspace) -> None:
    workspace.write(FILE, RULE.replace("on_fail: quarantine", "on_fail: drop"))
    workspace.write("expectations/shop/gold.hourly.yml", "expectations: {}\n")
    workspace.replace("schedule:", "shedule:")

    with pytest.raises(ConfigError) as refused:
        load_project(workspace.root, {})

    files = [problem.file for problem in refused.value.problems]
    assert files == ["conf/pipelines/shop.yml", "expectations/shop/gold.hourly.yml", FILE]


def test_one_pipeline_is_loaded_whatever_the_expectations_of_others_are_like(workspace: Workspace) -> None:
    text = (workspace.root / "conf/pipelines/shop.yml").read_text(encoding="utf-8")
    workspace.write(
        "conf/pipelines/store.yml",
        text.replace("pipeline: shop", "pipeline: store").replace("path: shop/", "path: store/"),
    )
    workspace.write(FILE, RULE)
    workspace.write("expectations/store/silver.orders.yml", "nonsense")

    assert list(load_project(workspace.root, {}, only="shop").rules["shop"]) == ["silver.orders"]
    with pytest.raises(ConfigError, match=r"expectations/store/silver.orders.yml:1"):
        load_project(workspace.root, {}, only="store")


@pytest.mark.system
def test_loading_rules_imports_no_engine_and_no_sql_parser(workspace: Workspace) -> None:
    workspace.write(FILE, RULE)
    code = (
        "import sys; from pathlib import Path; from spark_jobs.config import load_project;"
        f"p = load_project(Path({str(workspace.root)!r}), {{}});"
        "print(len(p.rules['shop']), sorted({'pyspark', 'sqlglot', 'great_expectations'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)

    assert done.stdout == "1 []\n"
