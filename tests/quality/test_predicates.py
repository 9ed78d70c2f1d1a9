"""Predicates of one row against Great Expectations' own counts, for every type, argument, column type, NULL
and edge.
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config import expectation_types
from spark_jobs.config.expectations import Rule
from spark_jobs.config.plain_patterns import plain_java
from spark_jobs.quality.patterns import explain_pattern, matches
from spark_jobs.quality.predicates import COMPILED, shown_value
from spark_jobs.quality.validation import Question, ask
from tests.quality.rules import failing_ids, rule, unexpected_counts

pytestmark = pytest.mark.spark

COLUMN_NAMES = ("n", "k", "price", "ratio", "weight", "word", "day", "at", "flag")
CONDITIONS: list[dict[str, Any]] = [
    {},
    {"row_condition": "m > 5 AND word LIKE 'a%'", "condition_parser": "spark"},
]
PAIRS = [("n", "m"), ("n", "price"), ("word", "other"), ("day", "at"), ("ratio", "weight")]
PAIR_SKIPS: list[dict[str, Any]] = [
    {},
    *({"ignore_row_if": skip} for skip in ("both_values_are_missing", "either_value_is_missing", "neither")),
]
LIST_SKIPS: list[dict[str, Any]] = [
    {},
    *({"ignore_row_if": skip} for skip in ("all_values_are_missing", "any_value_is_missing", "never")),
]


def _nulls() -> list[Rule]:
    types = ("expect_column_values_to_not_be_null", "expect_column_values_to_be_null")
    rules = [rule(gx_type, column=name) for gx_type in types for name in COLUMN_NAMES]
    return rules + [rule(gx_type, column="n", **CONDITIONS[1]) for gx_type in types]


def _sets() -> list[Rule]:
    sets = [
        ("n", [5, 10, 0]),
        ("n", [5.0]),
        ("k", []),
        ("price", [10, 0]),
        ("price", [99.99, -0.01]),
        ("ratio", [0.1, 1.5, 0]),
        ("word", ["abc", "", "äöü"]),
    ]
    sets += [
        ("day", ["2024-05-01", "1970-01-01"]),
        ("at", ["2024-05-01 12:00:00"]),
        ("flag", [True]),
        ("word", ["abc", None]),
    ]
    types = ("expect_column_values_to_be_in_set", "expect_column_values_to_not_be_in_set")
    return [
        rule(gx_type, column=name, value_set=values, **more)
        for gx_type in types
        for name, values in sets
        for more in CONDITIONS
    ]


def _bounds() -> list[Rule]:
    least_and_most = {
        "n": (0, 2**53 + 1),
        "k": (-7, 7),
        "price": (-0.01, 99.99),
        "ratio": (0.1, 100),
        "weight": (0.1, 2.5),
        "day": ("1970-01-01", "2024-05-01"),
        "at": ("2024-05-01 00:00:00", "2024-05-01 12:00:00"),
    }
    rules = [
        rule(
            "expect_column_values_to_be_between",
            column=name,
            min_value=least,
            max_value=most,
            strict_min=above,
            strict_max=below,
        )
        for name, (least, most) in least_and_most.items()
        for above in (False, True)
        for below in (False, True)
    ]
    for name, (least, most) in least_and_most.items():
        rules += [
            rule("expect_column_values_to_be_between", column=name, min_value=least, strict_min=True, **more)
            for more in CONDITIONS
        ]
        rules += [
            rule("expect_column_values_to_be_between", column=name, max_value=most),
            rule("expect_column_values_to_be_between", column=name, max_value=least),
        ]
    rules += [rule("expect_column_values_to_be_between", column="day", max_value="2024-05-01T12:00:00")]
    rules += [
        rule(
            "expect_column_values_to_be_between",
            column="at",
            min_value="2024-05-01T14:00:00+02:00",
            strict_min=True,
        )
    ]
    return rules


def _regexes() -> list[Rule]:
    regexes = ["^a", "c$", r"^\d+$", "", "(?i)^ABC$", "ä|^$", r"\s", "b\\n?"]
    types = ("expect_column_values_to_match_regex", "expect_column_values_to_not_match_regex")
    rules = [rule(gx_type, column="word", regex=regex) for gx_type in types for regex in regexes]
    rules += [rule(gx_type, column="n", regex="^5$", **more) for gx_type in types for more in CONDITIONS]
    for regexes in (["^a", "c$"], ["(?i)^abc$", "^NULL$", r"^\d+$"], ["ä"]):
        rules += [
            rule("expect_column_values_to_match_regex_list", column="word", regex_list=regexes, **more)
            for more in CONDITIONS
        ]
        rules += [
            rule("expect_column_values_to_match_regex_list", column="word", regex_list=regexes, match_on=on)
            for on in ("any", "all")
        ]
        rules += [
            rule("expect_column_values_to_not_match_regex_list", column="word", regex_list=regexes, **more)
            for more in CONDITIONS
        ]
    return rules


def _lengths() -> list[Rule]:
    bounds = [(0, 3), (3, 3), (1, None), (None, 2), (2, 49)]
    rules = [
        rule(
            "expect_column_value_lengths_to_be_between",
            column=name,
            min_value=least,
            max_value=most,
            strict_min=strict,
            strict_max=strict,
        )
        for name in ("word", "n")
        for least, most in bounds
        for strict in (False, True)
    ]
    return rules + [
        rule("expect_column_value_lengths_to_equal", column="word", value=value, **more)
        for value in (0, 3)
        for more in CONDITIONS
    ]


def _pairs() -> list[Rule]:
    types = ("expect_column_pair_values_to_be_equal", "expect_column_pair_values_a_to_be_greater_than_b")
    rules = [rule(gx_type, column_A=a, column_B=b) for gx_type in types for a, b in PAIRS]
    rules += [
        rule(gx_type, column_A="n", column_B="m", **skip, **CONDITIONS[1])
        for gx_type in types
        for skip in PAIR_SKIPS
    ]
    rules += [rule(types[1], column_A="n", column_B="m", or_equal=True, **skip) for skip in PAIR_SKIPS]
    sets: list[tuple[str, str, list[list[Any]]]] = [
        ("n", "m", [[5, 5], [10, 7]]),
        ("word", "other", [["abc", None], [None, "abc"], ["", ""]]),
    ]
    named = "expect_column_pair_values_to_be_in_set"
    return rules + [
        rule(named, column_A=a, column_B=b, value_pairs_set=pairs, **skip)
        for a, b, pairs in sets
        for skip in PAIR_SKIPS
    ]


def _lists() -> list[Rule]:
    sums: list[tuple[list[str], float]] = [
        (["n", "m"], 10),
        (["n", "m", "k"], 17),
        (["price", "share"], 10.5),
        (["n", "price"], 15),
    ]
    sums += [
        (["ratio", "weight"], 4),
        (["weight", "weight"], 0.2),
        (["n", "ratio"], 6.5),
        (["k", "weight"], 9.5),
        (["n", "m"], float(2**64)),
    ]
    rules = [
        rule("expect_multicolumn_sum_to_equal", column_list=names, sum_total=total) for names, total in sums
    ]
    named = "expect_select_column_values_to_be_unique_within_record"
    for skip in LIST_SKIPS:
        rules.append(rule("expect_multicolumn_sum_to_equal", column_list=["n", "m"], sum_total=10, **skip))
        rules.append(rule(named, column_list=["n", "m", "k"], **skip))
    rules += [rule("expect_multicolumn_sum_to_equal", column_list=["n", "m"], sum_total=10, **CONDITIONS[1])]
    rules += [rule(named, column_list=["n", "m", "k"], **CONDITIONS[1])]
    return [
        *rules,
        rule(named, column_list=["word", "other"]),
        rule(named, column_list=["n", "price", "ratio"]),
    ]


CASES = {
    "nulls": _nulls(),
    "sets": _sets(),
    "bounds": _bounds(),
    "regexes": _regexes(),
    "lengths": _lengths(),
    "pairs": _pairs(),
    "lists": _lists(),
}


@pytest.mark.parametrize("cases", CASES.values(), ids=CASES)
# GX's, about a condition_parser: users know it from GX's own files
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_predicate_is_true_for_as_many_rows_as_gx_counts(cases: list[Rule], edges: DataFrame) -> None:
    failing = failing_ids(edges, cases)

    counts = unexpected_counts(edges, cases)

    told = [f"{case.type} {dict(case.kwargs)}" for case in cases]
    assert dict(zip(told, map(len, failing), strict=True)) == dict(zip(told, counts, strict=True))


def test_every_type_has_cases() -> None:
    assert {case.type for cases in CASES.values() for case in cases} == set(COMPILED)


@pytest.mark.parametrize("cases", CASES.values(), ids=CASES)
def test_predicates_say_the_same_with_ansi_on(
    cases: list[Rule], edges: DataFrame, strict_edges: DataFrame
) -> None:
    assert failing_ids(strict_edges, cases) == failing_ids(edges, cases)


def test_the_value_of_a_reason_is_the_column_or_the_columns(edges: DataFrame) -> None:
    one, pair = (
        rule("expect_column_values_to_be_null", column="n"),
        rule("expect_column_pair_values_to_be_equal", column_A="n", column_B="word"),
    )

    shown = edges.filter(F.col("id") < 2).orderBy("id").select(shown_value(one), shown_value(pair)).collect()

    assert [tuple(row) for row in shown] == [("5", "5, abc"), (None, "NULL, abc")]


def test_the_types_that_may_set_rows_aside_are_those_that_are_compiled() -> None:
    assert set(COMPILED) == set(expectation_types.COMPILED)


def test_a_sum_that_no_decimal_can_hold_is_another_one(edges: DataFrame) -> None:
    most = edges.sparkSession.sql(
        "SELECT 1 AS id, CAST(repeat('9', 38) AS DECIMAL(38,0)) AS a, CAST(repeat('9', 38) AS DECIMAL(38,0))"
        " AS b"
    )

    assert failing_ids(
        most, [rule("expect_multicolumn_sum_to_equal", column_list=["a", "b"], sum_total=100)]
    ) == [[1]]


# A value is judged by its pattern, however long it is and whatever the pattern: by Weir's predicates and by
# Great Expectations alike.


LENGTHS = (200_000, 5_000_000)
RECURSIVE = "^(?:ab|c)*$"
LONG = {
    RECURSIVE: True,
    "^(a|b)*$": True,
    "^(?:[a-z]|[0-9])+$": True,
    r"^(\w+\s?)*!$": False,
    r"\s+$": False,
    ".*.*.*z": False,
}
WIDE = (
    "a",
    "b\n",
    "é",
    "😀",
    "a😀b",
    " ",
    "\x0b",
    "\r",
    "ab12",
    "",
    "a-b",
    "Ab\u2028",
    "_",
    "\u017f",
    "x\ny",
)


def _long(length: int) -> Column:
    return F.repeat(F.lit("ab"), length // 2)


@pytest.mark.parametrize("length", LENGTHS)
def test_a_long_value_is_judged_by_any_pattern(length: int, spark: SparkSession) -> None:
    rows = spark.range(1).select(_long(length).alias("value")).repartition(1)

    found = rows.select(
        *(matches(F.col("value"), pattern).alias(f"p{place}") for place, pattern in enumerate(LONG))
    ).first()

    assert found is not None
    assert dict(zip(LONG, found, strict=True)) == LONG


def test_gx_judges_a_long_value_as_the_predicates_do(spark: SparkSession) -> None:
    rows = (
        spark.range(2)
        .select("id", F.concat(_long(LENGTHS[0]), F.when(F.col("id") == 1, "!").otherwise("")).alias("word"))
        .repartition(1)
    )
    several = [RECURSIVE, "^(?:xy|z)*$"]
    rules = [
        rule("expect_column_values_to_match_regex", column="word", regex=RECURSIVE),
        rule("expect_column_values_to_not_match_regex", column="word", regex=RECURSIVE),
        rule("expect_column_values_to_match_regex_list", column="word", regex_list=several),
        rule("expect_column_values_to_match_regex_list", column="word", regex_list=several, match_on="all"),
        rule("expect_column_values_to_not_match_regex_list", column="word", regex_list=several),
    ]

    answers = ask([Question(rows, asked.type, asked.kwargs) for asked in rules])

    assert failing_ids(rows, rules) == [[1], [0], [1], [0, 1], [0]]
    assert [answer.found.get("unexpected_count") for answer in answers] == [1, 1, 1, 2, 1]


parts = st.sampled_from(
    [
        "a",
        "b",
        "[a-z]",
        "[^a]",
        r"\d",
        r"\w",
        r"\s",
        r"\S",
        ".",
        "é",
        "😀",
        "-",
        "(?:ab|b)",
        "(a|b)",
        "(?:a|ab)",
        r"\n",
    ]
)
quantifiers = st.sampled_from(["", "", "", "*", "+", "?", "{2}", "{1,3}", "{2,}", "*?", "+?"])
bodies = st.lists(st.tuples(parts, quantifiers).map("".join), min_size=1, max_size=4).map("".join)
patterns = st.tuples(st.sampled_from(["", "^"]), bodies, st.sampled_from(["", "$"])).map("".join)


def test_what_java_judges_is_what_re2_says(spark: SparkSession) -> None:
    """All patterns that are drawn, in one query."""
    drawn: set[str] = set()

    @settings(max_examples=300, database=None, derandomize=True)
    @given(pattern=st.one_of(patterns, st.tuples(patterns, patterns).map("|".join)))
    def draw(pattern: str) -> None:
        if plain_java(pattern) is not None:
            drawn.add(pattern)

    draw()
    plain = sorted(drawn)
    values = spark.createDataFrame(
        [(place, value) for place, value in enumerate(WIDE)], "id int, value string"
    )

    judged = (
        values.orderBy("id")
        .select(F.array(*(matches(F.col("value"), pattern) for pattern in plain)).alias("found"))
        .collect()
    )

    expected = [pc.match_substring_regex(pa.array(WIDE), pattern).to_pylist() for pattern in plain]
    assert len(plain) > 50
    assert {pattern: [row["found"][place] for row in judged] for place, pattern in enumerate(plain)} == dict(
        zip(plain, expected, strict=True)
    )


def test_re2_says_what_it_cannot_read() -> None:
    assert explain_pattern(r"\p{Klingon}") is not None
    assert explain_pattern(r"^\p{Lu}") is None
