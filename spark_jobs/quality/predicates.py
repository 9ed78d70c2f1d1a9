"""Row-level rules as predicates of one row: true exactly for the rows that Great Expectations counts as
unexpected, never NULL.

GX's answers on NULL are kept: most types skip a NULL, pairs and lists skip a row by `ignore_row_if`, and a
comparison that gives NULL fails nobody. tests/quality holds both equal for each type. Sums are added with
try_add: no row's value can end a batch, and one that is too large for a decimal fails its rule.
"""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, time
from functools import reduce
from operator import and_, or_
from typing import Any

from pyspark.sql import Column
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule
from spark_jobs.quality.patterns import matches, matches_any

Arguments = Mapping[str, Any]
INTEGERS = ("tinyint", "smallint", "int", "bigint")
SKIPPED_BY_DEFAULT = {"pair": "both_values_are_missing", "list": "all_values_are_missing"}

Bound = float | date | datetime
BOUNDS = ("min_value", "max_value")


def fails(rule: Rule, is_concerned: Column | None = None) -> Column:
    """Whether a row fails the rule. KeyError for a type that is none of one row: see COMPILED.

    `is_concerned` is the answer to its row_condition, where that was asked before.
    """
    is_unexpected = COMPILED[rule.type](rule.kwargs)
    if rule.kwargs.get("row_condition"):
        is_unexpected = (
            F.expr(rule.kwargs["row_condition"]) if is_concerned is None else is_concerned
        ) & is_unexpected
    return F.coalesce(is_unexpected, F.lit(False))


def shown_value(rule: Rule) -> Column:
    """What the rule looked at in a row, as text: NULL where the one column is NULL, the word NULL where one
    of several is.
    """
    values = [F.col(column).cast("string") for column in rule.columns]
    if len(values) == 1:
        return values[0]
    return F.concat_ws(", ", *(F.coalesce(value, F.lit("NULL")) for value in values))


def _is_null(arguments: Arguments) -> Column:
    return _column(arguments).isNull()


def _is_not_null(arguments: Arguments) -> Column:
    return _column(arguments).isNotNull()


def _is_not_in_set(arguments: Arguments) -> Column:
    # NULL in an empty set is NULL or false, as the session's ANSI mode has it.
    return _column(arguments).isNotNull() & ~_column(arguments).isin(list(arguments["value_set"]))


def _is_in_set(arguments: Arguments) -> Column:
    return _column(arguments).isin(list(arguments["value_set"]))


def _is_outside(arguments: Arguments) -> Column:
    return ~_is_within(_column(arguments), read_bounds(arguments), arguments)


def _has_length_outside(arguments: Arguments) -> Column:
    bounds = {name: int(arguments[name]) for name in BOUNDS if arguments.get(name) is not None}
    return ~_is_within(F.length(_column(arguments)), bounds, arguments)


def _has_other_length(arguments: Arguments) -> Column:
    return F.length(_column(arguments)) != F.lit(float(arguments["value"]))


def _does_not_match(arguments: Arguments) -> Column:
    return ~matches(_column(arguments), arguments["regex"])


def _matches(arguments: Arguments) -> Column:
    return matches(_column(arguments), arguments["regex"])


def _does_not_match_list(arguments: Arguments) -> Column:
    column, regexes = _column(arguments), arguments["regex_list"]
    if arguments.get("match_on", "any") == "all":
        return ~reduce(and_, [matches(column, regex) for regex in regexes])
    return ~matches_any(column, regexes)


def _matches_one_of_list(arguments: Arguments) -> Column:
    return reduce(or_, [matches(_column(arguments), regex) for regex in arguments["regex_list"]])


def _pair_differs(arguments: Arguments) -> Column:
    a, b = _pair(arguments)
    return _unless_skipped(arguments, "pair", [a, b], ~a.eqNullSafe(b))


def _pair_is_not_greater(arguments: Arguments) -> Column:
    a, b = _pair(arguments)
    is_greater = (a >= b) | a.eqNullSafe(b) if arguments.get("or_equal") else a > b
    return _unless_skipped(arguments, "pair", [a, b], ~is_greater)


def _pair_is_not_in_set(arguments: Arguments) -> Column:
    a, b = _pair(arguments)
    known = [
        a.eqNullSafe(F.lit(first)) & b.eqNullSafe(F.lit(second))
        for first, second in arguments["value_pairs_set"]
    ]
    return _unless_skipped(arguments, "pair", [a, b], ~reduce(or_, known))


def _sum_differs(arguments: Arguments) -> Column:
    """Integers are added as decimals, as in GX: they cannot overflow. Floats stay what they are."""
    columns, total = _columns(arguments), F.lit(float(arguments["sum_total"]))
    has_integers = reduce(or_, [F.typeof(column).isin(*INTEGERS) for column in columns])
    is_other = F.when(has_integers, _sum(columns, F.lit(0).cast("decimal(1,0)")) != total).otherwise(
        _sum(columns, F.lit(0)) != total
    )
    # No part is NULL: a sum that is has more digits than a decimal can have, and so is another one.
    return _unless_skipped(arguments, "list", columns, F.coalesce(is_other, F.lit(True)))


def _repeats_a_value(arguments: Arguments) -> Column:
    columns = _columns(arguments)
    same = [one.eqNullSafe(other) for place, one in enumerate(columns) for other in columns[place + 1 :]]
    return _unless_skipped(arguments, "list", columns, reduce(or_, same))


COMPILED: dict[str, Callable[[Arguments], Column]] = {
    "expect_column_values_to_not_be_null": _is_null,
    "expect_column_values_to_be_null": _is_not_null,
    "expect_column_values_to_be_in_set": _is_not_in_set,
    "expect_column_values_to_not_be_in_set": _is_in_set,
    "expect_column_values_to_be_between": _is_outside,
    "expect_column_values_to_match_regex": _does_not_match,
    "expect_column_values_to_not_match_regex": _matches,
    "expect_column_values_to_match_regex_list": _does_not_match_list,
    "expect_column_values_to_not_match_regex_list": _matches_one_of_list,
    "expect_column_value_lengths_to_be_between": _has_length_outside,
    "expect_column_value_lengths_to_equal": _has_other_length,
    "expect_column_pair_values_to_be_equal": _pair_differs,
    "expect_column_pair_values_a_to_be_greater_than_b": _pair_is_not_greater,
    "expect_column_pair_values_to_be_in_set": _pair_is_not_in_set,
    "expect_multicolumn_sum_to_equal": _sum_differs,
    "expect_select_column_values_to_be_unique_within_record": _repeats_a_value,
}
"""The types of one row, each with what is true for a row that fails it. NULL counts as false."""


def _column(arguments: Arguments) -> Column:
    return F.col(arguments["column"])


def _pair(arguments: Arguments) -> tuple[Column, Column]:
    return F.col(arguments["column_A"]), F.col(arguments["column_B"])


def _columns(arguments: Arguments) -> list[Column]:
    return [F.col(name) for name in arguments["column_list"]]


def _is_within(value: Column, bounds: Mapping[str, object], arguments: Arguments) -> Column:
    parts = []
    if "min_value" in bounds:
        least = F.lit(bounds["min_value"])
        parts.append(value > least if arguments.get("strict_min") else value >= least)
    if "max_value" in bounds:
        most = F.lit(bounds["max_value"])
        parts.append(value < most if arguments.get("strict_max") else value <= most)
    return reduce(and_, parts)


def _sum(columns: list[Column], zero: Column) -> Column:
    return reduce(F.try_add, [F.coalesce(column, zero) for column in columns])


def _unless_skipped(arguments: Arguments, kind: str, columns: list[Column], is_unexpected: Column) -> Column:
    """False for the rows that `ignore_row_if` leaves out, by GX's default where it is not given."""
    skipped = arguments.get("ignore_row_if", SKIPPED_BY_DEFAULT[kind])
    missing = [column.isNull() for column in columns]
    if skipped in ("both_values_are_missing", "all_values_are_missing"):
        return ~reduce(and_, missing) & is_unexpected
    if skipped in ("either_value_is_missing", "any_value_is_missing"):
        return ~reduce(or_, missing) & is_unexpected
    return is_unexpected


# Arguments as Great Expectations reads them: a bound is a float where it can be one, else a date, else a
# time.
#
# Predicates and GX get the same values from here, so that they cannot differ in them.


def read_bounds(arguments: Mapping[str, Any]) -> dict[str, Bound]:
    """The bounds that are given. A date beside a time is its midnight: GX cannot compare the two."""
    bounds = {name: read_bound(arguments[name]) for name in BOUNDS if arguments.get(name) is not None}
    if any(isinstance(bound, datetime) for bound in bounds.values()):
        return {name: _midnight(bound) for name, bound in bounds.items()}
    return bounds


def _midnight(bound: Bound) -> Bound:
    if isinstance(bound, float | datetime):
        return bound
    return datetime.combine(bound, time(), UTC)


def read_bound(value: object) -> Bound:
    """A number becomes a float, as in GX, whatever the column is. A time without a zone is UTC, not the
    machine's own time.
    """
    if isinstance(value, datetime):
        return value if value.tzinfo else value.replace(tzinfo=UTC)
    if isinstance(value, date):
        return value
    text = str(value)
    try:
        return float(value if isinstance(value, int | float) else text)
    except ValueError:
        pass
    try:
        return date.fromisoformat(text)
    except ValueError:
        return read_bound(datetime.fromisoformat(text))
