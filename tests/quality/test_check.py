"""Rules against the installed Great Expectations: what it does not have, does not have for Spark, or does not
take is refused.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import great_expectations as gx
import pytest
from great_expectations.core.expectation_suite import ExpectationSuite
from great_expectations.expectations.registry import get_expectation_impl
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.cli.check import every_problem
from spark_jobs.config.errors import Problem
from spark_jobs.config.expectation_types import COMPILED, OWN, REFUSED
from spark_jobs.quality.check import check_pipeline_rules, check_rules, usable_types
from tests.conftest import Workshop, weir_environ

ROOT = Path(__file__).resolve().parents[2]
PIPELINE = """\
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver:
  orders:
    from: orders
    columns: {order_id: bigint, amount: "decimal(12,2)", fee: "decimal(12,2)", status: string, ordered_at: timestamp}
    key: order_id
    event_time: ordered_at
"""
SET = {"column": "status", "value_set": ["paid", "open"]}
BETWEEN = {"column": "amount", "min_value": 0, "max_value": 100}
PAIR = {"column_A": "amount", "column_B": "fee"}
# Arguments with which each type can be asked of the frame below.
ARGUMENTS: dict[str, dict[str, Any]] = {
    "expect_column_distinct_values_to_be_in_set": SET,
    "expect_column_distinct_values_to_contain_set": SET,
    "expect_column_distinct_values_to_equal_set": SET,
    "expect_column_kl_divergence_to_be_less_than": {
        "column": "status",
        "partition_object": {"values": ["paid", "open"], "weights": [0.5, 0.5]},
        "threshold": 0.5,
    },
    "expect_column_max_to_be_between": BETWEEN,
    "expect_column_mean_to_be_between": BETWEEN,
    "expect_column_median_to_be_between": BETWEEN,
    "expect_column_min_to_be_between": BETWEEN,
    "expect_column_most_common_value_to_be_in_set": SET,
    "expect_column_pair_values_a_to_be_greater_than_b": PAIR,
    "expect_column_pair_values_to_be_equal": PAIR,
    "expect_column_pair_values_to_be_in_set": PAIR | {"value_pairs_set": [[1, 2], [3, 4]]},
    "expect_column_proportion_of_non_null_values_to_be_between": {"column": "status", "min_value": 0.5},
    "expect_column_proportion_of_unique_values_to_be_between": {"column": "status", "min_value": 0.5},
    "expect_column_quantile_values_to_be_between": {
        "column": "order_id",
        "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[0, 10]]},
    },
    "expect_column_stdev_to_be_between": BETWEEN,
    "expect_column_sum_to_be_between": BETWEEN,
    "expect_column_to_exist": {"column": "amount"},
    "expect_column_type_to_be": {"column": "status", "type_": "StringType"},
    "expect_column_unique_value_count_to_be_between": {"column": "status", "min_value": 1},
    "expect_column_value_lengths_to_be_between": {"column": "status", "min_value": 1},
    "expect_column_value_lengths_to_equal": {"column": "status", "value": 4},
    "expect_column_value_z_scores_to_be_less_than": {
        "column": "order_id",
        "threshold": 3,
        "double_sided": True,
    },
    "expect_column_values_to_be_between": BETWEEN,
    "expect_column_values_to_be_in_set": SET,
    "expect_column_values_to_be_in_type_list": {"column": "status", "type_list": ["StringType"]},
    "expect_column_values_to_be_json_parseable": {"column": "status"},
    "expect_column_values_to_be_null": {"column": "status"},
    "expect_column_values_to_be_of_type": {"column": "status", "type_": "StringType"},
    "expect_column_values_to_be_unique": {"column": "order_id"},
    "expect_column_values_to_match_json_schema": {"column": "document", "json_schema": {"type": "object"}},
    "expect_column_values_to_match_regex": {"column": "status", "regex": "^[a-z]+$"},
    "expect_column_values_to_match_regex_list": {"column": "status", "regex_list": ["^p", "^o"]},
    "expect_column_values_to_match_strftime_format": {"column": "day", "strftime_format": "%Y-%m-%d"},
    "expect_column_values_to_not_be_in_set": SET,
    "expect_column_values_to_not_be_null": {"column": "status"},
    "expect_column_values_to_not_be_outliers": {"column": "order_id"},
    "expect_column_values_to_not_match_regex": {"column": "status", "regex": "^[0-9]+$"},
    "expect_column_values_to_not_match_regex_list": {"column": "status", "regex_list": ["^x"]},
    "expect_compound_columns_to_be_unique": {"column_list": ["order_id", "status"]},
    "expect_multicolumn_sum_to_equal": {"column_list": ["amount", "fee"], "sum_total": 3},
    "expect_multicolumn_values_to_be_equal": {"column_list": ["amount", "fee"]},
    "expect_select_column_values_to_be_unique_within_record": {"column_list": ["amount", "fee"]},
    "expect_table_column_count_to_be_between": {"min_value": 1, "max_value": 9},
    "expect_table_column_count_to_equal": {"value": 6},
    "expect_table_columns_to_match_ordered_list": {"column_list": ["order_id", "amount"]},
    "expect_table_columns_to_match_set": {"column_set": ["order_id", "amount"]},
    "expect_table_row_count_to_be_between": {"min_value": 1},
    "expect_table_row_count_to_equal": {"value": 3},
    "unexpected_rows_expectation": {"unexpected_rows_query": "SELECT * FROM {batch} WHERE amount < 0"},
}


FILE = "expectations/shop/silver.orders.yml"
ROWS = """
    (1, 10.00BD, 1.00BD, 'paid', '{}', '2024-01-01'),
    (2, 2.50BD, 0.50BD, 'open', '{}', '2024-01-02'),
    (3, 1.00BD, 2.00BD, 'paid', '{}', '2024-01-03')
"""


@pytest.fixture
def shop(idle_workshop: Workshop) -> Workshop:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    return idle_workshop


def write_rule(shop: Workshop, kind: str, kwargs: str) -> None:
    rule = (
        f"  the_rule:\n    type: {kind}\n    kwargs: {kwargs}\n    on_fail: warn\n    reason: It must be"
        " so.\n"
    )
    shop.write(FILE, f"expectations:\n{rule}")


def judge(shop: Workshop, kind: str, kwargs: str) -> list[Problem]:
    write_rule(shop, kind, kwargs)
    return check_rules(shop.project)


@pytest.mark.spark
def test_every_type_that_is_let_through_can_be_judged_on_spark(spark: SparkSession) -> None:
    assert list(ARGUMENTS) == list(usable_types())
    orders = spark.sql(f"SELECT * FROM VALUES {ROWS} AS t(order_id, amount, fee, status, document, day)")
    suite = ExpectationSuite(
        "all", expectations=[get_expectation_impl(name)(**kwargs) for name, kwargs in ARGUMENTS.items()]
    )
    source = gx.get_context(mode="ephemeral").data_sources.add_spark("frames", persist=False)
    batch = (
        source.add_dataframe_asset("orders")
        .add_batch_definition_whole_dataframe("all")
        .get_batch({"dataframe": orders})
    )

    results = batch.validate(suite, result_format="SUMMARY").results

    assert len(results) == len(ARGUMENTS)
    assert [
        (result.expectation_config, result.exception_info) for result in results if has_raised(result)
    ] == []


def has_raised(result: Any) -> bool:
    """GX gives one answer for the whole, or one for each metric that raised."""
    return bool(result.exception_info.get("raised_exception", True))


@pytest.mark.parametrize("kind", ARGUMENTS)
def test_great_expectations_takes_the_arguments_as_a_file_writes_them(shop: Workshop, kind: str) -> None:
    assert judge(shop, kind, json.dumps(ARGUMENTS[kind])) == []


def test_all_types_that_set_rows_aside_are_there() -> None:
    assert set(COMPILED) - set(usable_types()) == set()


@pytest.mark.parametrize(
    ("kind", "message", "hint"),
    [
        (
            "expect_column_values_to_be_betwen",
            "no type",
            "did you mean 'expect_column_values_to_be_between'?",
        ),
        ("expect_column_max_to_be_resent", "no type", "did you mean 'expect_column_max_to_be_recent'?"),
        ("expect_column_values_to_match_like_pattern", "not for Spark", "allowed:"),
        ("expect_column_values_to_be_dateutil_parseable", "not for Spark", "allowed:"),
        ("expect_column_values_to_be_increasing", "no order", "another type"),
        (
            "expect_table_row_count_to_equal_other_table",
            "SQL databases only; use unexpected_rows_expectation",
            "another type",
        ),
    ],
)
def test_a_type_that_cannot_be_judged_is_refused(shop: Workshop, kind: str, message: str, hint: str) -> None:
    [problem] = judge(shop, kind, "{column: amount}")

    assert (problem.file, problem.line, problem.where, problem.value) == (
        FILE,
        3,
        "expectations.the_rule.type",
        kind,
    )
    assert message in problem.message
    assert hint in problem.hint


def test_what_is_refused_is_a_type_of_great_expectations() -> None:
    assert [name for name in REFUSED if get_expectation_impl(name) is None] == []


@pytest.mark.parametrize(
    ("kind", "kwargs", "where", "message", "hint"),
    [
        (
            "expect_column_values_to_be_between",
            "{min_value: 1}",
            "kwargs",
            "the argument 'column' is missing",
            "add column",
        ),
        (
            "expect_column_values_to_not_be_null",
            "{column: 5}",
            "kwargs.column",
            "5 cannot be the argument 'column'",
            "str",
        ),
        (
            "expect_column_values_to_not_be_null",
            "{colum: amount, column: amount}",
            "kwargs.colum",
            "no argument 'colum'",
            "'column'",
        ),
        (
            "expect_column_values_to_not_be_null",
            "{column: amount, mostly: 2}",
            "kwargs.mostly",
            "2 cannot be",
            "less than or equal to 1",
        ),
        (
            "expect_column_values_to_not_be_null",
            "{column: amount, severity: info}",
            "kwargs.severity",
            "no argument",
            "beside kwargs",
        ),
        (
            "expect_column_values_to_not_be_null",
            "{column: amount, result_format: COMPLETE}",
            "kwargs.result_format",
            "no arg",
            "mostly",
        ),
        (
            "expect_column_values_to_be_in_set",
            "{column: amount, value_set: paid}",
            "kwargs.value_set",
            "'paid' cannot be",
            "valid list",
        ),
        (
            "expect_column_values_to_be_of_type",
            "{column: status, type_: string}",
            "kwargs.type_",
            "'string' is not",
            "'StringType'",
        ),
        (
            "expect_column_values_to_be_between",
            "{column: amount, min_value: soon}",
            "kwargs.min_value",
            "'soon' cannot be",
            "valid float",
        ),
    ],
)
def test_arguments_are_judged_by_great_expectations(
    shop: Workshop, kind: str, kwargs: str, where: str, message: str, hint: str
) -> None:
    [problem] = judge(shop, kind, kwargs)

    assert (problem.file, problem.line, problem.where) == (FILE, 4, f"expectations.the_rule.{where}")
    assert message in problem.message
    assert hint in problem.hint


def test_arguments_that_contradict_one_another_are_refused(shop: Workshop) -> None:
    ranges = "{column: amount, quantile_ranges: {quantiles: [0.5], value_ranges: [[2, 1]]}}"

    [problem] = judge(shop, "expect_column_quantile_values_to_be_between", ranges)

    assert "ordered pairs" in f"{problem.message} {problem.hint}"


def test_the_rules_of_one_pipeline_can_be_checked_alone(shop: Workshop) -> None:
    shop.write(
        "conf/pipelines/store.yml",
        PIPELINE.replace("pipeline: shop", "pipeline: store").replace("path: orders", "path: store"),
    )
    write_rule(shop, "expect_nothing", "{}")

    assert check_pipeline_rules(shop.project, "store") == []
    assert len(check_pipeline_rules(shop.project, "shop")) == 1


ODD_VALUES: st.SearchStrategy[Any] = st.sampled_from(
    [
        None,
        True,
        -1,
        0.5,
        10**400,
        "amount",
        "status",
        "(",
        "now() > 1",
        "{",
        "SELECT {0}",
        "2024-13-01",
        "silver.orders",
        [],
        [None],
        [[1]],
        {},
    ]
)
ODD_KEYS = st.sampled_from(
    sorted(
        {
            "mostly",
            "row_condition",
            "other_table",
            "self",
            *(key for kwargs in ARGUMENTS.values() for key in kwargs),
        }
    )
)


@settings(
    derandomize=True,
    deadline=None,
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(kind=st.sampled_from([*ARGUMENTS, *OWN]), kwargs=st.dictionaries(ODD_KEYS, ODD_VALUES, max_size=6))
def test_no_arguments_are_too_odd_to_be_judged(shop: Workshop, kind: str, kwargs: dict[str, Any]) -> None:
    write_rule(shop, kind, json.dumps(kwargs))

    assert {problem.file for problem in every_problem(shop.root, {})} <= {FILE}


def test_a_place_is_told_once_though_two_checks_refuse_it(shop: Workshop) -> None:
    write_rule(shop, "expect_column_values_to_be_between", "{column: amount, min_value: soon, mostly: 2}")

    found = every_problem(shop.root, {})

    assert [problem.where.rpartition(".")[2] for problem in found] == ["min_value", "mostly"]


@pytest.mark.system
def test_the_check_writes_nothing_but_its_answer(shop: Workshop) -> None:
    write_rule(shop, "unexpected_rows_expectation", '{unexpected_rows_query: "SELECT 1"}')

    done = weir_check(shop)

    assert done.returncode == 2
    assert [problem["where"] for problem in json.loads(done.stdout)["problems"]] == [
        "expectations.the_rule.kwargs.unexpected_rows_query"
    ]
    assert done.stderr == ""


@pytest.mark.system
def test_a_project_without_rules_is_checked_without_great_expectations(shop: Workshop) -> None:
    code = (
        "import sys; from spark_jobs.cli.check import every_problem; print(every_problem(),"
        " 'great_expectations' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", code], env=environ(shop), cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert done.stdout == "[] False\n"


def weir_check(shop: Workshop) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "spark_jobs.cli", "check", "--json"],
        env=environ(shop),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )


def environ(shop: Workshop) -> dict[str, str]:
    return weir_environ(WEIR_HOME=str(shop.root), PYTHONPATH=str(ROOT))
