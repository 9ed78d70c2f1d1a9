"""Drawn rows and drawn arguments: predicates against Great Expectations' counts. Examples are drawn from a
fixed seed.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from spark_jobs.config.expectations import Rule
from spark_jobs.quality.evaluate import Surroundings, judge
from tests.quality.rules import failing_ids, rule

pytestmark = pytest.mark.spark

COLUMNS = (
    "id int, n bigint, m bigint, price decimal(12,2), ratio double, word string, other string, at timestamp"
)
START = datetime(2024, 1, 1, tzinfo=UTC)
WORDS = ["", "a", "b", "ab", "A", "ä", " a", "a\n", "12"]
numbers = st.integers(-3, 3) | st.sampled_from([2**53 + 1, -(2**63), 2**63 - 1])
prices = st.integers(-300, 300).map(lambda cents: Decimal(cents) / 100)
ratios = st.sampled_from([-1.0, -0.0, 0.0, 0.1, 1.5, float("nan"), float("inf"), float("-inf")])
times = st.integers(-3, 3).map(lambda hours: START + timedelta(hours=hours))
regexes = st.sampled_from(["^a", "b$", "(?i)^a$", "^$", r"\d", "[^a]", "ä|b"])
rows = st.lists(
    st.tuples(
        *(
            st.none() | part
            for part in (
                numbers,
                numbers,
                prices,
                ratios,
                st.sampled_from(WORDS),
                st.sampled_from(WORDS),
                times,
            )
        )
    ),
    max_size=12,
)


@st.composite
def rules(draw: st.DrawFn) -> list[Rule]:
    """One rule of each kind whose arguments decide, with a condition or without."""
    condition = draw(st.sampled_from([{}, {"row_condition": "m >= 0 OR word = 'a'"}]))
    least, most = sorted(draw(st.tuples(st.integers(-3, 3), st.integers(-3, 3))))
    strict = {"strict_min": draw(st.booleans()), "strict_max": draw(st.booleans())}
    column = draw(st.sampled_from(["n", "price", "ratio"]))
    since, until = sorted(draw(st.tuples(times, times)))
    words, skip = (
        draw(st.lists(st.sampled_from(WORDS), max_size=3)),
        draw(st.sampled_from(["both_values_are_missing", "either_value_is_missing", "neither"])),
    )
    listed = draw(st.sampled_from(["all_values_are_missing", "any_value_is_missing", "never"]))
    pair = {
        "column_A": "n",
        "column_B": draw(st.sampled_from(["m", "price", "ratio"])),
        "ignore_row_if": skip,
    }
    names = draw(st.lists(st.sampled_from(["n", "m", "price", "ratio"]), min_size=2, max_size=4, unique=True))
    several = draw(st.lists(regexes, min_size=1, max_size=3))
    return [
        rule(
            "expect_column_values_to_be_between",
            column=column,
            min_value=least,
            max_value=most,
            **strict,
            **condition,
        ),
        rule(
            "expect_column_values_to_be_between",
            column="at",
            min_value=since.isoformat(),
            max_value=until.isoformat(),
            **strict,
        ),
        rule("expect_column_values_to_be_in_set", column="word", value_set=words),
        rule("expect_column_values_to_not_be_in_set", column=column, value_set=[least, most], **condition),
        rule("expect_column_values_to_match_regex", column="word", regex=draw(regexes)),
        rule(
            "expect_column_values_to_match_regex_list",
            column="word",
            regex_list=several,
            match_on=draw(st.sampled_from(["any", "all"])),
        ),
        rule("expect_column_values_to_not_match_regex_list", column="word", regex_list=several),
        rule(
            "expect_column_value_lengths_to_be_between",
            column="word",
            min_value=abs(least),
            max_value=abs(least) + 1,
            **strict,
        ),
        rule("expect_column_pair_values_to_be_equal", **pair),
        rule(
            "expect_column_pair_values_a_to_be_greater_than_b",
            or_equal=draw(st.booleans()),
            **pair,
            **condition,
        ),
        rule(
            "expect_column_pair_values_to_be_in_set",
            column_A="word",
            column_B="other",
            value_pairs_set=[["a", None], ["b", "b"]],
            ignore_row_if=skip,
            **condition,
        ),
        rule("expect_multicolumn_sum_to_equal", column_list=names, sum_total=least, ignore_row_if=listed),
        rule(
            "expect_select_column_values_to_be_unique_within_record", column_list=names, ignore_row_if=listed
        ),
    ]


@settings(
    max_examples=4,
    deadline=None,
    derandomize=True,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)
@given(rows=rows, asked=rules())
def test_a_predicate_fails_as_many_rows_as_gx_counts(
    rows: list[tuple[object, ...]], asked: list[Rule], lenient: SparkSession
) -> None:
    drawn = lenient.createDataFrame([(number, *row) for number, row in enumerate(rows)], COLUMNS)

    failing, results = failing_ids(drawn, asked), judge(drawn, asked, Surroundings())

    told = [f"{rule.type} {dict(rule.kwargs)}" for rule in asked]
    assert dict(zip(told, map(len, failing), strict=True)) == {
        name: result.failed or 0 for name, result in zip(told, results, strict=True)
    }
    assert [result.problem for result in results] == [None] * len(asked)
