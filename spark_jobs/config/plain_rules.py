"""Which rules Great Expectations surely takes, told without importing it, which takes seconds.

Plain is a rule of a common type with arguments of the simplest shapes: the ones below, and no other. Whatever
is not plain is for Great Expectations itself to judge (quality/check.py), so that this can save time but
never let a rule pass; a test asks it about all that is plain here. The table is of one version: beside
another, no rule is plain.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from typing import Any

from spark_jobs.config.expectation_types import CUSTOM_SQL, OWN
from spark_jobs.config.expectations import Rule
from spark_jobs.config.plain_patterns import plain_java
from spark_jobs.config.regexes import judge_regex

KNOWN_VERSION = "1.24.1"
"""The Great Expectations that the table was made from."""
GREATEST = 10**15
"""Numbers up to it are the same as a float."""
Kind = Callable[[Any], bool]

_LITERAL = r"[A-Za-z0-9 _@/,:;=<>!%&~'\"-]"
_ESCAPE = r"\\[sSdDwW.\\/+*?()\[\]{}|^$-]"
_CLASS = rf"\[\^?(?:{_LITERAL}|{_ESCAPE}|[.+*?()$|])+\]"
PLAIN_PATTERN = re.compile(
    rf"(?:(?:{_LITERAL}|{_ESCAPE}|{_CLASS}|[.)])(?:[*+?]|\{{[0-9]+(?:,[0-9]*)?\}})?|\((?:\?:)?|[|^$])*"
)
"""What RE2 reads as Python does: characters, classes, groups and choices, each repeated at most once."""


def is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def is_flag(value: Any) -> bool:
    return isinstance(value, bool)


def is_number(value: Any) -> bool:
    # also false for nan
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= GREATEST


def is_count(value: Any) -> bool:
    return isinstance(value, int) and is_number(value) and value >= 0


def is_share(value: Any) -> bool:
    return is_number(value) and 0 <= value <= 1


def is_set(value: Any) -> bool:
    return (
        isinstance(value, list) and bool(value) and (all(map(is_text, value)) or all(map(is_number, value)))
    )


def is_columns(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 1 and all(map(is_text, value))


def is_pattern(value: Any) -> bool:
    """A pattern that RE2 surely reads."""
    is_read = isinstance(value, str) and PLAIN_PATTERN.fullmatch(value) is not None
    return is_read and judge_regex(value) is None and plain_java(value) is not None


def is_query(value: Any) -> bool:
    return (
        isinstance(value, str) and "{batch}" in value and not {"{", "}"} & set(value.replace("{batch}", ""))
    )


def is_spark(value: Any) -> bool:
    return bool(value == "spark")


@dataclass(frozen=True)
class Arguments:
    """What a type must be given, and what it may be given, each with the kind of value that is plain."""

    needed: Mapping[str, Kind]
    allowed: Mapping[str, Kind] = field(default_factory=dict)


CONDITION: dict[str, Kind] = {"row_condition": is_text, "condition_parser": is_spark}
MOSTLY: dict[str, Kind] = {"mostly": is_share, **CONDITION}
STRICT: dict[str, Kind] = {"strict_min": is_flag, "strict_max": is_flag}
NUMBERS: dict[str, Kind] = {"min_value": is_number, "max_value": is_number, **STRICT}
COUNTS: dict[str, Kind] = {"min_value": is_count, "max_value": is_count, **STRICT}
COLUMN: dict[str, Kind] = {"column": is_text}
PAIR: dict[str, Kind] = {"column_A": is_text, "column_B": is_text}
SET: dict[str, Kind] = {**COLUMN, "value_set": is_set}
PATTERN: dict[str, Kind] = {**COLUMN, "regex": is_pattern}
PLAIN = {
    "expect_column_distinct_values_to_be_in_set": Arguments(SET, CONDITION),
    "expect_column_distinct_values_to_contain_set": Arguments(SET, CONDITION),
    "expect_column_distinct_values_to_equal_set": Arguments(SET, CONDITION),
    "expect_column_max_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_mean_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_median_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_min_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_pair_values_a_to_be_greater_than_b": Arguments(PAIR, {"or_equal": is_flag, **MOSTLY}),
    "expect_column_pair_values_to_be_equal": Arguments(PAIR, MOSTLY),
    "expect_column_proportion_of_non_null_values_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_proportion_of_unique_values_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_stdev_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_sum_to_be_between": Arguments(COLUMN, NUMBERS | CONDITION),
    "expect_column_to_exist": Arguments(COLUMN),
    "expect_column_unique_value_count_to_be_between": Arguments(COLUMN, COUNTS | CONDITION),
    "expect_column_value_lengths_to_be_between": Arguments(COLUMN, COUNTS | MOSTLY),
    "expect_column_value_lengths_to_equal": Arguments({**COLUMN, "value": is_count}, MOSTLY),
    "expect_column_values_to_be_between": Arguments(COLUMN, NUMBERS | MOSTLY),
    "expect_column_values_to_be_in_set": Arguments(SET, MOSTLY),
    "expect_column_values_to_be_null": Arguments(COLUMN, MOSTLY),
    "expect_column_values_to_be_unique": Arguments(COLUMN, MOSTLY),
    "expect_column_values_to_match_regex": Arguments(PATTERN, MOSTLY),
    "expect_column_values_to_not_be_in_set": Arguments(SET, MOSTLY),
    "expect_column_values_to_not_be_null": Arguments(COLUMN, MOSTLY),
    "expect_column_values_to_not_match_regex": Arguments(PATTERN, MOSTLY),
    "expect_compound_columns_to_be_unique": Arguments({"column_list": is_columns}, MOSTLY),
    "expect_multicolumn_sum_to_equal": Arguments({"column_list": is_columns, "sum_total": is_number}, MOSTLY),
    "expect_select_column_values_to_be_unique_within_record": Arguments({"column_list": is_columns}, MOSTLY),
    "expect_table_row_count_to_be_between": Arguments({}, COUNTS | CONDITION),
    "expect_table_row_count_to_equal": Arguments({"value": is_count}, CONDITION),
    CUSTOM_SQL: Arguments({"unexpected_rows_query": is_query}),
}


def are_plain(rules: Iterable[Rule]) -> bool:
    """Whether Great Expectations surely takes all of them. Weir's own types are not for it to judge
    (checks/rules.py).
    """
    return all(rule.type in OWN or is_plain(rule.type, rule.kwargs) for rule in rules)


def is_plain(kind: str, kwargs: Mapping[str, Any]) -> bool:
    known = PLAIN.get(kind)
    if known is None or not _is_of_known_version() or known.needed.keys() - kwargs.keys():
        return False
    kinds = {**known.needed, **known.allowed}
    return all(name in kinds and kinds[name](value) for name, value in kwargs.items()) and _is_bounded(
        kind, kwargs
    )


def _is_bounded(kind: str, kwargs: Mapping[str, Any]) -> bool:
    """Not for Great Expectations to refuse as a whole: bounds that are there and in order, and a condition
    with its parser.
    """
    bounds = [kwargs[name] for name in ("min_value", "max_value") if name in kwargs]
    is_in_order = bounds == sorted(bounds) and (bool(bounds) or not kind.endswith("_to_be_between"))
    return is_in_order and ("row_condition" in kwargs) == ("condition_parser" in kwargs)


@cache
def _is_of_known_version() -> bool:
    try:
        return version("great-expectations") == KNOWN_VERSION
    except PackageNotFoundError:
        return False
