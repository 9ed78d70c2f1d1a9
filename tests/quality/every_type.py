"""Questions of every type of Great Expectations that can be used here: columns of all kinds, conditions,
`mostly`, bounds and sets.
"""

from collections.abc import Iterator
from typing import Any

from great_expectations.expectations.registry import get_expectation_impl
from pyspark.sql import DataFrame

from spark_jobs.quality.validation import Question

Arguments = dict[str, Any]


def _condition(text: str) -> Arguments:
    return {"row_condition": {"type": "pass_through", "pass_through_filter": text}}


SOME, NONE = _condition("m > 5 AND word LIKE 'a%'"), _condition("id < 0")


def questions_of_every_type(rows: DataFrame) -> list[Question]:
    """All cases, about a frame with the columns that tests know."""
    return [
        Question(rows, gx_type, kwargs)
        for gx_type, cases in CASES.items()
        for kwargs in [*cases, *_varied(gx_type, cases[0])]
    ]


def first_of_every_type(rows: DataFrame) -> list[Question]:
    """The first case of each type, asked of all rows and of some."""
    return [
        Question(rows, gx_type, kwargs)
        for gx_type, cases in CASES.items()
        for kwargs in [cases[0], *_varied(gx_type, cases[0])][:2]
    ]


def _varied(gx_type: str, kwargs: Arguments) -> Iterator[Arguments]:
    """The same of some rows, of none, and with `mostly`."""
    taken = get_expectation_impl(gx_type).__fields__
    if "row_condition" in taken and "row_condition" not in kwargs:
        yield from ({**kwargs, **condition} for condition in (SOME, NONE))
    if "mostly" in taken:
        yield {**kwargs, "mostly": 0.6}


def _columns(*names: str, **more: Any) -> list[Arguments]:
    return [{"column": name, **more} for name in names]


PAIR: Arguments = {"column_A": "n", "column_B": "m"}
PAIRS: list[Arguments] = [
    PAIR,
    {"column_A": "day", "column_B": "at", "ignore_row_if": "either_value_is_missing"},
    {"column_A": "ratio", "column_B": "weight", "ignore_row_if": "neither"},
]
LISTS: list[Arguments] = [
    {"column_list": ["n", "m", "k"]},
    {"column_list": ["n", "price"], "ignore_row_if": "any_value_is_missing"},
    {"column_list": ["ratio", "weight"], "ignore_row_if": "never"},
]
NUMBERS = ("price", "n", "ratio")
ALL = ("ratio", "word")
SET = {"value_set": [5, 10, 0]}
PARTITION = {"values": ["abc", "12", "Abc"], "weights": [0.5, 0.25, 0.25]}
CASES: dict[str, list[Arguments]] = {
    "expect_column_distinct_values_to_be_in_set": [
        *_columns("n", "price", "ratio", **SET),
        {"column": "word", "value_set": ["abc", ""]},
    ],
    "expect_column_distinct_values_to_contain_set": [
        *_columns("n", "price", **SET),
        {"column": "ratio", "value_set": [0.1, float("nan")]},
    ],
    "expect_column_distinct_values_to_equal_set": [
        *_columns("n", **SET),
        {"column": "at", "value_set": ["2024-05-01 12:00:00"]},
    ],
    "expect_column_kl_divergence_to_be_less_than": _columns(
        "word", partition_object=PARTITION, threshold=0.5
    ),
    "expect_column_max_to_be_between": [
        *_columns(*NUMBERS, max_value=100),
        {"column": "nowhere", "max_value": 1},
    ],
    "expect_column_mean_to_be_between": _columns(*NUMBERS, "word", min_value=0, max_value=100),
    "expect_column_median_to_be_between": _columns(*NUMBERS, "word", "at", min_value=5, max_value=7),
    "expect_column_min_to_be_between": _columns(*NUMBERS, min_value=-1, strict_min=True),
    "expect_column_most_common_value_to_be_in_set": [
        *_columns("n", **SET),
        {"column": "word", "value_set": ["abc"], "ties_okay": True},
    ],
    "expect_column_pair_values_a_to_be_greater_than_b": [
        {**pair, "or_equal": is_or} for pair in PAIRS for is_or in (True, False)
    ],
    "expect_column_pair_values_to_be_equal": PAIRS,
    "expect_column_pair_values_to_be_in_set": [{**PAIR, "value_pairs_set": [[5, 5], [None, 5]]}],
    "expect_column_proportion_of_non_null_values_to_be_between": _columns(*ALL, min_value=0.9),
    "expect_column_proportion_of_unique_values_to_be_between": _columns(*ALL, min_value=0.3, max_value=0.9),
    "expect_column_quantile_values_to_be_between": [
        *_columns(
            *NUMBERS,
            "word",
            quantile_ranges={
                "quantiles": [0.0, 0.1, 0.5, 1 / 3, 1.0],
                "value_ranges": [[None, 9]] * 4 + [[5, None]],
            },
        ),
        {
            "column": "n",
            "quantile_ranges": {"quantiles": [0.5], "value_ranges": [[0, 9]]},
            "allow_relative_error": 0.1,
        },
    ],
    "expect_column_stdev_to_be_between": _columns(*NUMBERS, min_value=0, max_value=100),
    "expect_column_sum_to_be_between": _columns(*NUMBERS, min_value=0, max_value=100),
    "expect_column_to_exist": [{"column": "n", "column_index": 1}, {"column": "nowhere"}],
    "expect_column_type_to_be": _columns("n", "price", type_="LongType"),
    "expect_column_unique_value_count_to_be_between": _columns(*ALL, min_value=3, max_value=8),
    "expect_column_value_lengths_to_be_between": [
        *_columns("word", "other", min_value=2, max_value=4),
        {"column": "word", "max_value": 2},
    ],
    "expect_column_value_lengths_to_equal": _columns("word", "n", value=3),
    "expect_column_value_z_scores_to_be_less_than": _columns(
        "n", "price", "ratio", threshold=1, double_sided=True
    ),
    "expect_column_values_to_be_between": [
        *_columns(*NUMBERS, min_value=0, max_value=7.5, strict_max=True),
        {"column": "day", "min_value": "2024-05-01"},
        {"column": "word", "min_value": 1},
        {"column": "nowhere", "min_value": 1},
    ],
    "expect_column_values_to_be_in_set": [
        *_columns(*NUMBERS, **SET),
        {"column": "word", "value_set": ["abc", None]},
    ],
    "expect_column_values_to_be_in_type_list": _columns(
        "n", "price", "word", type_list=["LongType", "StringType"]
    ),
    "expect_column_values_to_be_json_parseable": _columns("word", "other"),
    "expect_column_values_to_be_null": _columns(*ALL),
    "expect_column_values_to_be_of_type": _columns("n", "price", type_="LongType"),
    "expect_column_values_to_be_unique": _columns(*ALL, "id"),
    # Fails on what is no JSON: Spark asks a Python function about all rows, so this one must be left to GX,
    # which filters them before.
    "expect_column_values_to_match_json_schema": _columns(
        "other", json_schema={"type": "string"}, **_condition("other = '12'")
    ),
    "expect_column_values_to_match_regex": _columns("word", "n", regex="^[a-z5]+$"),
    "expect_column_values_to_match_regex_list": _columns("word", regex_list=["^a", "(?i)c$"], match_on="all"),
    "expect_column_values_to_match_strftime_format": _columns("word", "other", strftime_format="%H"),
    "expect_column_values_to_not_be_in_set": [
        *_columns(*NUMBERS, **SET),
        {"column": "day", "value_set": ["2024-05-01"]},
    ],
    "expect_column_values_to_not_be_null": [*_columns(*ALL), {"column": "nowhere"}],
    "expect_column_values_to_not_be_outliers": _columns("price", "n", "ratio"),
    "expect_column_values_to_not_match_regex": _columns("word", "n", regex=r"b|^\d+$"),
    "expect_column_values_to_not_match_regex_list": _columns("word", regex_list=["^a", "(?i)c$"]),
    "expect_compound_columns_to_be_unique": [
        *LISTS,
        {"column_list": ["id", "word"]},
        {"column_list": ["word", "other"]},
    ],
    "expect_multicolumn_sum_to_equal": [
        {**columns, "sum_total": total} for columns in LISTS for total in (17, 4.0)
    ],
    "expect_multicolumn_values_to_be_equal": LISTS,
    "expect_select_column_values_to_be_unique_within_record": LISTS,
    "expect_table_column_count_to_be_between": [{"min_value": 1, "max_value": 5}],
    "expect_table_column_count_to_equal": [{"value": 13}],
    "expect_table_columns_to_match_ordered_list": [{"column_list": ["id", "n"]}],
    "expect_table_columns_to_match_set": [{"column_set": ["id", "n"], "exact_match": False}],
    "expect_table_row_count_to_be_between": [{"min_value": 5}],
    "expect_table_row_count_to_equal": [{"value": 26}],
    "unexpected_rows_expectation": [
        {"unexpected_rows_query": "SELECT * FROM {batch}"},
        {"unexpected_rows_query": "SELECT * FROM {batch} WHERE n > 5"},
    ],
}
