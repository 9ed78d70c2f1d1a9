"""Tables and columns are found in SQL by the parser, and replaced in the text by their places alone."""

import pytest

from spark_jobs.config.graph import tables_named_in
from spark_jobs.config.sql import SqlError, columns_in, referenced_tables
from spark_jobs.config.sql_views import with_views

VIEWS = {
    "silver.orders": "v_orders",
    "silver.lines": "v_lines",
    "dimension.orders": "v_members",
    "gold.top": "v_top",
}


def test_tables_are_named_once_in_the_order_of_the_text() -> None:
    sql = (
        "WITH c AS (SELECT * FROM Silver.Orders) SELECT * FROM c JOIN `gold`.`top` ON true JOIN silver.orders"
        " ON true, range(3)"
    )

    assert referenced_tables(sql.replace(", range(3)", "")) == ["silver.orders", "gold.top"]


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT * FROM silver.orders", "SELECT * FROM v_orders"),
        (
            "select  a -- silver.orders\nfrom `silver`.`orders` /* gold.top */ o",
            "select  a -- silver.orders\nfrom v_orders /* gold.top */ o",
        ),
        ("SELECT 'silver.orders', é FROM silver.orders", "SELECT 'silver.orders', é FROM v_orders"),
        ("SELECT silver.orders.amount FROM silver.orders", "SELECT v_orders.amount FROM v_orders"),
        (
            "SELECT orders.amount, orders.* FROM silver.orders",
            "SELECT v_orders.amount, v_orders.* FROM v_orders",
        ),
        ("SELECT silver.orders.pay.x FROM silver.orders", "SELECT v_orders.pay.x FROM v_orders"),
        ("SELECT orders.amount FROM silver.lines orders", "SELECT orders.amount FROM v_lines orders"),
        ("SELECT orders.x FROM (SELECT 1 x) orders", "SELECT orders.x FROM (SELECT 1 x) orders"),
        (
            "WITH orders AS (SELECT * FROM silver.orders) SELECT orders.x FROM orders",
            "WITH orders AS (SELECT * FROM v_orders) SELECT orders.x FROM orders",
        ),
        (
            (
                "SELECT silver.orders.a, dimension.orders.b FROM silver.orders JOIN dimension.orders ON"
                " silver.orders.k = dimension.orders.k"
            ),
            "SELECT v_orders.a, v_members.b FROM v_orders JOIN v_members ON v_orders.k = v_members.k",
        ),
        (
            "SELECT a FROM silver.lines WHERE EXISTS (SELECT 1 FROM gold.top t WHERE t.k = lines.k)",
            "SELECT a FROM v_lines WHERE EXISTS (SELECT 1 FROM v_top t WHERE t.k = v_lines.k)",
        ),
        (
            "SELECT a FROM silver.orders UNION ALL SELECT a FROM gold.top",
            "SELECT a FROM v_orders UNION ALL SELECT a FROM v_top",
        ),
        ("SELECT payment.amount FROM silver.orders", "SELECT payment.amount FROM v_orders"),
    ],
)
def test_tables_are_replaced_by_views_and_all_else_stays(sql: str, expected: str) -> None:
    assert with_views(sql, VIEWS) == expected


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a FROM silver.orders",
        (
            "select 'gold.top', \"gold.x\" from `silver` . `orders` o join dimension.products p on o.k = p.k"
            " -- gold.other"
        ),
        (
            "WITH gold_x AS (SELECT * FROM Gold.Top) SELECT silver.orders.a /* bronze.z */ FROM gold_x JOIN"
            " silver.orders ON true"
        ),
        "SELECT 'it\\'s gold.top' AS x FROM silver.orders",
    ],
)
def test_the_words_of_a_text_give_the_same_tables_as_the_parser(sql: str) -> None:
    assert sorted(tables_named_in(sql)) == sorted(referenced_tables(sql))


def test_columns_of_an_expression_are_named_once() -> None:
    assert columns_in("a + B * a > payment.amount AND exists(tags, t -> t = c)") == [
        "a",
        "B",
        "payment",
        "tags",
        "c",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a b",
        "a, b",
        "select 1",
        "a;",
        "*",
        "a >",
        "(a, b)",
        ":p",
        "a in (select 1)",
        "map(a)",
        "date_diff(a)",
        "max_by(a,)",
    ],
)
def test_what_is_not_one_expression_is_refused(text: str) -> None:
    with pytest.raises(SqlError) as caught:
        columns_in(text)

    assert caught.value.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT a /* /*+ */ , rand() -- */\nAS x FROM silver.orders",
        "SELECT a FROM silver.orders -- newest first \\\nORDER BY a\nLIMIT 3",
    ],
)
def test_a_comment_of_which_spark_reads_another_end_is_refused(sql: str) -> None:
    with pytest.raises(SqlError, match="in a comment"):
        referenced_tables(sql)


@pytest.mark.parametrize("text", ["a /*+ REPARTITION(2) */", "/*+ x */ a", "a + /*+x*/ b"])
def test_a_hint_in_an_expression_is_no_comment(text: str) -> None:
    """To Spark it is a word that stands in the wrong place: what passed would fail in the run."""
    with pytest.raises(SqlError, match="a hint"):
        columns_in(text)


def test_other_comments_pass() -> None:
    assert referenced_tables("SELECT a /* b /* c */ */ FROM silver.orders -- see /* here") == [
        "silver.orders"
    ]


def test_a_table_without_a_part_of_its_name_is_refused() -> None:
    with pytest.raises(SqlError, match="a name is missing"):
        referenced_tables("SELECT a FROM silver..orders")
