"""Asks Great Expectations: frames and questions enter, its answers leave.

GX runs without a project: no files, no context, no progress bar. Its expectations say which metrics they need
and judge by them; the metrics are found by metrics.py, for all questions together. No values are asked for
(`partial_unexpected_count` 0), so none is shown.
"""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_, or_
from typing import Any

import pyarrow as pa
from great_expectations.compatibility.pydantic import ValidationError
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import ColumnAggregateExpectation, Expectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_json_schema import (
    ColumnValuesMatchJsonSchema,
)
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_regex import (
    ColumnValuesMatchRegex,
)
from great_expectations.expectations.metrics.column_map_metrics.column_values_match_regex_list import (
    ColumnValuesMatchRegexList,
)
from great_expectations.expectations.metrics.column_map_metrics.column_values_not_match_regex import (
    ColumnValuesNotMatchRegex,
)
from great_expectations.expectations.metrics.column_map_metrics.column_values_not_match_regex_list import (
    ColumnValuesNotMatchRegexList,
)
from great_expectations.expectations.metrics.map_metric_provider.column_condition_partial import (
    column_condition_partial,
)
from great_expectations.util import convert_to_json_serializable
from great_expectations.validator.metric_configuration import MetricConfiguration
from great_expectations.validator.validator import ValidationDependencies
from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from spark_jobs.quality.aggregates import ROW_COUNT, Judged
from spark_jobs.quality.json_schema import schema_matcher
from spark_jobs.quality.metrics import COUNTS, UNANSWERABLE, FrameMetrics, resolve
from spark_jobs.quality.patterns import matches, matches_any
from spark_jobs.quality.result import one_line

# Lets Great Expectations judge patterns by the function of Weir's own predicates: its own is Java's engine,
# which a long value can end. GX takes the metric that was registered last for a name and an engine; to
# declare one is to register it.

# it warns of what is declared again
logging.getLogger("great_expectations.expectations.registry").setLevel(logging.ERROR)


class MatchesRegex(ColumnValuesMatchRegex):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return matches(column, regex)


class MatchesNoRegex(ColumnValuesNotMatchRegex):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex: str, **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return ~matches(column, regex)


class MatchesRegexList(ColumnValuesMatchRegexList):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex_list: list[str], match_on: str, **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return (
            reduce(and_, [matches(column, regex) for regex in regex_list])
            if match_on == "all"
            else matches_any(column, regex_list)
        )


class MatchesNoRegexOfList(ColumnValuesNotMatchRegexList):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, regex_list: list[str], **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        return ~reduce(or_, [matches(column, regex) for regex in regex_list])


class MatchesJsonSchema(ColumnValuesMatchJsonSchema):
    @column_condition_partial(engine=SparkDFExecutionEngine)
    def _spark(cls, column: Column, json_schema: Mapping[str, Any], **_: Any) -> Column:  # noqa: N805 - GX makes a class method of it
        schema = convert_to_json_serializable(dict(json_schema))
        schema_matcher(schema)  # what is no schema is told before a row is asked

        def match(texts: pa.Array) -> pa.Array:
            return pa.array(map(schema_matcher(schema), texts.to_pylist()), pa.bool_())

        matched: Column = F.arrow_udf(match, "boolean")(column)  # type: ignore[attr-defined]
        return matched


# GX logs the exceptions that it puts into its results, and with them values of rows.
logging.getLogger("great_expectations").setLevel(logging.CRITICAL + 1)
# PySpark logs the errors of queries that it raises as well, with the value that they failed on.
for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
    PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)
# GX takes the median of no rows with numpy, which warns.
warnings.filterwarnings("ignore", category=RuntimeWarning, module="numpy")


@dataclass(frozen=True)
class Question:
    """An expectation about the rows of a frame, by GX's type and arguments."""

    rows: DataFrame
    type: str
    kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """GX's answer: whether it holds, what it found (counts, or an observed value), and why it could not say.

    `is_of_nothing` where the question is about a column as a whole, such as its mean, and there are no rows.
    """

    is_met: bool
    found: Mapping[str, Any]
    problem: str | None = None
    is_of_nothing: bool = False


@dataclass(frozen=True)
class Asked:
    """A question as GX understands it: the expectation, and the metrics that it judges by."""

    expectation: Expectation
    needs: ValidationDependencies
    metrics: FrameMetrics
    row_count: MetricConfiguration | None

    def answer(self) -> Answer:
        """GX's, from the metrics; or why they could not be found."""
        for metric in self.needs.get_metric_configurations():
            if problem := self.metrics.problem_with(metric):
                return Answer(False, {}, one_line(problem))
        try:
            given = {
                name: self.metrics.values[metric.id]
                for name, metric in self.needs.metric_configurations.items()
            }
            said = self.expectation._validate(
                metrics=given,
                runtime_configuration={"result_format": self.needs.result_format},
                execution_engine=self.metrics.engine,
            )
            result = ExpectationValidationResult(**said)  # GX refuses counts that cannot be
        except UNANSWERABLE as error:
            return Answer(False, {}, one_line(str(error)))
        is_of_nothing = self.row_count is not None and self.metrics.values.get(self.row_count.id) == 0
        return Answer(bool(result.success), result.result or {}, is_of_nothing=is_of_nothing)


def ask(questions: Sequence[Question]) -> list[Answer]:
    """An answer per question, in their order. All are asked together: what they need is one question to
    Spark.
    """
    frames = {id(question.rows): question.rows for question in questions}
    metrics = {key: FrameMetrics(Judged(rows)) for key, rows in frames.items()}
    asked = [_understand(question, metrics[id(question.rows)]) for question in questions]
    resolve(list(metrics.values()))
    return [one.answer() if isinstance(one, Asked) else one for one in asked]


def _understand(question: Question, metrics: FrameMetrics) -> Asked | Answer:
    """What GX needs for a question. Its own check of the arguments may refuse it."""
    try:
        expectation = ExpectationConfiguration(
            type=question.type, kwargs=dict(question.kwargs)
        ).to_domain_obj()
        needs = expectation.get_validation_dependencies(metrics.engine, {"result_format": dict(COUNTS)})
        for metric in needs.get_metric_configurations():
            metrics.need(metric)
    except ValidationError as error:
        faults = [f"{' '.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()]
        return Answer(False, {}, one_line("; ".join(faults)))
    except UNANSWERABLE as error:
        return Answer(False, {}, one_line(str(error)))
    return Asked(
        expectation,
        needs,
        metrics,
        _row_count(needs, metrics) if isinstance(expectation, ColumnAggregateExpectation) else None,
    )


def _row_count(needs: ValidationDependencies, metrics: FrameMetrics) -> MetricConfiguration:
    """The number of rows that a question is about. GX needs it for nearly all questions about a column, so it
    costs nothing.
    """
    domain = needs.get_metric_configurations()[0].metric_domain_kwargs
    count = MetricConfiguration(
        ROW_COUNT, {name: value for name, value in domain.items() if name != "column"}
    )
    metrics.need(count)
    return count
