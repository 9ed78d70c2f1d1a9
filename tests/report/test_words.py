import pytest
from great_expectations.expectations import core

from spark_jobs.report.words import SENTENCES, say_expectation

# compares two sources by SQL of the user's own: there are no words for it
OWN_SQL = "expect_query_results_to_match_comparison"


def test_every_type_of_great_expectations_has_words() -> None:
    # some are bases of others
    types = {getattr(core, name).expectation_type for name in dir(core) if name.startswith("Expect")} - {""}

    assert sorted(types - set(SENTENCES) - {OWN_SQL}) == []
    assert sorted(set(SENTENCES) - types) == []


@pytest.mark.parametrize(
    ("kind", "arguments", "sentence"),
    [
        ("expect_column_values_to_not_be_null", {"column": "amount"}, "amount has a value"),
        (
            "expect_column_values_to_be_between",
            {"column": "amount", "min_value": 0, "max_value": 100_000},
            "amount is between 0 and 100,000",
        ),
        (
            "expect_column_values_to_be_between",
            {"column": "x", "min_value": 0, "strict_min": True, "max_value": 5},
            "x is more than 0 and at most 5",
        ),
        (
            "expect_column_values_to_be_between",
            {"column": "x", "max_value": 5, "strict_max": True},
            "x is less than 5",
        ),
        (
            "expect_table_row_count_to_be_between",
            {"min_value": 7, "max_value": 7},
            "there are exactly 7 rows",
        ),
        (
            "expect_column_values_to_be_in_set",
            {"column": "x", "value_set": list("abcdefghij"), "mostly": 0.995},
            "x is one of: a, b, c, d, e, f, g, h and 2 more, in at least 99.5 % of the rows",
        ),
        (
            "expect_column_values_to_be_unique",
            {"column": "x", "row_condition": "y > 1"},
            "no two rows have the same x, where y > 1",
        ),
        ("expect_column_values_to_be_unique", {}, "column values to be unique"),
        ("expect_something_of_my_own", {"depth": 3, "mostly": 1}, "something of my own (depth 3)"),
    ],
)
def test_an_expectation_is_a_sentence(kind: str, arguments: dict[str, object], sentence: str) -> None:
    assert say_expectation(kind, arguments) == sentence


def test_a_long_argument_is_cut() -> None:
    assert (
        len(say_expectation("expect_column_values_to_match_regex", {"column": "x", "regex": "a" * 100_000}))
        < 120
    )
