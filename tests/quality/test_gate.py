"""Great Expectations' verdict: what each kind of rule gives, what it costs, and that nothing of it stays
behind.
"""

import time
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

from spark_jobs.config.expectations import Rule
from spark_jobs.quality.evaluate import Surroundings, judge
from spark_jobs.quality.result import RuleResult
from tests.quality.rules import rule

pytestmark = pytest.mark.spark

ORDERS = "order_id bigint, customer_id bigint, city string, amount decimal(12,2), ordered_at timestamp"
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)
ROWS = [
    (1, 10, "Bern", Decimal("5.00"), NOON),
    (2, 11, "Bern", Decimal("7.00"), NOON),
    (2, 99, "Genf", Decimal("9.00"), datetime(2024, 5, 1, 6, tzinfo=UTC)),
    (3, None, None, None, None),
]
ABOVE_SIX = {"row_condition": "amount > 6", "condition_parser": "spark"}
ASKED = {
    "filled": rule("expect_column_values_to_not_be_null", column="city"),
    "mostly": rule("expect_column_values_to_not_be_null", column="city", mostly=0.7),
    "of_some": rule("expect_column_values_to_be_in_set", column="city", value_set=["Bern"], **ABOVE_SIX),
    "one_each": rule("expect_column_values_to_be_unique", column="order_id"),
    "one_pair": rule("expect_compound_columns_to_be_unique", column_list=["order_id", "customer_id"]),
    "mean": rule("expect_column_mean_to_be_between", column="amount", min_value=7, max_value=7),
    "sum": rule("expect_column_sum_to_be_between", column="amount", max_value=20),
    "newest": rule(
        "expect_column_max_to_be_between",
        column="ordered_at",
        min_value="2024-05-01 11:59:00",
        max_value="2024-05-01 12:00:00",
    ),
    "oldest": rule("expect_column_min_to_be_between", column="ordered_at", min_value="2024-05-01 06:00:01"),
    "median": rule("expect_column_median_to_be_between", column="amount", min_value=7, max_value=7),
    "cities": rule(
        "expect_column_distinct_values_to_equal_set", column="city", value_set=["Bern", "Genf", "Basel"]
    ),
    "count": rule("expect_table_row_count_to_equal", value=4),
    "type": rule("expect_column_values_to_be_of_type", column="amount", type_="DecimalType"),
    "schema": rule("expect_table_columns_to_match_set", column_set=["order_id", "city"], exact_match=False),
    "usual": rule("expect_table_row_count_to_match_history", min_ratio=0.5, max_ratio=1.5),
    "growing": rule("expect_table_row_count_to_match_history", min_ratio=1, batches=1),
    "recent": rule("expect_column_max_to_be_recent", column="ordered_at", max_age="2 days"),
    "fresh": rule("expect_column_max_to_be_recent", column="ordered_at", max_age="1 hour"),
    "known": rule(
        "expect_column_values_to_be_in_other_table",
        column="customer_id",
        other_table="dimension.customers",
        other_column="id",
    ),
    "pairs_known": rule(
        "expect_column_values_to_be_in_other_table",
        column_list=["customer_id", "city"],
        other_table="dimension.customers",
        other_column_list=["id", "city"],
    ),
    "balanced": rule(
        "expect_column_sum_to_equal_other_table",
        column="amount",
        other_table="silver.bills",
        other_column="paid",
    ),
    "nearly": rule(
        "expect_column_sum_to_equal_other_table",
        column="amount",
        other_table="silver.bills",
        other_column="paid",
        tolerance=1.5,
    ),
    "query": rule(
        "unexpected_rows_expectation",
        unexpected_rows_query="SELECT * FROM {batch} WHERE city RLIKE '^G.{{3}}$'",
    ),
    "query_of_some": rule(
        "unexpected_rows_expectation", unexpected_rows_query="SELECT * FROM {batch} -- all\n;", **ABOVE_SIX
    ),
    "join": rule(
        "unexpected_rows_expectation",
        unexpected_rows_query=(
            "WITH c AS (SELECT id FROM dimension.customers) SELECT 1 FROM {batch} o JOIN c ON o.customer_id ="
            " c.id"
        ),
    ),
    "no_column": rule("expect_column_values_to_not_be_null", column="nowhere"),
    "no_table": rule(
        "expect_column_sum_to_equal_other_table", column="amount", other_table="silver.x", other_column="paid"
    ),
    "no_path": rule(
        "unexpected_rows_expectation", unexpected_rows_query="SELECT 1 FROM {batch}, text.`/etc/hosts`"
    ),
    "no_time": rule("expect_column_max_to_be_recent", column="nowhen", max_age="1 hour"),
    "no_age": rule("expect_column_max_to_be_recent", column="ordered_at"),
    "no_query": rule("unexpected_rows_expectation", unexpected_rows_query="DROP TABLE {batch}"),
    "no_brace": rule(
        "unexpected_rows_expectation",
        unexpected_rows_query="SELECT * FROM {batch} WHERE city RLIKE '^G.{3}$'",
    ),
    "no_argument": rule("expect_column_values_to_be_in_set", column="city", values=["Bern"]),
    "whole": rule("expect_table_row_count_to_equal", "table", value=6),
}


@dataclass(frozen=True)
class Judgement:
    """What was judged, and what the session held before and after."""

    results: dict[str, RuleResult]
    before: dict[str, Any]
    after: dict[str, Any]
    noise: list[str]


@pytest.fixture(scope="module")
def judgement(lenient: SparkSession) -> Iterator[Judgement]:
    """All rules above on four orders, in one go."""
    rows = lenient.createDataFrame(ROWS, ORDERS).persist()
    rows.count()
    tables = {
        "dimension.customers": lenient.createDataFrame(
            [(10, "Bern"), (11, "Basel")], "id bigint, city string"
        ),
        "silver.bills": lenient.createDataFrame([(22,), (None,)], "paid int"),
    }
    around = Surroundings(tables, clock=datetime(2024, 5, 1, 14, tzinfo=UTC), history=[1, 4, 100, 5])
    before = _held(lenient)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = judge(rows, list(ASKED.values()), around, table_rows=rows.union(rows.limit(2)), row_count=4)
    yield Judgement(
        dict(zip(ASKED, results, strict=True)),
        before,
        _held(lenient),
        [str(warning.message) for warning in caught],
    )
    rows.unpersist()


def _held(session: SparkSession) -> dict[str, Any]:
    """What a session holds that could leak: cached data, views, settings."""
    cached = sorted(session.sparkContext._jsc.getPersistentRDDs().keySet())
    return {
        "cached": cached,
        "views": [table.name for table in session.catalog.listTables()],
        "conf": dict(session.conf.getAll),
    }


def found(result: RuleResult) -> tuple[bool, int | None, int | None, str | None]:
    return result.is_met, result.rows, result.failed, result.observed


def test_rules_about_rows_count_them(judgement: Judgement) -> None:
    names = ("filled", "mostly", "of_some", "one_each", "one_pair")

    assert {name: found(judgement.results[name]) for name in names} == {
        "filled": (False, 4, 1, None),
        "mostly": (True, 4, 1, None),
        "of_some": (False, 2, 1, None),
        "one_each": (False, 4, 2, None),
        "one_pair": (True, 4, 0, None),
    }


def test_rules_about_all_rows_together_say_what_was_seen(judgement: Judgement) -> None:
    names = ("mean", "sum", "newest", "oldest", "median", "cities", "count", "type", "schema")

    seen = {name: found(judgement.results[name]) for name in names}

    assert {name: is_met for name, (is_met, *_) in seen.items()} == dict.fromkeys(
        names, True
    ) | dict.fromkeys(("sum", "oldest", "cities"), False)
    assert seen["mean"] == (True, None, None, "7.0")
    assert seen["sum"] == (False, None, None, "21.0")
    assert seen["cities"][3] == "0 not expected, 1 missing"
    assert seen["count"][3] == "4"


def test_a_count_is_held_against_the_median_of_earlier_batches(judgement: Judgement) -> None:
    """Median 4.5 of all four, 5 of the last."""
    assert [found(judgement.results[name]) for name in ("usual", "growing")] == [
        (True, None, None, "4"),
        (False, None, None, "4"),
    ]


def test_recent_is_measured_from_the_newest_arrival(judgement: Judgement) -> None:
    assert [judgement.results[name].is_met for name in ("recent", "fresh")] == [True, False]


def test_rows_are_looked_up_in_other_tables(judgement: Judgement) -> None:
    """Without a reference there is nothing to look up."""
    assert [found(judgement.results[name]) for name in ("known", "pairs_known")] == [
        (False, 4, 1, None),
        (False, 4, 2, None),
    ]


def test_sums_are_compared_with_other_tables(judgement: Judgement) -> None:
    assert [found(judgement.results[name]) for name in ("balanced", "nearly")] == [
        (False, None, None, "-1.0"),
        (True, None, None, "-1.0"),
    ]


def test_a_query_counts_the_rows_that_it_finds(judgement: Judgement) -> None:
    names = ("query", "query_of_some", "join")

    assert [found(judgement.results[name]) for name in names] == [
        (False, 4, 1, None),
        (False, 4, 2, None),
        (False, 4, 2, None),
    ]


def test_a_rule_that_cannot_be_judged_is_not_met_and_says_why(judgement: Judgement) -> None:
    unjudged = {name: result.problem for name, result in judgement.results.items() if result.problem}

    assert "UNRESOLVED_COLUMN" in str(unjudged.pop("no_time"))
    assert unjudged == {
        "no_column": 'Error: The column "nowhere" in BatchData does not exist.',
        "no_argument": "value_set: field required; values: extra fields not permitted",
        "no_age": "it has no max_age",
        "no_path": "there is no text./etc/hosts to read",
        "no_table": "there is no silver.x to read",
        "no_query": "it is not a SELECT",
        "no_brace": "it has a brace that is not {batch}",
    }
    assert not any(result.is_met for result in judgement.results.values() if result.problem)


def test_a_rule_of_the_table_is_judged_on_the_table(judgement: Judgement) -> None:
    assert found(judgement.results["whole"]) == (True, None, None, "6")


def test_nothing_stays_behind(judgement: Judgement) -> None:
    before, after = judgement.before, judgement.after
    assert set(after["cached"]) <= set(before["cached"]), (
        "Spark may clear away meanwhile what earlier tests have dropped"
    )
    assert after | {"cached": []} == before | {"cached": []}
    assert judgement.noise == []


# pytest takes the place of the filter that the product sets
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_nothing_is_wrong_with_no_rows(lenient: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    none = lenient.createDataFrame([], ORDERS)
    about_rows = [
        asked for name, asked in ASKED.items() if not name.startswith("no_") and "count" not in asked.type
    ]
    around = Surroundings(
        {
            "dimension.customers": none.selectExpr("customer_id AS id", "city"),
            "silver.bills": none.selectExpr("amount AS paid"),
        }
    )

    results = judge(none, [*about_rows, ASKED["usual"]], around)

    assert [result for result in results if not result.is_met] == []
    assert capfd.readouterr() == ("", "")


def test_a_table_without_rows_lacks_the_values_that_it_must_have(lenient: SparkSession) -> None:
    none = lenient.createDataFrame([], ORDERS)
    asked = [
        rule("expect_table_row_count_to_be_between", "table", min_value=1),
        rule("expect_column_unique_value_count_to_be_between", "table", column="city", min_value=1),
        rule("expect_column_distinct_values_to_contain_set", "table", column="city", value_set=["Bern"]),
        rule("expect_column_max_to_be_between", "table", column="amount", min_value=1),
    ]

    results = judge(none, asked, Surroundings(), none)

    assert [result.is_met for result in results] == [False, False, False, True]


def test_a_value_that_breaks_a_rule_concerns_that_rule_and_is_not_told(strict: SparkSession) -> None:
    rows = strict.createDataFrame([("secret",), ("12",)], "word string")
    asked = [
        rule("expect_column_values_to_not_be_null", column="word"),
        rule("expect_column_values_to_not_be_null", column="word", row_condition="CAST(word AS INT) > 5"),
        rule(
            "unexpected_rows_expectation",
            unexpected_rows_query="SELECT * FROM {batch} WHERE CAST(word AS INT) > 5",
        ),
        rule("expect_column_values_to_match_json_schema", column="word", json_schema={"type": "integer"}),
    ]

    results = judge(rows, asked, Surroundings())

    assert [result.is_met for result in results] == [True, False, False, False]
    assert [result.problem for result in results] == [
        None,
        "Spark: CAST_INVALID_INPUT",
        "Spark: CAST_INVALID_INPUT",
        None,
    ]
    assert (results[-1].rows, results[-1].failed) == (2, 1), "what is no JSON does not match"


def test_tables_are_judged_at_the_same_time_each_in_its_own_session(spark: SparkSession) -> None:
    """Each session has a view of its own that the others lack; GX must ask the rows' session, and bind
    nothing elsewhere.
    """

    def judge_one(place: int) -> list[tuple[Any, ...]]:
        session = spark.newSession()
        session.conf.set("spark.sql.ansi.enabled", str(place % 2 == 0).lower())
        rows = session.range(10 + place)
        asked = [
            rule("expect_table_row_count_to_equal", value=10 + place),
            rule(
                "unexpected_rows_expectation",
                unexpected_rows_query=f"SELECT id FROM {{batch}} WHERE id < {place}",
            ),
            rule("expect_column_values_to_be_between", column="id", min_value=place),
        ]
        before = _held(session)
        results = judge(rows, asked, Surroundings())
        assert _held(session) | {"cached": []} == before | {"cached": []}
        return [found(result) for result in results]

    with ThreadPoolExecutor(4) as threads:
        found_by_each = list(threads.map(judge_one, range(4)))

    assert found_by_each == [
        [
            (True, None, None, str(10 + place)),
            (place == 0, None, place, None),
            (place == 0, 10 + place, place, None),
        ]
        for place in range(4)
    ]


@pytest.fixture
def far_from_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("far_from_utc")
def test_times_in_rules_are_utc_wherever_it_runs(lenient: SparkSession) -> None:
    rows = lenient.sql("SELECT TIMESTAMP '2024-05-01 12:00:00 UTC' AS at")
    on_time: dict[str, Any] = {
        "column": "at",
        "min_value": "2024-05-01 11:00:00",
        "max_value": "2024-05-01 13:00:00",
    }
    asked: list[Rule] = [
        rule("expect_column_values_to_be_between", **on_time),
        rule(
            "expect_column_values_to_be_between",
            column="at",
            min_value="2024-05-01",
            max_value="2024-05-01 12:00:00",
        ),
        rule("expect_column_max_to_be_between", **on_time),
        rule("expect_column_max_to_be_recent", column="at", max_age="1 hour"),
    ]

    results = judge(rows, asked, Surroundings(clock=datetime(2024, 5, 1, 13, tzinfo=UTC)))

    assert [(result.is_met, result.problem) for result in results] == [(True, None)] * 4
