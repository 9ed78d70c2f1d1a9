"""SQL files of gold tables are read without Spark, and refused with the line of the SQL file."""

import pytest

from tests.config.conftest import Workspace

FILE = "conf/sql/top.sql"
# the SQL, the line, the value, part of the message, part of the hint
REFUSED = {
    "SQL that does not parse": (
        "SELECT city\nFROM silver.orders WHERE (",
        2,
        "sql/top.sql",
        "does not parse",
        "correct the SQL",
    ),
    "an empty file": ("-- nothing\n", 1, "sql/top.sql", "it is empty", "exactly one SELECT"),
    "two statements": (
        "SELECT city FROM silver.orders; SELECT 1",
        1,
        "sql/top.sql",
        "2 statements",
        "exactly one SELECT",
    ),
    "a statement that writes": ("DELETE FROM silver.orders", 1, "sql/top.sql", "not a SELECT", "one SELECT"),
    "an unknown table": (
        "SELECT city\nFROM silver.ordrs",
        2,
        "silver.ordrs",
        "no table 'silver.ordrs'",
        "did you mean 'silver.orders'?",
    ),
    "a table without its layer": (
        "SELECT city\nFROM orders",
        2,
        "orders",
        "no table 'orders'",
        "did you mean 'silver.orders'?",
    ),
    "bronze": (
        "SELECT record\nFROM bronze.orders",
        2,
        "bronze.orders",
        "bronze holds raw records",
        "silver.orders",
    ),
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
    "a missing column of an alias": (
        "SELECT o.city\n, o.amont\nFROM silver.orders o",
        2,
        "amont",
        "no column 'amont'",
        "'amount'",
    ),
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
    "a missing column of windows": (
        "SELECT revenu FROM gold.hourly",
        1,
        "revenu",
        "no column 'revenu'",
        "did you mean 'revenue'?",
    ),
    "the clock": (
        "SELECT city, current_date() AS today\nFROM silver.orders",
        1,
        "sql/top.sql",
        "current_date may not be used",
        "event time",
    ),
    "chance": (
        "SELECT city, rand() AS dice FROM silver.orders",
        1,
        "sql/top.sql",
        "rand may not be used",
        "xxhash64",
    ),
    "a sample": (
        "SELECT city FROM silver.orders TABLESAMPLE (10 PERCENT)",
        1,
        "sql/top.sql",
        "TABLESAMPLE",
        "pmod",
    ),
    "an order-dependent aggregate": (
        "SELECT first(city) AS c FROM silver.orders",
        1,
        "sql/top.sql",
        "depends on the order",
        "max_by",
    ),
    "a program": (
        "SELECT TRANSFORM(city) USING 'sh -c id' AS (c) FROM silver.orders",
        1,
        "sql/top.sql",
        "TRANSFORM … USING",
        "Python table",
    ),
    "a program in a subquery": (
        "SELECT c FROM (SELECT TRANSFORM(city) USING 'cat' AS (c) FROM silver.orders)",
        1,
        "sql/top.sql",
        "TRANSFORM … USING",
        "Python",
    ),
    "a call of Java": (
        "SELECT java_method('java.lang.System', 'exit') AS x FROM silver.orders",
        1,
        "sql/top.sql",
        "java_method",
        "Python",
    ),
    "a function of a catalog": (
        "SELECT system.builtin.upper(city) AS c FROM silver.orders",
        1,
        "sql/top.sql",
        "'upper' is named",
        "alone",
    ),
    "a function of another product": (
        "SELECT city FROM silver.orders, read_files('/etc')",
        1,
        "sql/top.sql",
        "no function 'read_files'",
        "allowed",
    ),
    "a hint": (
        "SELECT /*+ REPARTITION(3) */ city FROM silver.orders",
        1,
        "sql/top.sql",
        "a hint",
        "plain SELECT",
    ),
    "another version": (
        "SELECT city FROM silver.orders VERSION AS OF 1",
        1,
        "sql/top.sql",
        "AS OF",
        "as it is",
    ),
    "a pipe": ("FROM silver.orders |> SELECT city", 1, "sql/top.sql", "|>", "SELECT"),
    "a collation": (
        "SELECT max(city COLLATE UTF8_LCASE) AS c FROM silver.orders",
        1,
        "sql/top.sql",
        "COLLATE",
        "lower(x)",
    ),
    "a failure": (
        "SELECT assert_true(is_big) AS c FROM silver.orders",
        1,
        "sql/top.sql",
        "assert_true",
        "on_fail: block",
    ),
    "the clock in a literal": (
        "SELECT DATE 'today' AS d FROM silver.orders",
        1,
        "sql/top.sql",
        "'today' is a time of the day",
        "itself",
    ),
    "the clock in a comparison": (
        "SELECT city FROM silver.orders WHERE paid_at < 'now'",
        1,
        "sql/top.sql",
        "'now'",
        "CAST(x AS STRING)",
    ),
    "the time of processing": (
        "SELECT city FROM silver.orders WHERE _processed_at > '2026-01-01'",
        1,
        "sql/top.sql",
        "_processed_at tells how",
        "_arrived_at",
    ),
    "distinct on": (
        "SELECT DISTINCT ON (city) city, amount FROM silver.orders",
        1,
        "sql/top.sql",
        "DISTINCT ON",
        "max_by",
    ),
    "a limit": (
        "SELECT city FROM silver.orders LIMIT 3",
        1,
        "sql/top.sql",
        "without ORDER BY",
        "ORDER BY city,",
    ),
    "a limit with ties": (
        "SELECT city, amount FROM silver.orders ORDER BY amount DESC LIMIT 3",
        1,
        "sql/top.sql",
        "takes, of rows",
        "ORDER BY amount DESC, city",
    ),
    "a limit in the words of the standard": (
        "SELECT city FROM silver.orders ORDER BY city FETCH FIRST 3 ROWS ONLY",
        1,
        "sql/top.sql",
        "FETCH may not be used",
        "ORDER BY … LIMIT",
    ),
    "a numbering of what explode makes": (
        "SELECT city, explode(tags) AS tag, row_number() OVER (PARTITION BY city ORDER BY tags) AS n FROM"
        " silver.orders",
        1,
        "sql/top.sql",
        "equal in its ORDER BY",
        "add the key",
    ),
    "a limit in a subquery": (
        "SELECT city FROM (SELECT * FROM silver.orders LIMIT 1)",
        1,
        "sql/top.sql",
        "LIMIT",
        "ORDER BY ALL",
    ),
    "a numbering with ties": (
        "SELECT order_id, row_number() OVER (ORDER BY amount) AS n FROM silver.orders",
        1,
        "sql/top.sql",
        "equal in its ORDER BY",
        "add the key",
    ),
    "a value of any tie": (
        "SELECT order_id, first(amount) OVER (PARTITION BY city ORDER BY paid_at) AS n FROM silver.orders",
        1,
        "sql/top.sql",
        "FIRST",
        "key",
    ),
    "a frame of rows with ties": (
        "SELECT order_id, sum(amount) OVER (ORDER BY paid_at ROWS 3 PRECEDING) AS n FROM silver.orders",
        1,
        "sql/top.sql",
        "SUM",
        "key",
    ),
    "a maximum with ties": (
        "SELECT max_by(city, paid_at) AS c FROM silver.orders",
        1,
        "sql/top.sql",
        "takes any of several rows",
        "max_by(city, struct(paid_at, city)) FILTER (WHERE paid_at IS NOT NULL)",
    ),
    "an unknown function": (
        "SELECT uper(city) AS c FROM silver.orders",
        1,
        "sql/top.sql",
        "no function 'uper'",
        "did you mean 'upper'?",
    ),
    "a column without a name": (
        "SELECT city,\nsum(amount)\nFROM silver.orders GROUP BY city",
        2,
        "SUM(amount)",
        "has no name",
        "add AS",
    ),
    "a count without a name": ("SELECT count(*) FROM silver.orders", 1, "COUNT(*)", "has no name", "add AS"),
    "a name that stands twice": (
        "SELECT city, region AS City FROM silver.orders JOIN silver.lines USING (order_id)",
        1,
        "City",
        "twice",
        "rename",
    ),
    "a name that Delta cannot store": (
        "SELECT city AS `my city` FROM silver.orders",
        1,
        "my city",
        "cannot be stored",
        "letters",
    ),
}


@pytest.mark.parametrize("case", REFUSED.values(), ids=REFUSED.keys())
def test_sql_that_cannot_be_a_table_is_refused(
    workspace: Workspace, case: tuple[str, int, object, str, str]
) -> None:
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
        "SELECT amount AS a, amount + 1 AS b FROM silver.orders ORDER BY a DESC LIMIT 10",
        "SELECT amount AS a, a + 1 AS b FROM silver.orders ORDER BY a, b LIMIT 10",
        "SELECT * FROM silver.orders ORDER BY ordered_at DESC, order_id LIMIT 10 OFFSET 2",
        "SELECT * FROM silver.lines ORDER BY ALL LIMIT 3",
        (
            "SELECT city, sum(amount) AS revenue FROM silver.orders GROUP BY city ORDER BY revenue DESC, city"
            " LIMIT 3"
        ),
        "SELECT city, sum(amount) AS revenue FROM silver.orders GROUP BY ALL ORDER BY 2 DESC, 1 LIMIT 3",
        (
            "SELECT order_id FROM silver.orders UNION SELECT order_id FROM silver.lines ORDER BY order_id"
            " LIMIT 3"
        ),
        (
            "WITH c AS (SELECT city, max(amount) AS m FROM silver.orders GROUP BY city) SELECT m FROM c ORDER"
            " BY m, city LIMIT 1"
        ),
        "SELECT city, order_id FROM silver.orders LIMIT ALL",
        "SELECT city, order_id FROM silver.orders ORDER BY (order_id) LIMIT 3",
        "SELECT (city) AS town, count(*) AS n FROM silver.orders GROUP BY (city)",
        "SELECT city, rank() OVER (PARTITION BY (city) ORDER BY (amount)) AS n FROM silver.orders CLUSTER BY (city)",
        "SELECT ordered_at + INTERVAL (version) DAY AS due FROM silver.orders DISTRIBUTE BY (city) SORT BY (city)",
        (
            "SELECT tag, count(*) AS order_count FROM silver.orders LATERAL VIEW explode(tags) t AS tag GROUP"
            " BY tag"
        ),
        "SELECT city, rank() OVER (PARTITION BY city ORDER BY amount) AS position FROM silver.orders",
        (
            "SELECT city, amount, row_number() OVER (PARTITION BY city ORDER BY amount) AS position FROM"
            " silver.orders"
        ),
        (
            "SELECT *, row_number() OVER (PARTITION BY city ORDER BY ordered_at, order_id) AS position FROM"
            " silver.orders"
        ),
        (
            "SELECT order_id, last(amount) IGNORE NULLS OVER (ORDER BY ordered_at, order_id) AS amount FROM"
            " silver.orders"
        ),
        (
            "SELECT order_id, lag(amount) OVER w AS before FROM silver.orders WINDOW w AS (PARTITION BY city"
            " ORDER BY order_id)"
        ),
        (
            "SELECT city, sum(amount) OVER (PARTITION BY city ORDER BY ordered_at) AS until_now FROM"
            " silver.orders"
        ),
        (
            "SELECT city, array_sort(collect_set(sku) OVER (PARTITION BY city)) AS s FROM silver.orders JOIN"
            " silver.lines USING (order_id)"
        ),
        "SELECT city FROM silver.orders WHERE EXISTS (SELECT 1 FROM silver.lines LIMIT 1)",
        "SELECT o.*, l.sku FROM silver.orders o JOIN silver.lines l ON o.order_id = l.order_id",
        "SELECT city, max_by(amount, order_id) AS amount FROM silver.orders GROUP BY city",
        (
            "SELECT window.start AS started_at, count(*) AS n FROM silver.orders GROUP BY window(ordered_at,"
            " '1 hour')"
        ),
        (
            "SELECT session_window.start AS s, session_window.end AS e FROM silver.orders GROUP BY"
            " session_window(ordered_at, '5 minutes')"
        ),
        (
            "SELECT window.start AS s, city, count(*) AS n FROM silver.orders GROUP BY ROLLUP"
            " (window(ordered_at, '1 hour'), city)"
        ),
        (
            "SELECT window.start AS s, count(*) AS n FROM silver.orders GROUP BY GROUPING SETS"
            " ((window(ordered_at, '1 hour'), city), (city))"
        ),
        (
            "SELECT session_window.end AS e FROM (SELECT session_window(ordered_at, '1 hour'), city FROM"
            " silver.orders GROUP BY ALL)"
        ),
        "SELECT city FROM silver.orders WHERE city = 'now' AND ordered_at > '2026-01-01'",
        "SELECT id FROM range(10) JOIN silver.orders ON id = order_id",
        "SELECT d.city, d._valid_from FROM dimension.customers d WHERE d._valid_to IS NULL",
        "SELECT window_start, revenue FROM gold.hourly",
        (
            "SELECT silver.orders.amount, lines.sku FROM silver.orders JOIN silver.lines ON orders.order_id ="
            " lines.order_id"
        ),
        "SELECT order_id FROM silver.orders UNION ALL SELECT order_id FROM silver.lines",
        "SELECT Order_ID, count(1) AS n FROM Silver.Orders GROUP BY ALL",
        "SELECT o.order_id FROM silver.orders o JOIN (VALUES (1)) v ON o.order_id = col1",
        "SELECT city, array_sort(collect_set(order_id)) AS ids FROM silver.orders GROUP BY city",
    ],
)
def test_sql_that_spark_can_run_passes(workspace: Workspace, sql: str) -> None:
    workspace.write(FILE, sql)

    assert workspace.problems() == []


def test_a_window_has_a_start_and_an_end_alone(workspace: Workspace) -> None:
    workspace.write(FILE, "SELECT window.stop AS s FROM silver.orders GROUP BY window(ordered_at, '1 hour')")

    assert ["there is no column 'stop'" in str(problem) for problem in workspace.problems()] == [True]


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT lower(city) AS order_id, amount FROM silver.orders ORDER BY order_id LIMIT 3",
        "SELECT city AS amount, amount AS x, row_number() OVER (ORDER BY city) AS n FROM silver.orders",
        "SELECT order_id, explode(tags) AS tag FROM silver.orders ORDER BY order_id LIMIT 3",
        (
            "SELECT order_id, tag FROM silver.orders LATERAL VIEW explode(tags) t AS tag ORDER BY order_id"
            " LIMIT 3"
        ),
        "SELECT tag FROM (SELECT *, explode(tags) AS tag FROM silver.orders) ORDER BY order_id LIMIT 1",
        (
            "SELECT o.amount, l.sku FROM silver.orders o JOIN silver.lines l ON o.order_id = l.order_id ORDER"
            " BY o.order_id LIMIT 1"
        ),
        "SELECT city, sum(amount) AS s FROM silver.orders GROUP BY ROLLUP (city) ORDER BY city LIMIT 1",
        (
            "SELECT city, version FROM silver.orders UNION ALL SELECT sku, order_id FROM silver.lines ORDER"
            " BY city LIMIT 1"
        ),
        "SELECT d.city FROM dimension.customers d ORDER BY d.customer_id LIMIT 1",
        "SELECT v FROM silver.orders UNPIVOT (v FOR k IN (version, customer_id)) ORDER BY order_id LIMIT 1",
        "WITH c AS (SELECT city, amount FROM silver.orders) SELECT max_by(amount, city) AS a FROM c",
    ],
)
def test_an_order_that_seems_total_and_is_not_is_refused(workspace: Workspace, sql: str) -> None:
    workspace.write(FILE, sql)

    messages = [problem.message for problem in workspace.problems()]

    assert any(
        "any rows" in message or "ORDER BY" in message or "any of several" in message for message in messages
    ), messages


def test_the_columns_of_one_sql_table_are_known_to_the_next(workspace: Workspace) -> None:
    workspace.replace("  top:\n", "  best:\n    sql: sql/best.sql\n  top:\n")
    workspace.write("conf/sql/best.sql", "SELECT city, revnue FROM gold.top")

    workspace.assert_refused(
        "revnue", "revnue", "no column 'revnue' in gold.top", "did you mean 'revenue'?", "conf/sql/best.sql"
    )


def test_columns_of_a_python_table_are_not_guessed(workspace: Workspace) -> None:
    workspace.replace("  top:\n", "  best:\n    sql: sql/best.sql\n  top:\n")
    workspace.write("conf/sql/best.sql", "SELECT anything FROM gold.funnel")

    assert workspace.problems() == []
