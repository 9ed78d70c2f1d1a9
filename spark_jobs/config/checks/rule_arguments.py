"""Checks of the values in expectations against the types of the columns that they are compared with: bounds,
sets and patterns.
"""

import re
import sys
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, Literal

from spark_jobs.config.checks.columns import Path
from spark_jobs.config.checks.json_schemas import judge_json_schema
from spark_jobs.config.checks.sql import Columns
from spark_jobs.config.columns import ANY
from spark_jobs.config.expectations import Rule
from spark_jobs.config.names import shorten
from spark_jobs.config.regexes import judge_regex
from spark_jobs.config.types import is_complex
from spark_jobs.config.validation import Report

# What a value in an expectation can be compared with: columns of numbers, text, times or truth, and whole
# counts.

Kind = Literal["number", "count", "text", "time", "truth", "nested", "any"]
TIME = re.compile(r"\d{4}-\d{2}-\d{2}([T ]\d{2}:\d{2}(:\d{2}(\.\d{1,6})?)?(Z|[+-]\d{2}:\d{2})?)?")
BY_TYPE: dict[str, Kind] = {
    "string": "text",
    "date": "time",
    "timestamp": "time",
    "boolean": "truth",
    ANY: "any",
}
EXPECTED: dict[Kind, tuple[str, str]] = {
    "number": ("is not a number", "write a number without quotes"),
    "count": ("is not a whole number of 0 or more", "write digits without quotes"),
    "text": ("is not text", "put it in quotes"),
    "time": ("is not a date or time", "write it as in '2024-01-31' or '2024-01-31T12:00:00Z'"),
    "truth": ("is neither true nor false", "write true or false"),
}


def kind_of(spark_type: str) -> Kind:
    return "nested" if is_complex(spark_type) else BY_TYPE.get(spark_type, "number")


def explain_misfit(value: Any, kind: Kind) -> tuple[str, str] | None:
    """Why a value cannot be compared with such a column: message and hint."""
    if value is None:
        return (
            "NULL equals nothing",
            "leave it out: NULLs pass; to refuse them use expect_column_values_to_not_be_null",
        )
    if kind == "nested" or isinstance(value, list | dict):
        return (
            f"{shorten(value)} is compared with a whole value",
            "compare columns and values of simple types",
        )
    if kind == "any" or _is(value, kind):
        return None
    message, hint = EXPECTED[kind]
    return f"{shorten(value)} {message}", hint


def as_comparable(value: Any) -> float | datetime | None:
    """A bound as a number or as a time; None for what is neither."""
    if _is_number(value):
        return float(value)
    return parse_time(value) if isinstance(value, str) else None


def parse_time(text: str) -> datetime | None:
    """A time in ISO form; without a zone it is UTC, as all times of the tables are."""
    if TIME.fullmatch(text) is None:
        return None
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return None
    return time if time.tzinfo else time.replace(tzinfo=UTC)


def _is(value: Any, kind: Kind) -> bool:
    if kind == "number":
        return _is_number(value)
    if kind == "count":
        return _is_number(value) and value >= 0 and value == int(value)
    if kind == "time":
        return isinstance(value, str) and parse_time(value) is not None
    return isinstance(value, bool) if kind == "truth" else isinstance(value, str)


def _is_number(value: Any) -> bool:
    """One that a double can hold: what does not fit is a typing mistake, and cannot be compared."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


ORDERED = (
    "expect_column_values_to_be_between",
    "expect_column_max_to_be_between",
    "expect_column_min_to_be_between",
)
WITHIN_RECORD = "expect_select_column_values_to_be_unique_within_record"
IGNORED_ROWS = ("all_values_are_missing", "any_value_is_missing", "never")
ALIKE = (
    "expect_column_pair_values_to_be_equal",
    "expect_column_pair_values_a_to_be_greater_than_b",
    "expect_multicolumn_values_to_be_equal",
    WITHIN_RECORD,
)
# Types that can be asked of columns of one kind only.
ASKED_OF: dict[str, Kind] = {
    "expect_column_max_to_be_recent": "time",
    "expect_column_mean_to_be_between": "number",
    "expect_column_median_to_be_between": "number",
    "expect_column_quantile_values_to_be_between": "number",
    "expect_column_stdev_to_be_between": "number",
    "expect_column_sum_to_be_between": "number",
    "expect_column_sum_to_equal_other_table": "number",
    "expect_column_value_lengths_to_be_between": "text",
    "expect_column_value_lengths_to_equal": "text",
    "expect_column_value_z_scores_to_be_less_than": "number",
    "expect_column_values_to_be_json_parseable": "text",
    "expect_column_values_to_match_json_schema": "text",
    "expect_column_values_to_match_regex": "text",
    "expect_column_values_to_match_regex_list": "text",
    "expect_column_values_to_match_strftime_format": "text",
    "expect_column_values_to_not_be_outliers": "number",
    "expect_column_values_to_not_match_regex": "text",
    "expect_column_values_to_not_match_regex_list": "text",
    "expect_multicolumn_sum_to_equal": "number",
}
LISTS = ("column_list", "column_set", "regex_list", "value_pairs_set", "value_set")
# Arguments that are mappings; elsewhere GX takes one for a parameter of the whole suite.
MAPPINGS = ("json_schema", "partition_object", "quantile_ranges", "row_condition")
COUNTS = ("_lengths_to_", "_count_to_")


def check_arguments(rule: Rule, columns: Columns, path: Path, report: Report) -> None:
    """`columns` are those with known types; where one is not among them, its values are taken as they are."""
    below = (*path, "kwargs")
    kinds = {name: kind_of(columns[name]) for name in rule.columns if name in columns}
    for message, hint in _judge_kinds(rule, kinds, columns):
        report.add(below, rule.columns, message, hint)
    for key, value, kind in _compared(rule, kinds):
        misfit = explain_misfit(value, kind)
        if misfit is not None:
            report.add((*below, *key), value, *misfit)
    _check_bounds(rule, below, report)
    _check_patterns(rule, below, report)
    for name, given in rule.kwargs.items():
        if isinstance(given, Mapping) and name not in MAPPINGS:
            report.add(
                (*below, name),
                given,
                "a mapping stands for a value that nobody gives",
                "write the value itself",
            )
        elif name in LISTS and given == []:
            report.add(
                (*below, name),
                given,
                "the list is empty, so that nothing can hold or fail",
                "name at least one",
            )
    if rule.type == WITHIN_RECORD:
        _check_within_record(rule, below, report)


def _check_patterns(rule: Rule, below: Path, report: Report) -> None:
    for key, pattern in _patterns(rule):
        wrong = judge_regex(pattern)
        if wrong is not None:
            report.add((*below, *key), pattern, f"{shorten(pattern)} cannot be used: {wrong[0]}", wrong[1])
    for key, value, message, hint in judge_json_schema(rule.kwargs.get("json_schema")):
        report.add((*below, *key), value, message, hint)


def _check_within_record(rule: Rule, below: Path, report: Report) -> None:
    """What Great Expectations takes without a word and then fails on, or does not heed."""
    if len(_list(rule, "column_list")) == 1:
        report.add(
            (*below, "column_list"),
            rule.kwargs["column_list"],
            "one column cannot repeat a value of another",
            "name at least two",
        )
    if "ignore_row_if" in rule.kwargs:
        report.require(
            (*below, "ignore_row_if"), str(rule.kwargs["ignore_row_if"]), list(IGNORED_ROWS), "choice called"
        )


def _judge_kinds(rule: Rule, kinds: Mapping[str, Kind], columns: Columns) -> Iterator[tuple[str, str]]:
    """Whether the expectation can be asked of columns of these types."""
    if rule.type in ALIKE and len({kind for kind in kinds.values() if kind != "any"}) > 1:
        listed = ", ".join(f"{name} ({columns[name]})" for name in kinds)
        yield f"{listed} cannot be compared with one another", "name columns of one kind"
    needed = ASKED_OF.get(rule.type)
    for name, kind in kinds.items():
        if needed is not None and kind not in (needed, "any"):
            yield (
                f"{rule.type} is about {needed}s, but the column {name!r} is {columns[name]}",
                f"name a {needed} column",
            )
        elif rule.type in ORDERED and kind not in ("number", "time", "any"):
            hint = "use expect_column_values_to_be_in_set or expect_column_values_to_match_regex"
            yield f"the column {name!r} is {columns[name]}, which has no bounds", hint


def _compared(rule: Rule, kinds: Mapping[str, Kind]) -> Iterator[tuple[Path, Any, Kind]]:
    """Each value that is compared with a column, a count or a share: its place, the value, and the kind that
    it must be.
    """
    of_column: Kind = next(iter(kinds.values()), "any")
    if rule.type in ORDERED:
        of_bounds: Kind = of_column if of_column in ("number", "time") else "any"
    else:
        of_bounds = "count" if any(mark in rule.type for mark in COUNTS) else "number"
    for key in ("min_value", "max_value", "value", "sum_total"):
        if rule.kwargs.get(key) is not None and not isinstance(rule.kwargs[key], Mapping):
            # 'now' would be a time of the day on which it is read
            is_text = of_bounds == "any" and isinstance(rule.kwargs[key], str)
            yield (key,), rule.kwargs[key], "time" if is_text else of_bounds
    for index, value in enumerate(_list(rule, "value_set")):
        yield ("value_set", index), value, of_column
    pair = [kinds.get(str(rule.kwargs.get(key)), "any") for key in ("column_A", "column_B")]
    for index, values in enumerate(_list(rule, "value_pairs_set")):
        if isinstance(values, list) and len(values) == 2:
            yield from (
                (("value_pairs_set", index), value, kind)
                for value, kind in zip(values, pair, strict=True)
                if value is not None
            )


def _check_bounds(rule: Rule, below: Path, report: Report) -> None:
    """A rule without bounds asks nothing, and one whose bounds exclude one another can never hold."""
    low, high = rule.kwargs.get("min_value"), rule.kwargs.get("max_value")
    if rule.type.endswith("_to_be_between") and "quantile" not in rule.type and low is None and high is None:
        report.add(
            below, dict(rule.kwargs), "neither min_value nor max_value is given", "add at least one of them"
        )
    first, last = as_comparable(low), as_comparable(high)
    if first is None or last is None or isinstance(first, float) != isinstance(last, float):
        return
    is_strict = bool(rule.kwargs.get("strict_min") or rule.kwargs.get("strict_max"))
    if first > last or (first == last and is_strict):  # type: ignore[operator]  # both are numbers, or both are times
        report.add(
            (*below, "min_value"),
            low,
            f"nothing lies between min_value ({low}) and max_value ({high})",
            "exchange or widen them",
        )


def _patterns(rule: Rule) -> Iterator[tuple[Path, str]]:
    if isinstance(rule.kwargs.get("regex"), str):
        yield ("regex",), rule.kwargs["regex"]
    yield from (
        (("regex_list", index), pattern)
        for index, pattern in enumerate(_list(rule, "regex_list"))
        if isinstance(pattern, str)
    )


def _list(rule: Rule, key: str) -> list[Any]:
    value = rule.kwargs.get(key)
    return value if isinstance(value, list) else []
