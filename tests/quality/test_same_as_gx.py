"""Answers from aggregates against Great Expectations' own engine, for every type, and how many questions to
Spark they cost.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest
from great_expectations.execution_engine.sparkdf_execution_engine import SparkDFExecutionEngine
from great_expectations.expectations.expectation_configuration import ExpectationConfiguration
from great_expectations.expectations.registry import get_expectation_impl
from great_expectations.validator.validator import Validator
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.quality.check import usable_types
from spark_jobs.quality.evaluate import Surroundings, judge
from spark_jobs.quality.result import RuleResult
from spark_jobs.quality.validation import Question, ask
from tests.lake.questions import counting
from tests.quality.every_type import CASES, first_of_every_type, questions_of_every_type
from tests.quality.rules import rule

pytestmark = [
    pytest.mark.spark,
    pytest.mark.filterwarnings("ignore::RuntimeWarning"),  # numpy's, for means of nothing
]
Said = tuple[bool | None, str | None]
"""Whether an expectation holds and what was found, as text because of NaN; None where it
could not be judged.
"""


def test_answers_are_those_of_gx_own_engine(edges: DataFrame) -> None:
    """NULLs, NaN and edges of every type."""
    _hold_equal(edges, first_of_every_type)


@pytest.mark.system  # takes minutes, most of them GX's
def test_answers_to_every_question_are_those_of_gx_own_engine(edges: DataFrame) -> None:
    """In several partitions."""
    _hold_equal(edges.repartition(3, "id"), questions_of_every_type)


def test_answers_about_no_rows_are_those_of_gx_own_engine(edges: DataFrame) -> None:
    _hold_equal(edges.limit(0), first_of_every_type)


def test_answers_about_nulls_alone_are_those_of_gx_own_engine(edges: DataFrame) -> None:
    nulls = [F.lit(None).cast(kind).alias(name) for name, kind in edges.dtypes[1:]]
    _hold_equal(edges.select("id", *nulls), first_of_every_type)


def test_answers_with_ansi_on_are_those_of_gx_own_engine(strict_edges: DataFrame) -> None:
    _hold_equal(strict_edges, first_of_every_type)


def test_every_type_is_compared() -> None:
    assert set(CASES) == set(usable_types())


def _hold_equal(frame: DataFrame, ask_about: Callable[[DataFrame], list[Question]]) -> None:
    rows = frame.localCheckpoint()
    questions = ask_about(rows)

    answers = [
        (None, None) if answer.problem else (answer.is_met, repr(answer.found)) for answer in ask(questions)
    ]

    asked = [f"{question.type} {question.kwargs}" for question in questions]
    assert dict(zip(asked, answers, strict=True)) == dict(
        zip(asked, _said_by_gx(rows, questions), strict=True)
    )


def _said_by_gx(rows: DataFrame, questions: Sequence[Question]) -> list[Said]:
    """Those that GX cannot judge are asked again, alone: one can take along others."""
    said = _ask_gx(rows, questions)
    return [
        one if one[0] is not None else _ask_gx(rows, [question])[0]
        for one, question in zip(said, questions, strict=True)
    ]


def _ask_gx(rows: DataFrame, questions: Sequence[Question]) -> list[Said]:
    engine = SparkDFExecutionEngine(persist=False, spark=rows.sparkSession)
    engine.load_batch_data("rows", rows)
    asked = [
        ExpectationConfiguration(type=one.type, kwargs=dict(one.kwargs), meta={"place": n})
        for n, one in enumerate(questions)
    ]
    counts = {"result_format": {"result_format": "BASIC", "partial_unexpected_count": 0}}
    before = _views(rows.sparkSession)
    results = Validator(execution_engine=engine).graph_validate(asked, counts)
    # by GX, for queries; other tests of this session list its views
    for left in _views(rows.sparkSession) - before:
        rows.sparkSession.catalog.dropTempView(left)
    said: dict[int, Said] = {}
    for result in results:
        assert result.expectation_config
        exceptions = result.exception_info or {}  # one, or one for each metric
        is_judged = not any(
            isinstance(part, Mapping) and part.get("raised_exception")
            for part in (exceptions, *exceptions.values())
        )
        said[result.expectation_config.meta["place"]] = (
            (bool(result.success), repr(result.result)) if is_judged else (None, None)
        )
    return [said[place] for place in range(len(questions))]


def _views(session: SparkSession) -> set[str]:
    return {row["viewName"] for row in session.sql("SHOW VIEWS").collect()}


def test_a_condition_leaves_the_other_rows_out_of_every_type(edges: DataFrame) -> None:
    """GX itself passes over the condition of some of its types."""
    first = {
        gx_type: cases[0]
        for gx_type, cases in CASES.items()
        if "row_condition" in get_expectation_impl(gx_type).__fields__
    }
    bare = [rule(gx_type, **kwargs) for gx_type, kwargs in first.items() if "row_condition" not in kwargs]
    asked = [rule(one.type, **one.kwargs, **SOME_ROWS) for one in bare]

    answers, expected = (
        judge(edges, asked, Surroundings()),
        judge(edges.filter(SOME_ROWS["row_condition"]), bare, Surroundings()),
    )

    assert len(bare) > 40
    assert {one.rule.type: _told(one) for one in answers} == {one.rule.type: _told(one) for one in expected}


def _told(result: RuleResult) -> tuple[Any, ...]:
    return result.is_met, result.rows, result.failed, result.observed, result.problem


SOME_ROWS = {"row_condition": "m > 5 AND word LIKE 'a%'", "condition_parser": "spark"}
ABOVE = {"row_condition": "n > 5", "condition_parser": "spark"}
MANY = [
    *(rule("expect_column_values_to_not_be_null", column=name) for name in ("n", "m", "word")),
    rule("expect_column_values_to_be_between", column="price", min_value=0, **ABOVE),
    rule("expect_column_values_to_be_in_set", column="word", value_set=["abc"], mostly=0.5),
    rule("expect_column_values_to_match_regex", column="word", regex="^a"),
    rule("expect_column_value_lengths_to_be_between", column="word", max_value=9, **ABOVE),
    rule("expect_column_pair_values_a_to_be_greater_than_b", column_A="n", column_B="m"),
    rule("expect_multicolumn_sum_to_equal", column_list=["n", "m"], sum_total=10),
    rule("expect_column_mean_to_be_between", column="price", min_value=0),
    rule("expect_column_max_to_be_between", column="n", min_value=0, **ABOVE),
    rule("expect_column_median_to_be_between", column="n", min_value=0),
    rule("expect_column_proportion_of_unique_values_to_be_between", column="word", min_value=0),
    rule("expect_column_distinct_values_to_equal_set", column="flag", value_set=[True, False]),
    rule("expect_column_values_to_be_unique", column="id"),
    rule("expect_compound_columns_to_be_unique", column_list=["id", "n"]),
    rule("expect_column_values_to_be_of_type", column="n", type_="LongType"),
    rule(
        "expect_column_values_to_be_in_other_table", column="n", other_table="silver.other", other_column="m"
    ),
    rule("expect_column_sum_to_equal_other_table", column="n", other_table="silver.other", other_column="m"),
    rule("expect_column_values_to_be_unique", "table", column="id"),
    rule("expect_table_row_count_to_be_between", "table", min_value=1),
]


def test_a_gate_is_one_question_to_spark_however_many_rules_it_has(edges: DataFrame) -> None:
    around, table = Surroundings({"silver.other": edges.select("m")}), edges.filter("id > 3")

    with counting(edges.sparkSession) as asked:
        results = judge(edges, MANY, around, table, 26)

    assert asked.executions == 1
    assert [result.problem for result in results] == [None] * len(MANY)


def test_a_query_of_the_user_costs_no_more_than_its_views(edges: DataFrame) -> None:
    query = rule(
        "unexpected_rows_expectation",
        unexpected_rows_query="SELECT * FROM {batch} b JOIN silver.other o ON b.n = o.m",
    )

    with counting(edges.sparkSession) as asked:
        results = judge(edges, [*MANY, query], Surroundings({"silver.other": edges.select("m")}), edges, 26)

    assert asked.executions == 3
    assert (results[-1].problem, results[-1].is_met) == (None, False)


def test_a_rule_that_fails_in_spark_leaves_the_others_their_answers(
    strict: SparkSession, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    rows = strict.createDataFrame([("secret", 1), ("12", None)], "word string, n int")
    asked = [
        rule("expect_column_values_to_not_be_null", column="n"),
        rule(
            "expect_column_mean_to_be_between", column="n", min_value=0, row_condition="CAST(word AS INT) > 5"
        ),
        rule("expect_column_mean_to_be_between", column="n", min_value=0, row_condition="nowhere > 5"),
        rule("expect_column_values_to_be_unique", column="word"),
        rule("expect_column_sum_to_be_between", column="n", max_value=1),
    ]

    with caplog.at_level(logging.DEBUG):
        results = judge(rows, asked, Surroundings())

    assert [(result.is_met, result.rows, result.failed) for result in results if result.problem is None] == [
        (False, 2, 1),
        (True, 2, 0),
        (True, None, None),
    ]
    assert results[1].problem == "Spark: CAST_INVALID_INPUT"
    assert "UNRESOLVED_COLUMN" in str(results[2].problem)
    assert "secret" not in caplog.text
    assert "secret" not in "".join(capfd.readouterr())
