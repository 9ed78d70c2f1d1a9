"""A value is judged by its pattern, however long it is and whatever the pattern: by Weir's predicates and by
Great Expectations alike.
"""

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

from spark_jobs.config.plain_patterns import plain_java
from spark_jobs.quality.patterns import explain_pattern, matches
from spark_jobs.quality.validation import Question, ask
from tests.quality.rules import failing_ids, rule

pytestmark = pytest.mark.spark

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
