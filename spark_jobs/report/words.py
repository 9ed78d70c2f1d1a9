"""An expectation as a sentence. What enters: a Great Expectations type and its arguments. What leaves: plain
words.

Arguments come from expectation files, so a sentence is text to be escaped like any other.
"""

from collections.abc import Mapping
from typing import Any

LISTED = 8
LONGEST = 80
APART = ("mostly", "row_condition", "condition_parser")
"""Arguments that every type may have: they end the sentence."""
SENTENCES = {
    "expect_column_values_to_not_be_null": "{column} has a value",
    "expect_column_values_to_be_null": "{column} has no value",
    "expect_column_values_to_be_unique": "no two rows have the same {column}",
    "expect_column_values_to_be_between": "{column} is {range}",
    "expect_column_values_to_be_in_set": "{column} is one of: {value_set}",
    "expect_column_values_to_not_be_in_set": "{column} is none of: {value_set}",
    "expect_column_values_to_be_of_type": "{column} is of type {type_}",
    "expect_column_values_to_be_in_type_list": "{column} is of one of the types: {type_list}",
    "expect_column_type_to_be": "{column} is of type {type_}",
    "expect_column_values_to_match_regex": "{column} has the form {regex}",
    "expect_column_values_to_not_match_regex": "{column} does not have the form {regex}",
    "expect_column_values_to_match_regex_list": "{column} has one of the forms: {regex_list}",
    "expect_column_values_to_not_match_regex_list": "{column} has none of the forms: {regex_list}",
    "expect_column_values_to_match_like_pattern": "{column} is like {like_pattern}",
    "expect_column_values_to_not_match_like_pattern": "{column} is not like {like_pattern}",
    "expect_column_values_to_match_like_pattern_list": "{column} is like one of: {like_pattern_list}",
    "expect_column_values_to_not_match_like_pattern_list": "{column} is like none of: {like_pattern_list}",
    "expect_column_values_to_match_strftime_format": "{column} is a time written as {strftime_format}",
    "expect_column_values_to_be_dateutil_parseable": "{column} can be read as a date",
    "expect_column_values_to_be_json_parseable": "{column} can be read as JSON",
    "expect_column_values_to_match_json_schema": "{column} is JSON of the agreed shape",
    "expect_column_values_to_be_increasing": "{column} only rises from row to row",
    "expect_column_values_to_be_decreasing": "{column} only falls from row to row",
    "expect_column_values_to_not_be_outliers": "{column} has no values far off the others",
    "expect_column_value_lengths_to_be_between": "{column} is {range} characters long",
    "expect_column_value_lengths_to_equal": "{column} is exactly {value} characters long",
    "expect_column_value_z_scores_to_be_less_than": (
        "{column} stays within {threshold} standard deviations of its mean"
    ),
    "expect_column_distinct_values_to_be_in_set": "{column} has no other values than: {value_set}",
    "expect_column_distinct_values_to_contain_set": "{column} has all of these values: {value_set}",
    "expect_column_distinct_values_to_equal_set": "{column} has exactly these values: {value_set}",
    "expect_column_most_common_value_to_be_in_set": "the most frequent {column} is one of: {value_set}",
    "expect_column_kl_divergence_to_be_less_than": "the values of {column} are spread as agreed",
    "expect_column_max_to_be_between": "the greatest {column} is {range}",
    "expect_column_min_to_be_between": "the least {column} is {range}",
    "expect_column_mean_to_be_between": "the mean of {column} is {range}",
    "expect_column_median_to_be_between": "the median of {column} is {range}",
    "expect_column_stdev_to_be_between": "the standard deviation of {column} is {range}",
    "expect_column_sum_to_be_between": "the sum of {column} is {range}",
    "expect_column_quantile_values_to_be_between": "the quantiles of {column} lie within their bounds",
    "expect_column_unique_value_count_to_be_between": "{column} has {range} different values",
    "expect_column_proportion_of_unique_values_to_be_between": (
        "the share of different values in {column} is {range}"
    ),
    "expect_column_proportion_of_non_null_values_to_be_between": (
        "the share of rows with a {column} is {range}"
    ),
    "expect_column_pair_values_a_to_be_greater_than_b": "{column_A} is greater than {column_B}",
    "expect_column_pair_values_to_be_equal": "{column_A} is equal to {column_B}",
    "expect_column_pair_values_to_be_in_set": "{column_A} and {column_B} are one of the agreed pairs",
    "expect_compound_columns_to_be_unique": "no two rows have the same {column_list}",
    "expect_select_column_values_to_be_unique_within_record": (
        "no row has the same value twice in {column_list}"
    ),
    "expect_multicolumn_values_to_be_equal": "every row has the same value in {column_list}",
    "expect_multicolumn_sum_to_equal": "{column_list} add up to {sum_total}",
    "expect_column_to_exist": "there is a column {column}",
    "expect_table_column_count_to_be_between": "there are {range} columns",
    "expect_table_column_count_to_equal": "there are exactly {value} columns",
    "expect_table_columns_to_match_set": "the columns are: {column_set}",
    "expect_table_columns_to_match_ordered_list": "the columns are, in this order: {column_list}",
    "expect_table_row_count_to_be_between": "there are {range} rows",
    "expect_table_row_count_to_equal": "there are exactly {value} rows",
    "expect_table_row_count_to_equal_other_table": "there are as many rows as in {other_table_name}",
}


def say_expectation(kind: str, arguments: Mapping[str, Any]) -> str:
    """The sentence of a type. One that is not known, or whose arguments are not, is spelled out from its
    name.
    """
    known = {name: say_value(value) for name, value in arguments.items()} | {"range": say_range(arguments)}
    try:
        sentence = SENTENCES[kind].format_map(known)
    except KeyError:
        sentence = _spell_out(kind, arguments)
    return f"{sentence}{_share(arguments.get('mostly'))}{_condition(arguments.get('row_condition'))}"


def say_value(value: Any) -> str:
    """One argument, never longer than a line or two."""
    if isinstance(value, list | tuple | set):
        items = [say_value(item) for item in list(value)[:LISTED]]
        return ", ".join(items) + (f" and {len(value) - LISTED} more" if len(value) > LISTED else "")
    is_great = isinstance(value, int | float) and abs(value) >= 10_000
    text = f"{value:,}" if is_great else str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def say_range(arguments: Mapping[str, Any]) -> str:
    """The bounds, as in "between 0 and 100,000", "at least 1" or "more than 0 and less than 5"."""
    least, most = arguments.get("min_value"), arguments.get("max_value")
    is_above, is_below = bool(arguments.get("strict_min")), bool(arguments.get("strict_max"))
    if least is not None and most is not None and not is_above and not is_below:
        return (
            f"exactly {say_value(least)}"
            if least == most
            else f"between {say_value(least)} and {say_value(most)}"
        )
    parts = [f"{'more than' if is_above else 'at least'} {say_value(least)}"] if least is not None else []
    parts += [f"{'less than' if is_below else 'at most'} {say_value(most)}"] if most is not None else []
    return " and ".join(parts) or "anything"


def _spell_out(kind: str, arguments: Mapping[str, Any]) -> str:
    words = kind.removeprefix("expect_").replace("_", " ")
    said = [
        f"{name.replace('_', ' ')} {say_value(value)}"
        for name, value in arguments.items()
        if name not in APART
    ]
    return words + (f" ({'; '.join(said)})" if said else "")


def _share(mostly: Any) -> str:
    is_share = isinstance(mostly, int | float) and not isinstance(mostly, bool) and mostly < 1
    return f", in at least {mostly * 100:.6g} % of the rows" if is_share else ""


def _condition(condition: Any) -> str:
    return f", where {say_value(condition)}" if condition else ""
