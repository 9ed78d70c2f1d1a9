"""The list of Spark's functions is that of the running Spark, and what the checks recommend passes them and
runs.
"""

import re

import pytest
from pyspark.sql import SparkSession

from spark_jobs.config.expressions import judge_measure, judge_query, judge_row_expression
from spark_jobs.config.functions import ALLOWED, BUILT_IN, GROUPS, REFUSED, WHY_REFUSED
from spark_jobs.config.sql import parse_query

COLUMNS = {"x": "string", "t": "timestamp", "n": "decimal(12,2)", "id": "bigint"}
# What is refused, and the SQL that its hint recommends.
MEASURES = {
    "first(x)": "max_by(x, struct(t, x)) FILTER (WHERE t IS NOT NULL)",
    "max_by(x, t)": "max_by(x, struct(t, x)) FILTER (WHERE t IS NOT NULL)",
    "min_by(x, t)": "min_by(x, struct(t, x)) FILTER (WHERE t IS NOT NULL)",
    "collect_list(x)": "array_sort(collect_list(x))",
    "collect_set(x)": "array_sort(collect_set(x))",
    "listagg(x)": "listagg(x, ',') WITHIN GROUP (ORDER BY x)",
    "mode(x)": "mode(x, true)",
    "approx_top_k(x)": "approx_count_distinct(x)",
    "percentile_approx(n, 0.5)": "percentile(x, p)",
}
QUERIES = {
    "SELECT x, n FROM rows LIMIT 2": "ORDER BY x, n",
    "SELECT x, n FROM rows ORDER BY n DESC LIMIT 2": "ORDER BY n DESC, x",
    "SELECT * FROM rows LIMIT 2": "ORDER BY ALL",
}


@pytest.mark.spark
def test_every_function_of_spark_is_allowed_or_refused_for_a_reason(spark: SparkSession) -> None:
    found = {row[0] for row in spark.sql("SHOW SYSTEM FUNCTIONS").collect()}

    assert {name for name in found if re.match(r"[a-z]", name)} == BUILT_IN
    assert sum(map(len, GROUPS.values())) == len(BUILT_IN), "each is in one group"
    assert GROUPS.keys() == {"allowed", *WHY_REFUSED}
    assert not ALLOWED & REFUSED.keys()


@pytest.mark.spark
def test_what_a_hint_recommends_passes_the_check_and_runs(spark: SparkSession) -> None:
    spark.sql(
        "SELECT * FROM VALUES ('b', TIMESTAMP '2026-01-01', 1.5, 1), ('a', TIMESTAMP '2026-01-01', 2.5, 2) AS"
        " rows(x, t, n, id)"
    ).createOrReplaceTempView("rows")

    for refused, recommended in MEASURES.items():
        ((_, hint),) = judge_measure(refused, COLUMNS, [])
        assert recommended in hint
        written = recommended.replace("percentile(x, p)", "percentile(n, 0.5)")
        assert judge_measure(written, COLUMNS, []) == []
        spark.sql(f"SELECT {written} AS found FROM rows").collect()
    for refused, recommended in QUERIES.items():
        ((_, hint),) = judge_query(refused, parse_query(refused), {"rows": COLUMNS}, {})
        assert recommended in hint
        written = f"{re.split(' ORDER| LIMIT', refused)[0]} {recommended} LIMIT 2"
        assert judge_query(written, parse_query(written), {"rows": COLUMNS}, {}) == []
        assert spark.sql(written).count() == 2
    ties = spark.sql("SELECT max_by(x, struct(t, x)) AS newest, mode(x, true) AS usual FROM rows").collect()
    assert [tuple(row) for row in ties] == [("b", "a")]
    spark.catalog.dropTempView("rows")


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_a_refused_function_is_named_with_its_reason(name: str) -> None:
    found = judge_row_expression(f"{name}(x)", COLUMNS)
    # not every one takes one argument
    if not any(name in message and "may not be used" in message for message, _ in found):
        found = judge_row_expression(f"{name}()", COLUMNS) + judge_row_expression(f"{name}(x, x)", COLUMNS)

    assert any(name in message and "may not be used" in message for message, _ in found), found
