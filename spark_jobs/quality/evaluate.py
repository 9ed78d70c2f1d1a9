"""The gate: Great Expectations' verdict on the rows that are about to be published, one result per rule. It
writes nothing.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from spark_jobs.config.expectations import Rule
from spark_jobs.quality.questions import COUNTED_BY_SQL, Surroundings, question_about
from spark_jobs.quality.result import RuleResult
from spark_jobs.quality.texts import observed_text
from spark_jobs.quality.validation import Answer, Question, ask

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
