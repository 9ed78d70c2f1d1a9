"""The gate: Great Expectations' verdict on the rows that are about to be published, one result per rule. It
writes nothing.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median
from typing import Any

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.config.expectations import Rule
from spark_jobs.config.names import check_column, parse_duration
from spark_jobs.lake.queries import refuse_clocks
from spark_jobs.quality.predicates import Bound, read_bound, read_bounds
from spark_jobs.quality.result import RuleResult, observed_text, one_line
from spark_jobs.quality.sql_rules import (
    SQL_TYPE,
    known_table,
    matching_rows,
    rows_of_query,
    rows_without_a_partner,
)
from spark_jobs.quality.validation import Answer, Question, ask

ROWS_OF_OTHER_TABLE = "expect_column_values_to_be_in_other_table"
SUM_OF_OTHER_TABLE = "expect_column_sum_to_equal_other_table"
MATCH_HISTORY = "expect_table_row_count_to_match_history"
RECENT = "expect_column_max_to_be_recent"
COUNTED_BY_SQL = (SQL_TYPE, ROWS_OF_OTHER_TABLE)
"""The types whose observed value is the number of rows that fail."""
HISTORY_BATCHES = 10
CONDITION = ("row_condition", "condition_parser")
BOUND_IN_SPARK = ("expect_column_values_to_be_between",)
BOUND_IN_PYTHON = ("expect_column_max_to_be_between", "expect_column_min_to_be_between")
WITHOUT_CONDITIONS = ("expect_column_pair_values_to_be_in_set",)
"""GX 1.24 passes over the row_condition of these: it lacks among the `condition_domain_keys` of their metric.
They are asked of the rows that meet it; tests/quality/test_same_as_gx.py compares all types so.
"""
NOTHING_TO_COMPARE = Answer(True, {})


@dataclass(frozen=True)
class Surroundings:
    """What rules may look at beside the rows.

    `tables` are pinned frames of the rows' session by full name, as in dimension.customers. `clock` is the
    newest recorded arrival of the pipeline. `history` are the rows that earlier batches of the table
    published, oldest first.
    """

    tables: Mapping[str, DataFrame] = field(default_factory=dict)
    clock: datetime | None = None
    history: Sequence[int] = ()


__all__ = ["Surroundings", "judge"]
NEED_VALUES = (
    "expect_column_distinct_values_to_contain_set",
    "expect_column_distinct_values_to_equal_set",
    "expect_column_unique_value_count_to_be_between",
)


def judge(
    rows: DataFrame,
    rules: Sequence[Rule],
    around: Surroundings,
    table_rows: DataFrame | None = None,
    row_count: int | None = None,
) -> list[RuleResult]:
    """One result per rule, in their order. Rules of scope `table` are judged on `table_rows`, the table as it
    will be.

    The rows are read once and again: persist them first. `row_count` is their number, if it is known.
    """
    frames = {"batch": (rows, row_count), "table": (rows if table_rows is None else table_rows, None)}
    questions = [question_about(frames[rule.scope][0], rule, around) for rule in rules]
    answered = iter(ask([question for question in questions if isinstance(question, Question)]))
    answers = [next(answered) if isinstance(question, Question) else question for question in questions]
    return [_result(rule, answer, frames[rule.scope][1]) for rule, answer in zip(rules, answers, strict=True)]


def _result(rule: Rule, answer: Answer, row_count: int | None) -> RuleResult:
    if answer.problem:
        return RuleResult(rule, is_met=False, problem=answer.problem)
    if "element_count" in answer.found:
        return RuleResult(
            rule, answer.is_met, answer.found["element_count"], answer.found["unexpected_count"]
        )
    if rule.type in COUNTED_BY_SQL:
        return RuleResult(rule, answer.is_met, row_count, answer.found["observed_value"])
    is_met = answer.is_met or (answer.is_of_nothing and not _needs_rows(rule))
    return RuleResult(rule, is_met, observed=observed_text(answer.found))


def _needs_rows(rule: Rule) -> bool:
    """Whether a table without rows does not meet a rule about its values: it has none of those that must be
    there.
    """
    return rule.scope == "table" and rule.type in NEED_VALUES and not rule.kwargs.get("row_condition")


# Rules as questions to Great Expectations, with the values of now: Weir's own types become GX's.


def question_about(rows: DataFrame, rule: Rule, around: Surroundings) -> Question | Answer:
    """The question of a rule, or the answer where none is needed. An argument or a table that is not there,
    or SQL that is none, is the rule's problem alone.
    """
    try:
        return _translated(rows, rule, around)
    except KeyError as error:
        return Answer(False, {}, f"it has no {error.args[0]}")
    except (ValueError, PySparkException) as error:
        return Answer(False, {}, one_line(str(error)))


def _translated(rows: DataFrame, rule: Rule, around: Surroundings) -> Question | Answer:
    if condition := rule.kwargs.get("row_condition"):
        refuse_clocks(rows.filter(condition), condition)
    if rule.type == MATCH_HISTORY:
        return _match_history(rows, rule, around.history)
    if rule.type == RECENT:
        return _recent(rows, rule, around.clock)
    if rule.type == SUM_OF_OTHER_TABLE:
        return _sums_differ(rows, rule, around.tables)
    if rule.type == ROWS_OF_OTHER_TABLE:
        return rows_without_a_partner(rows, rule, around.tables)
    if rule.type == SQL_TYPE:
        return rows_of_query(rows, rule, around.tables)
    if rule.type in WITHOUT_CONDITIONS:
        bare = {name: value for name, value in rule.kwargs.items() if name not in CONDITION}
        return Question(matching_rows(rows, rule), rule.type, bare)
    return Question(rows, rule.type, _gx_arguments(rule))


def _gx_arguments(rule: Rule) -> dict[str, Any]:
    """The arguments in GX's current spelling: a condition as an object, because GX warns about text with a
    condition_parser.

    Bounds that are times say their zone: GX would take the machine's own.
    """
    arguments = {name: value for name, value in rule.kwargs.items() if name not in CONDITION}
    if rule.kwargs.get("row_condition"):
        arguments["row_condition"] = {
            "type": "pass_through",
            "pass_through_filter": rule.kwargs["row_condition"],
        }
    if rule.type in BOUND_IN_SPARK:
        arguments |= read_bounds(arguments)
    if rule.type in BOUND_IN_PYTHON:
        arguments |= {name: _collected(bound) for name, bound in read_bounds(arguments).items()}
    return arguments


def _collected(bound: Bound) -> Bound:
    """A time as collect() gives it: of the machine's own zone, without saying so."""
    return bound.astimezone().replace(tzinfo=None) if isinstance(bound, datetime) else bound


def _match_history(rows: DataFrame, rule: Rule, history: Sequence[int]) -> Question | Answer:
    last = list(history)[-int(rule.kwargs.get("batches", HISTORY_BATCHES)) :]
    usual = median(last) if last else 0
    if not usual:
        return NOTHING_TO_COMPARE
    least, most = rule.kwargs.get("min_ratio"), rule.kwargs.get("max_ratio")
    bounds = {"min_value": math.ceil(usual * least) if least is not None else None}
    bounds |= {"max_value": math.floor(usual * most) if most is not None else None}
    return Question(rows, "expect_table_row_count_to_be_between", bounds)


def _recent(rows: DataFrame, rule: Rule, clock: datetime | None) -> Question | Answer:
    if clock is None:
        return NOTHING_TO_COMPARE
    least = _collected(read_bound(clock - parse_duration(rule.kwargs["max_age"])))
    column = check_column(rule.kwargs["column"])
    newest = matching_rows(rows, rule).select(F.col(column).cast("timestamp").alias(column))
    return Question(newest, "expect_column_max_to_be_between", {"column": column, "min_value": least})


def _sums_differ(rows: DataFrame, rule: Rule, tables: Mapping[str, DataFrame]) -> Question:
    """The difference of the two sums as a table of one row. The sum of no rows is 0."""
    tolerance = abs(float(rule.kwargs.get("tolerance", 0)))
    own = matching_rows(rows, rule).agg(_sum(rule.kwargs["column"]).alias("own"))
    other = tables[known_table(rule.kwargs["other_table"], tables)].agg(
        _sum(rule.kwargs["other_column"]).alias("other")
    )
    both = own.unionByName(other, allowMissingColumns=True)  # two rows, each with its own sum: no join
    difference = both.agg((F.max("own") - F.max("other")).alias("difference"))
    return Question(
        difference,
        "expect_column_max_to_be_between",
        {"column": "difference", "min_value": -tolerance, "max_value": tolerance},
    )


def _sum(column: str) -> Column:
    return F.coalesce(F.sum(F.col(check_column(column))), F.lit(0))
