"""Patterns in SQL are Java's: what could end or hang the engine on a value is refused
before anything runs.
"""

import pytest

from spark_jobs.config.expressions import judge_row_expression
from spark_jobs.config.sql import parse_query
from spark_jobs.config.sql_patterns import judge_patterns

FUNCTIONS = [
    "a RLIKE '{}'",
    "regexp(a, '{}')",
    "regexp_like(a, r'{}')",
    "regexp_extract(a, '{}', 0)",
    "regexp_extract_all(a, '{}', 0)",
    "regexp_replace(a, '{}', '')",
    "regexp_count(a, '{}')",
    "regexp_instr(a, '{}')",
    "regexp_substr(a, '{}')",
    "element_at(split(a, '{}'), 1)",
    "str_to_map(a, '{}', ':')",
    "str_to_map(a, ',', '{}')",
    "parse_url(a, 'QUERY', '{}')",
    "try_parse_url(a, 'QUERY', '{}')",
]


@pytest.mark.parametrize("call", FUNCTIONS)
def test_a_repeated_group_is_refused_in_every_function_that_takes_a_pattern(call: str) -> None:
    refused, taken = (
        judge_row_expression(call.format("(x|y)*"), ["a"]),
        judge_row_expression(call.format("[xy]*"), ["a"]),
    )

    assert ["repeats a group" in message for message, _ in refused] == [True]
    assert taken == []


@pytest.mark.parametrize("call", ["a rlike b", "parse_url(a, 'QUERY', b)", "try_parse_url(a, 'QUERY', b)"])
def test_a_pattern_out_of_a_column_is_refused(call: str) -> None:
    [(message, hint)] = judge_row_expression(call, ["a", "b"])

    assert (message, hint) == (
        "the pattern 'b' is computed: what it asks of a value cannot be judged before",
        "write the pattern as text",
    )


def test_the_patterns_of_a_query_are_judged_one_by_one() -> None:
    tree = parse_query("SELECT a FROM silver.x WHERE a RLIKE ANY ('(x|y)+', '[xy]+') AND a LIKE '%(x)*%'")

    assert [message.partition(" cannot")[0] for message, _ in judge_patterns(tree)] == [
        "the pattern '(x|y)+'"
    ]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("regexp_replace(a, '(', 'b')", "the pattern '(' cannot be used: it is not a regular expression"),
        ("regexp_replace(a, '(x)', '$2')", "the group 2 is asked for, and the pattern '(x)' has 1"),
        ("regexp_replace(a, 'x', '$1')", "the group 1 is asked for, and the pattern 'x' has none"),
        ("regexp_replace(a, 'x', '5 $')", "ends with a mark, or has a $ without a group"),
        ("regexp_extract(a, 'x')", "the group 1 is asked for, and the pattern 'x' has none"),
        ("regexp_extract(a, '(x)(y)', 3)", "the group 3 is asked for"),
        ("regexp_extract_all(a, '(x)', 2)", "the group 2 is asked for"),
        (r"regexp_replace(a, r'\p{Word}', '')", "Java has no class"),
        ("a RLIKE '(?<n>x)(?<n>y)'", "the group 'n' is there twice"),
        (r"a LIKE r'x\y'", "in LIKE a backslash stands before"),
        (r"a ILIKE ANY ('x', r'y\')", "in LIKE a backslash stands before"),
    ],
)
def test_what_the_engine_would_refuse_in_mid_batch_is_refused_before(call: str, message: str) -> None:
    [(said, _)] = judge_row_expression(call, ["a"])

    assert message in said


@pytest.mark.parametrize(
    "call",
    [
        "regexp_replace(a, '(x)', '$1')",
        "regexp_replace(a, '(?<n>x)', '${n}')",
        r"regexp_replace(a, 'x', r'\$1')",
        "regexp_extract(a, 'x', 0)",
        "regexp_extract(a, '(?:x)(y)')",
        "regexp_replace(a, '(?<=x|yy)z', '$1')",
        r"regexp_replace(a, r'\p{Lu}\p{IsGreek}\pL\P{Alpha}', '')",
        r"a LIKE r'x\%\\'",
        "a LIKE 'x!%' ESCAPE '!'",
    ],
)
def test_what_the_engine_takes_is_taken(call: str) -> None:
    assert judge_row_expression(call, ["a"]) == []


@pytest.mark.parametrize(
    "condition", ["a LIKE b", "a NOT LIKE concat('%', b, '%')", "ilike(a, b)", "a LIKE ANY ('x%', b)"]
)
def test_a_pattern_of_like_out_of_a_column_is_refused_with_what_looks_for_a_value(condition: str) -> None:
    [(message, hint)] = judge_row_expression(condition, ["a", "b"])

    assert "of LIKE is computed" in message
    assert "contains(a, b)" in hint


@pytest.mark.parametrize(
    ("pattern", "is_taken"),
    [
        ("'%a%b%c%'", True),
        ("'%a%b%c%d%'", False),
        ("'a%%%%%%b'", True),
        ("'x%_%_%_%_'", False),
        (r"r'100\%\%\%\%%x'", True),
        ("'%a%b!%!%c%' ESCAPE '!'", True),
        ("'%a%b%!%%c%' ESCAPE '!'", False),
    ],
)
def test_a_pattern_of_like_that_goes_back_too_often_is_refused(pattern: str, is_taken: bool) -> None:
    complaints = judge_row_expression(f"a LIKE {pattern}", ["a"])

    assert ["may take for ever" in message for message, _ in complaints] == [True] * (not is_taken)


@pytest.mark.parametrize(
    "call",
    [
        "date_format(t, {})",
        "to_timestamp(a, {})",
        "try_to_timestamp(a, {})",
        "to_date(a, {})",
        "unix_timestamp(a, {})",
        "to_char(t, {})",
        "to_varchar(t, {})",
    ],
)
def test_a_format_out_of_a_column_is_refused_and_one_that_is_chosen_is_not(call: str) -> None:
    """Java calls itself for each bracket of an optional part: ten thousand of them end Spark's process."""
    columns = {"a": "string", "b": "string", "t": "timestamp"}
    chosen = "CASE WHEN b = 'x' THEN 'yyyy' ELSE 'dd.MM.yyyy' END"
    computed = [
        judge_row_expression(call.format(given), columns)
        for given in ("b", "concat('yyyy', b)", "CASE WHEN b = 'x' THEN 'yyyy' ELSE b END")
    ]

    assert [["is computed" in message for message, _ in found] for found in computed] == [[True]] * 3
    assert judge_row_expression(call.format(chosen), columns) == []
