"""Patterns in SQL are Java's: what could end or hang the engine on a value is refused before anything runs."""

import pytest

from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.sql import parse_query
from spark_jobs.config.sql_patterns import judge_patterns

FUNCTIONS = [
    "a RLIKE '{}'",
    "regexp(a, '{}')",
    "regexp_like(a, r'{}')",
    "regexp_extract(a, '{}', 1)",
    "regexp_extract_all(a, '{}')",
    "regexp_replace(a, '{}', '')",
    "regexp_count(a, '{}')",
    "regexp_instr(a, '{}')",
    "regexp_substr(a, '{}')",
    "element_at(split(a, '{}'), 1)",
    "str_to_map(a, '{}', ':')",
    "str_to_map(a, ',', '{}')",
]


@pytest.mark.parametrize("call", FUNCTIONS)
def test_a_repeated_group_is_refused_in_every_function_that_takes_a_pattern(call: str) -> None:
    refused, taken = judge_row_expression(call.format("(x|y)*"), ["a"]), judge_row_expression(call.format("[xy]*"), ["a"])

    assert ["repeats a group" in message for message, _ in refused] == [True]
    assert taken == []


def test_a_pattern_out_of_a_column_is_refused() -> None:
    [(message, hint)] = judge_row_expression("a rlike b", ["a", "b"])

    assert (message, hint) == (
        "the pattern 'b' is computed: what it asks of a value cannot be judged before",
        "write the pattern as text",
    )


def test_the_patterns_of_a_query_are_judged_one_by_one() -> None:
    tree = parse_query("SELECT a FROM silver.x WHERE a RLIKE ANY ('(x|y)+', '[xy]+') AND a LIKE '%(x)*%'")

    assert [message.partition(" cannot")[0] for message, _ in judge_patterns(tree)] == ["the pattern '(x|y)+'"]
