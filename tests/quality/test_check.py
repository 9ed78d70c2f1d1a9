"""Rules against the installed Great Expectations: what it does not have, does not have for Spark, or does not take is refused."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import great_expectations as gx
import pytest
from great_expectations.core.expectation_suite import ExpectationSuite
from great_expectations.expectations.registry import get_expectation_impl
from pyspark.sql import SparkSession

from spark_jobs.cli.check import every_problem
from spark_jobs.config.expectation_types import COMPILED, OWN, REFUSED
from spark_jobs.config.expectations import Rule
from spark_jobs.config.loading import load_project
from spark_jobs.quality.check import check_pipeline_rules, check_rules, usable_types
from tests.conftest import weir_environ

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
    "expect_column_value_z_scores_to_be_less_than": {"column": "order_id", "threshold": 3, "double_sided": True},
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


@pytest.mark.spark
def test_every_type_that_is_let_through_can_be_judged_on_spark(spark: SparkSession) -> None:
    assert list(ARGUMENTS) == sorted(usable_types())
    rows = "(1, 10.00BD, 1.00BD, 'paid', '{}', '2024-01-01'), (2, 2.50BD, 0.50BD, 'open', '{}', '2024-01-02'), (3, 1.00BD, 2.00BD, 'paid', '{}', '2024-01-03')"
    orders = spark.sql(f"SELECT * FROM VALUES {rows} AS t(order_id, amount, fee, status, document, day)")
    suite = ExpectationSuite("all", expectations=[get_expectation_impl(name)(**kwargs) for name, kwargs in ARGUMENTS.items()])
    source = gx.get_context(mode="ephemeral").data_sources.add_spark("frames", persist=False)
    batch = source.add_dataframe_asset("orders").add_batch_definition_whole_dataframe("all").get_batch({"dataframe": orders})

    results = batch.validate(suite, result_format="SUMMARY").results

    assert {result.expectation_config.type: result.exception_info for result in results if _has_raised(result)} == {}


def _has_raised(result: Any) -> bool:
    return "raised_exception" not in result.exception_info or result.exception_info["raised_exception"]
