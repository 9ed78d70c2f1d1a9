"""Asks Great Expectations: frames and questions enter, its answers leave. The only module that imports GX to judge rows.

GX runs without a project: no files, no current context, no progress bar. Its engine gets the rows' own session, because a GX data source
would take whichever session is active; and nothing is persisted. One pass gives the counts: with no values asked for
(`partial_unexpected_count` 0) it needs the same Spark jobs as BOOLEAN_ONLY, and no row's value reaches the driver.
"""

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from great_expectations.compatibility.pydantic import ValidationError
from great_expectations.core.expectation_validation_result import ExpectationValidationResult
from great_expectations.data_context.data_context.ephemeral_data_context import EphemeralDataContext
from great_expectations.data_context.types.base import DataContextConfig, InMemoryStoreBackendDefaults, ProgressBarsConfig
from great_expectations.exceptions.exceptions import GreatExpectationsError
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation import ColumnAggregateExpectation
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.registry import get_expectation_impl
from great_expectations.validator.validator import Validator
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from spark_jobs.quality.texts import one_line

# GX logs the exceptions that it puts into its results, and with them values of rows.
logging.getLogger("great_expectations").setLevel(logging.CRITICAL + 1)
# GX takes the median of no rows with numpy, which warns.
warnings.filterwarnings("ignore", category=RuntimeWarning, module="numpy")
COUNTS = {"result_format": "BASIC", "partial_unexpected_count": 0}
UNANSWERABLE = (GreatExpectationsError, PySparkException, Py4JError, ValueError, TypeError, KeyError, AttributeError, AssertionError)
"""What GX lets through for a question that cannot be asked, such as a wrong argument; the rest it puts into its result."""


@dataclass(frozen=True)
class Question:
    """An expectation about the rows of a frame, by GX's type and arguments."""

    rows: DataFrame
    type: str
    kwargs: Mapping[str, Any]


@dataclass(frozen=True)
class Answer:
    """GX's answer: whether it holds, what it found (counts, or an observed value), and why it could not say."""

    is_met: bool
    found: Mapping[str, Any]
    problem: str | None = None


def ask(questions: Sequence[Question]) -> list[Answer]:
    """An answer per question, in their order. The questions about one frame are asked together: they share their Spark jobs."""
    answers: dict[int, Answer] = {}
    for rows in {id(question.rows): question.rows for question in questions}.values():
        places = [place for place, question in enumerate(questions) if question.rows is rows]
        answers |= zip(places, _ask_about(rows, [questions[place] for place in places]), strict=True)
    return [answers[place] for place in range(len(questions))]


def observes_nothing(question: Question) -> bool:
    """Whether a question is about a column as a whole, such as its mean, and there are no rows: then nothing is wrong with them."""
    if not issubclass(get_expectation_impl(question.type), ColumnAggregateExpectation):
        return False
    condition = question.kwargs.get("row_condition")
    return (question.rows.filter(condition["pass_through_filter"]) if condition else question.rows).isEmpty()


def _ask_about(rows: DataFrame, questions: Sequence[Question]) -> list[Answer]:
    """Wrong arguments are answered at once; the rest is asked together."""
    faults = [_fault_in(question) for question in questions]
    answers = iter(_ask_all(rows, [question for question, fault in zip(questions, faults, strict=True) if fault is None]))
    return [next(answers) if fault is None else Answer(False, {}, fault) for fault in faults]


def _ask_all(rows: DataFrame, questions: Sequence[Question]) -> list[Answer]:
    """Together; and those without an answer alone, because one that fails in Spark takes along those it shares a job with."""
    try:
        answers = _ask_together(rows, questions)
    except UNANSWERABLE as error:
        if len(questions) == 1:
            return [Answer(False, {}, one_line(str(error)))]
        return [answer for question in questions for answer in _ask_all(rows, [question])]
    unanswered = [place for place, answer in enumerate(answers) if answer.problem]
    if len(unanswered) > 1:
        for place in unanswered:
            answers[place] = _ask_all(rows, [questions[place]])[0]
    return answers


def _fault_in(question: Question) -> str | None:
    """What is wrong with a question, by GX's own check of its arguments."""
    try:
        _configuration(question).to_domain_obj()
    except ValidationError as error:
        return one_line("; ".join(f"{' '.join(map(str, fault['loc']))}: {fault['msg']}" for fault in error.errors()))
    except UNANSWERABLE as error:
        return one_line(str(error))
    return None


def _ask_together(rows: DataFrame, questions: Sequence[Question]) -> list[Answer]:
    if not questions:
        return []
    engine = SparkDFExecutionEngine(persist=False, spark=rows.sparkSession)
    engine.load_batch_data("rows", rows)
    validator = Validator(execution_engine=engine, data_context=_context())
    asked = [_configuration(question, place) for place, question in enumerate(questions)]
    results = validator.graph_validate(configurations=asked, runtime_configuration={"result_format": dict(COUNTS)})
    # Results with exceptions come first, whatever the order of the questions.
    answers = {result.expectation_config.meta["place"]: _answer(result) for result in results if result.expectation_config}
    return [answers[place] for place in range(len(questions))]


def _configuration(question: Question, place: int = 0) -> ExpectationConfiguration:
    return ExpectationConfiguration(type=question.type, kwargs=dict(question.kwargs), meta={"place": place})


def _answer(result: ExpectationValidationResult) -> Answer:
    message = _exception_in(result.exception_info or {})
    if message is not None:
        return Answer(False, {}, one_line(message))
    return Answer(bool(result.success), result.result or {})


def _exception_in(info: Mapping[str, Any]) -> str | None:
    """The message of an exception: GX gives one, or one for each metric."""
    for part in (info, *info.values()):
        if isinstance(part, Mapping) and part.get("raised_exception"):
            return str(part.get("exception_message") or "it could not be evaluated")
    return None


@cache
def _context() -> EphemeralDataContext:
    """Only there to say that no progress bar is wanted. Made without get_context, which would make it the process's current one."""
    config = DataContextConfig(store_backend_defaults=InMemoryStoreBackendDefaults(), progress_bars=ProgressBarsConfig(globally=False))
    return EphemeralDataContext(project_config=config)
