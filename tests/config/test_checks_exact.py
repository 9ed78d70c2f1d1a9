"""Sums of floating-point numbers, whose last digits depend on the order of rows, are refused; exact ones
pass.
"""

import pytest

from tests.config.conftest import Workspace

TOP = "conf/sql/top.sql"
COLUMNS = (
    "      weight: double\n      ratio: float\n      parcel: struct<item_count:int,volume:double>\n     "
    " lengths: array<float>\n"
)


@pytest.fixture(autouse=True)
def floating_columns(workspace: Workspace) -> None:
    workspace.replace("      tags: array<string>\n", f"      tags: array<string>\n{COLUMNS}")


@pytest.mark.parametrize(
    ("measure", "instead"),
    [
        ("sum(weight)", "SUM(CAST(weight AS DECIMAL(18, 4)))"),
        ("avg(ratio)", "AVG(CAST(ratio AS DECIMAL(18, 4)))"),
        ("mean(weight)", "MEAN(CAST(weight AS DECIMAL(18, 4)))"),
        ("try_sum(Weight)", "TRY_SUM(CAST(Weight AS DECIMAL(18, 4)))"),
        ("try_avg(weight)", "TRY_AVG(CAST(weight AS DECIMAL(18, 4)))"),
        ("sum(DISTINCT weight)", "SUM(DISTINCT CAST(weight AS DECIMAL(18, 4)))"),
        ("sum(weight) FILTER (WHERE is_big)", "SUM(CAST(weight AS DECIMAL(18, 4)))"),
        ("round(sum(weight * amount), 2)", "SUM(CAST(weight * amount AS DECIMAL(18, 4)))"),
        ("sum(CASE WHEN is_big THEN weight END)", "AS DECIMAL(18, 4)))"),
        ("sum(if(is_big, 1, ratio))", "AS DECIMAL(18, 4)))"),
        ("sum(parcel.volume)", "SUM(CAST(parcel.volume AS DECIMAL(18, 4)))"),
        ("sum(lengths[0])", "SUM(CAST(lengths[0] AS DECIMAL(18, 4)))"),
        ("sum(cast(amount AS double))", "AS DECIMAL(18, 4)))"),
        ("sum(amount * 1e-3)", "AS DECIMAL(18, 4)))"),
        ("sum(sqrt(version))", "SUM(CAST(SQRT(version) AS DECIMAL(18, 4)))"),
        ("sum(version / 3)", "SUM(CAST(version / 3 AS DECIMAL(18, 4)))"),
        ("sum(CAST(amount AS int) / 3)", "AS DECIMAL(18, 4)))"),
        ("sum((length(city) + 1) / 3)", "AS DECIMAL(18, 4)))"),
        ("sum(city)", "SUM(CAST(city AS DECIMAL(18, 4)))"),
        ("avg(version * get_json_object(city, '$.a'))", "AS DECIMAL(18, 4)))"),
    ],
)
def test_a_measure_that_adds_floating_point_numbers_is_refused(
    workspace: Workspace, measure: str, instead: str
) -> None:
    workspace.replace("sum(amount)", f'"{measure}"')

    workspace.assert_refused("revenue:", measure, "adds floating-point numbers", instead)


@pytest.mark.parametrize(
    "measure",
    [
        "sum(version)",
        "avg(amount)",
        "sum(CAST(weight AS DECIMAL(18,4)))",
        "avg(try_cast(ratio AS bigint))",
        "sum(decimal(weight))",
        "sum(CASE WHEN weight > 1.5 THEN amount ELSE 0 END)",
        "sum(CASE weight WHEN 0 THEN 1 ELSE 2 END)",
        "sum(if(weight > 1 AND ratio < 2, 1, 0))",
        "sum(amount) FILTER (WHERE weight > 2)",
        "sum(amount / 3)",
        "sum(amount * 1.5)",
        "sum(floor(weight))",
        "sum(version div 3)",
        "sum(amount * length(city))",
        "sum(if(city = 'Ulm', 1, 0))",
        "sum(CAST(city AS BIGINT))",
        "sum(parcel.item_count)",
        "sum(amount) / count(*)",
        "max(weight)",
        "count(weight)",
        "percentile(weight, 0.5)",
        "max_by(weight, order_id)",
        "sqrt(sum(amount * amount))",
    ],
)
def test_a_measure_that_is_exact_passes(workspace: Workspace, measure: str) -> None:
    workspace.replace("sum(amount)", f'"{measure}"')

    assert workspace.problems() == []


@pytest.mark.parametrize(
    "function",
    ["std", "stddev", "stddev_pop", "stddev_samp", "variance", "var_pop", "var_samp", "skewness", "kurtosis"],
)
def test_a_measure_that_spark_computes_in_double_precision_for_every_type_is_refused(
    workspace: Workspace, function: str
) -> None:
    workspace.replace("sum(amount)", f"{function}(amount)")

    workspace.assert_refused(
        "revenue:",
        f"{function}(amount)",
        "depends on the order in which rows arrive",
        "sum(x), sum(x * x) and count(x)",
    )


@pytest.mark.parametrize(
    "function", ["covar_pop", "covar_samp", "corr", "regr_slope", "regr_avgx", "regr_r2"]
)
def test_a_measure_of_two_columns_in_double_precision_is_refused(workspace: Workspace, function: str) -> None:
    workspace.replace("sum(amount)", f"{function}(amount, version)")

    workspace.assert_refused(
        "revenue:", f"{function}(amount, version)", "depends on the order in which rows arrive", "count(x)"
    )


def test_a_sum_of_a_floating_column_that_a_lookup_takes_is_refused(workspace: Workspace) -> None:
    workspace.replace("      city: string\n", "      city: string\n      discount: double\n")
    workspace.replace("take: [city]", "take: [city, discount]")
    workspace.replace("sum(amount)", "sum(discount)")

    workspace.assert_refused(
        "revenue:", "sum(discount)", "adds floating-point numbers", "SUM(CAST(discount AS DECIMAL(18, 4)))"
    )


@pytest.mark.parametrize(
    ("sql", "line", "value"),
    [
        ("SELECT city,\n  sum(weight) AS kilos\nFROM silver.orders GROUP BY city", 2, "SUM(orders.weight)"),
        ("SELECT avg(o.parcel.volume) AS v FROM silver.orders o", 1, "AVG(o.parcel.volume)"),
        ("SELECT sum(w) AS kilos FROM (SELECT weight * 2 AS w FROM silver.orders) x", 1, "SUM(x.w)"),
        (
            "WITH light AS (SELECT * FROM silver.orders)\nSELECT sum(ratio) AS r\nFROM light",
            2,
            "SUM(light.ratio)",
        ),
        (
            "SELECT city, (SELECT sum(ratio) FROM silver.orders) AS r FROM silver.orders",
            1,
            "SUM(orders.ratio)",
        ),
        ("SELECT sum(weight) OVER (PARTITION BY city) AS kilos FROM silver.orders", 1, "SUM(orders.weight)"),
        (
            "SELECT sum(n / 3) AS s FROM (SELECT count(*) AS n FROM silver.orders GROUP BY city) x",
            1,
            "SUM(x.n / 3)",
        ),
        (
            "SELECT sum(m) AS s FROM (SELECT avg(version) AS m FROM silver.orders GROUP BY city) x",
            1,
            "SUM(x.m)",
        ),
    ],
)
def test_sql_that_adds_floating_point_numbers_is_refused(
    workspace: Workspace, sql: str, line: int, value: str
) -> None:
    workspace.write(TOP, sql)

    problem = workspace.problem()

    assert (problem.file, problem.line, problem.value) == (TOP, line, value)
    assert "adds floating-point numbers" in problem.message
    assert "AS DECIMAL(18, 4)" in problem.hint


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT sum(amount) AS a, max(weight) AS w FROM silver.orders",
        "SELECT sum(CAST(weight AS DECIMAL(18,4))) AS w FROM silver.orders",
        "SELECT sum(weight) OVER (ORDER BY order_id) AS w FROM silver.orders",
        "SELECT sum(o.parcel.item_count) AS c FROM silver.orders o",
        "SELECT sum(w) AS kilos FROM (SELECT CAST(weight AS INT) AS w FROM silver.orders) x",
        "SELECT sum(revenue) AS revenue FROM gold.hourly",
        "SELECT sum(weight) AS w FROM (SELECT amount AS weight FROM silver.orders) orders",
        (
            "SELECT o.weight FROM silver.orders o CROSS JOIN (SELECT sum(o.weight) AS w FROM (SELECT amount"
            " AS weight FROM silver.orders) o) x"
        ),
    ],
)
def test_sql_whose_sums_are_exact_passes(workspace: Workspace, sql: str) -> None:
    workspace.write(TOP, sql)

    assert workspace.problems() == []


@pytest.mark.parametrize(
    ("ours", "theirs", "is_exact"),
    [
        ("int", "bigint", True),
        ("bigint", "decimal(38,18)", True),
        ("decimal(12,2)", "decimal(20,0)", True),
        ("decimal(38,18)", "decimal(38,0)", False),
        ("bigint", "decimal(38,20)", False),
        ("decimal(38,0)", "decimal(10,1)", False),
        ("bigint", "string", False),
        ("bigint", "double", False),
    ],
)
def test_a_lookup_compares_numbers_that_one_decimal_can_hold(
    workspace: Workspace, ours: str, theirs: str, is_exact: bool
) -> None:
    """Else Spark rounds one of them to compare it, and a fact finds the member of another number."""
    workspace.replace("customer_id: bigint\n      ordered_at", f'customer_id: "{ours}"\n      ordered_at')
    workspace.replace("customer_id: bigint\n      city", f'customer_id: "{theirs}"\n      city')

    if is_exact:
        assert workspace.problems() == []
    else:
        said = f"'customer_id' is {ours}, but the key 'customer_id' of the dimension is {theirs}"
        workspace.assert_refused("customers: {on", "customer_id", said, "declare both with the same type")
