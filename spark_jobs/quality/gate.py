"""The gate: Great Expectations' verdict on the rows that are about to be published, one result per rule. It writes nothing."""

from collections.abc import Sequence

from pyspark.sql import DataFrame

from spark_jobs.config.expectations import Rule
from spark_jobs.quality.questions import COUNTED_BY_SQL, Surroundings, questions_about
from spark_jobs.quality.result import RuleResult
from spark_jobs.quality.texts import observed_text
from spark_jobs.quality.validation import Answer, Question, ask, observes_nothing

__all__ = ["Surroundings", "judge"]


def judge(
    rows: DataFrame, rules: Sequence[Rule], around: Surroundings, table_rows: DataFrame | None = None, row_count: int | None = None
) -> list[RuleResult]:
    """One result per rule, in their order. Rules of scope `table` are judged on `table_rows`, the table as it will be.

    The rows are read once and again: persist them first. `row_count` is their number, if it is known.
    """
    judged: dict[int, RuleResult] = {}
    for scope, frame, count in (("batch", rows, row_count), ("table", rows if table_rows is None else table_rows, None)):
        places = [place for place, rule in enumerate(rules) if rule.scope == scope]
        judged |= zip(places, _judge_frame(frame, [rules[place] for place in places], around, count), strict=True)
    return [judged[place] for place in range(len(rules))]


def _judge_frame(rows: DataFrame, rules: Sequence[Rule], around: Surroundings, row_count: int | None) -> list[RuleResult]:
    with questions_about(rows, rules, around) as questions:
        answered = iter(ask([question for question in questions if isinstance(question, Question)]))
        answers = [next(answered) if isinstance(question, Question) else question for question in questions]
    return [_result(rule, question, answer, row_count) for rule, question, answer in zip(rules, questions, answers, strict=True)]


def _result(rule: Rule, question: Question | Answer, answer: Answer, row_count: int | None) -> RuleResult:
    if answer.problem:
        return RuleResult(rule, is_met=False, problem=answer.problem)
    if "element_count" in answer.found:
        return RuleResult(rule, answer.is_met, answer.found["element_count"], answer.found["unexpected_count"])
    if rule.type in COUNTED_BY_SQL:
        return RuleResult(rule, answer.is_met, row_count, answer.found["observed_value"])
    is_met = answer.is_met or (isinstance(question, Question) and observes_nothing(question))
    return RuleResult(rule, is_met, observed=observed_text(answer.found))
