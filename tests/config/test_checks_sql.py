"""SQL files of gold tables are read without Spark, and refused with the line of the SQL file."""

import pytest

from tests.config.conftest import Workspace

FILE = "conf/sql/top.sql"
# the SQL, the line, the value, part of the message, part of the hint
REFUSED = {
    "SQL that does not parse": ("SELECT city\nFROM silver.orders WHERE (", 2, "sql/top.sql", "does not parse", "correct the SQL"),
    "an empty file": ("-- nothing\n", 1, "sql/top.sql", "it is empty", "exactly one SELECT"),
    "two statements": ("SELECT city FROM silver.orders; SELECT 1", 1, "sql/top.sql", "2 statements", "exactly one SELECT"),
    "a statement that writes": ("DELETE FROM silver.orders", 1, "sql/top.sql", "not a SELECT", "one SELECT"),
    "an unknown table": ("SELECT city\nFROM silver.ordrs", 2, "silver.ordrs", "no table 'silver.ordrs'", "did you mean 'silver.orders'?"),
    "a table without its layer": ("SELECT city\nFROM orders", 2, "orders", "no table 'orders'", "did you mean 'silver.orders'?"),
    "bronze": ("SELECT record\nFROM bronze.orders", 2, "bronze.orders", "bronze holds raw records", "silver.orders"),
    "itself": ("SELECT city\nFROM gold.top", 2, "gold.top", "made from itself", "silver.orders"),
    "a path": ("SELECT a FROM delta.`/x/y`", 1, "delta./x/y", "no table", "allowed"),
    "no table": ("SELECT 1 AS one", 1, None, "reads no table", "silver.orders"),
    "a missing column": (
        "SELECT city,\n  sum(amont) AS a\nFROM silver.orders GROUP BY city",
        2,
        "amont",
        "no column 'amont'",
        "did you mean 'amount'?",
    ),
    "a missing column of an alias": ("SELECT o.city\n, o.amont\nFROM silver.orders o", 2, "amont", "no column 'amont'", "'amount'"),
    "a missing column of a CTE": (
        "WITH c AS (SELECT city AS town FROM silver.orders)\nSELECT towm FROM c",
        2,
        "towm",
        "no column 'towm'",
        "allowed",
    ),
    "a column of two tables": (
        "SELECT order_id FROM silver.orders o\nJOIN silver.lines l ON o.order_id = l.order_id",
        1,
        "order_id",
        "is in silver.orders and in silver.lines",
        "say which",
    ),
    "a missing column of windows": ("SELECT revenu FROM gold.hourly", 1, "revenu", "no column 'revenu'", "did you mean 'revenue'?"),
    "the clock": (
        "SELECT city, current_date() AS today\nFROM silver.orders",
        1,
        "sql/top.sql",
        "current_date may not be used",
        "event time",
    ),
    "chance": ("SELECT city, rand() AS dice FROM silver.orders", 1, "sql/top.sql", "rand may not be used", "xxhash64"),
    "a sample": ("SELECT city FROM silver.orders TABLESAMPLE (10 PERCENT)", 1, "sql/top.sql", "TABLESAMPLE", "pmod"),
    "an order-dependent aggregate": ("SELECT first(city) AS c FROM silver.orders", 1, "sql/top.sql", "depends on the order", "max_by"),
    "an unknown function": ("SELECT uper(city) AS c FROM silver.orders", 1, "sql/top.sql", "no function 'uper'", "did you mean 'upper'?"),
    "a column without a name": ("SELECT city,\nsum(amount)\nFROM silver.orders GROUP BY city", 2, "SUM(amount)", "has no name", "add AS"),
    "a count without a name": ("SELECT count(*) FROM silver.orders", 1, "COUNT(*)", "has no name", "add AS"),
    "a name that stands twice": (
        "SELECT city, region AS City FROM silver.orders JOIN silver.lines USING (order_id)",
        1,
        "City",
        "twice",
        "rename",
    ),
    "a name that Delta cannot store": ("SELECT city AS `my city` FROM silver.orders", 1, "my city", "cannot be stored", "letters"),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_sql_that_cannot_be_a_table_is_refused(workspace: Workspace, case: tuple[str, int, object, str, str]) -> None:
    sql, line, value, message, hint = case
    workspace.write(FILE, sql)

    problem = workspace.problem()

    assert (problem.file, problem.line, problem.value) == (FILE, line, value)
    assert message in problem.message
    assert hint in problem.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT *, amount * 2 AS twice FROM silver.orders",
        "WITH big AS (SELECT * FROM silver.orders WHERE is_big) SELECT order_id, _arrived_at FROM big;",
        "SELECT amount AS a, a + 1 AS b FROM silver.orders ORDER BY b LIMIT 10",
        "SELECT tag, count(*) AS order_count FROM silver.orders LATERAL VIEW explode(tags) t AS tag GROUP BY tag",
        "SELECT city, row_number() OVER (PARTITION BY city ORDER BY amount) AS position FROM silver.orders",
        "SELECT order_id, last(amount) IGNORE NULLS OVER (ORDER BY ordered_at) AS amount FROM silver.orders",
        "SELECT d.city, d._valid_from FROM dimension.customers d WHERE d._valid_to IS NULL",
        "SELECT window_start, revenue FROM gold.hourly",
        "SELECT silver.orders.amount, lines.sku FROM silver.orders JOIN silver.lines ON orders.order_id = lines.order_id",
        "SELECT order_id FROM silver.orders UNION ALL SELECT order_id FROM silver.lines",
        "SELECT Order_ID, count(1) AS n FROM Silver.Orders GROUP BY ALL",
        "SELECT o.order_id FROM silver.orders o JOIN (VALUES (1)) v ON o.order_id = col1",
        "SELECT city, array_sort(collect_set(order_id)) AS ids FROM silver.orders GROUP BY city",
    ],
)
def test_sql_that_spark_can_run_passes(workspace: Workspace, sql: str) -> None:
    workspace.write(FILE, sql)

    assert workspace.problems() == []


def test_the_columns_of_one_sql_table_are_known_to_the_next(workspace: Workspace) -> None:
    workspace.replace("  top:\n", "  best:\n    sql: sql/best.sql\n  top:\n")
    workspace.write("conf/sql/best.sql", "SELECT city, revnue FROM gold.top")

    workspace.assert_refused("revnue", "revnue", "no column 'revnue' in gold.top", "did you mean 'revenue'?", "conf/sql/best.sql")


def test_columns_of_a_python_table_are_not_guessed(workspace: Workspace) -> None:
    workspace.replace("  top:\n", "  best:\n    sql: sql/best.sql\n  top:\n")
    workspace.write("conf/sql/best.sql", "SELECT anything FROM gold.funnel")

    assert workspace.problems() == []
