"""Maps cannot be compared, and what compares them is refused."""

import pytest

from spark_jobs.config.expressions import judge_measure, judge_query, judge_row_expression
from spark_jobs.config.sql import parse_query

COLUMNS = {
    "prices": "map<string,int>",
    "at": "timestamp",
    "word": "string",
    "shop": "struct<name:string,prices:map<string,int>,days:array<struct<rates:map<string,int>,day:int>>>",
    "lists": "array<map<string,int>>",
}


@pytest.mark.parametrize(
    "expression",
    [
        "prices = prices",
        "prices IN (prices)",
        "nullif(prices, prices)",
        "xxhash64(prices)",
        "CASE prices WHEN prices THEN 1 END",
        "shop.prices = prices",
        "(lists[0]) = prices",
        "shop.days[0].rates <=> prices",
        "shop.days[0] = shop.days[1]",
        "array(lists) = array(lists)",
    ],
)
def test_an_expression_that_compares_maps_is_refused(expression: str) -> None:
    ((message, hint),) = judge_row_expression(expression, COLUMNS)

    assert "compares maps, which cannot be compared" in message
    assert "to_json(m)" in hint


@pytest.mark.parametrize(
    ("measure", "is_refused"),
    [
        ("max(prices)", True),
        ("count(DISTINCT prices)", True),
        ("max_by(word, struct(at, prices, word))", True),
        ("max(shop)", True),
        ("max(struct(at, prices))", True),
        ("max(named_struct('a', prices))", True),
        ("max(map_filter(prices, (k, v) -> v > 1))", True),
        ("max(struct(at, word))", False),
        ("max(shop.prices)", True),
        ("max(lists[0])", True),
        ("array_sort(collect_list(prices))", True),
        ("max(shop.name)", False),
        ("max(shop.days[0].day)", False),
        ("max(lists[0]['a'])", False),
        ("max(prices['a'])", False),
        ("count(DISTINCT to_json(prices))", False),
        ("max_by(prices, struct(at, to_json(prices)))", False),
    ],
)
def test_a_measure_may_not_compare_maps(measure: str, is_refused: bool) -> None:
    messages = [message for message, _ in judge_measure(measure, COLUMNS, [])]

    assert any("compares maps" in message for message in messages) is is_refused
    assert is_refused or messages == []


@pytest.mark.parametrize(
    ("query", "is_refused"),
    [
        ("SELECT DISTINCT prices FROM t", True),
        ("SELECT prices FROM t UNION SELECT prices FROM t", True),
        ("SELECT word FROM t ORDER BY prices", True),
        ("SELECT prices FROM t UNION ALL SELECT prices FROM t", False),
        ("SELECT count(*) AS n FROM t GROUP BY prices", False),
    ],
)
def test_a_query_may_not_compare_maps(query: str, is_refused: bool) -> None:
    messages = [message for message, _ in judge_query(query, parse_query(query), {"t": COLUMNS}, {})]

    assert any("compares" in message for message in messages) is is_refused
