"""Spark's own parser has the last word on what SQL is."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from spark_jobs.lake.queries import (
    AddsFloats,
    NotAQuery,
    ReadsTheClock,
    check_query,
    refuse_clocks_in_query,
    refuse_floating_sums_in_query,
    run_query,
)

QUERIES = [
    (
        "WITH a AS (SELECT id, id % 2 AS odd FROM range(9)) SELECT odd, count(*) AS n FROM a GROUP BY odd"
        " HAVING count(*) > 1 ORDER BY 1"
    ),
    "SELECT id, row_number() OVER w AS n FROM range(3) WINDOW w AS (ORDER BY id) QUALIFY n > 1",
    (
        "SELECT a FROM VALUES (array(1, 2)) AS v(b) LATERAL VIEW explode(b) AS a WHERE a IN (SELECT id FROM"
        " range(9)) UNION SELECT 1"
    ),
]


@pytest.mark.spark
def test_more_than_a_query_is_refused_before_anything_runs(spark: SparkSession, tmp_path: Path) -> None:
    mark = tmp_path / "ran"
    program = f"SELECT TRANSFORM(id) USING 'touch {mark}' AS (x) FROM range(1)"
    refused = {
        program: "ScriptTransformation",
        f"SELECT (SELECT max(x) FROM ({program})) AS x": "ScriptTransformation",
        f"WITH c AS ({program}) SELECT * FROM c": "ScriptTransformation",
        f"SELECT 1 AS a WHERE EXISTS ({program})": "ScriptTransformation",
        f"CREATE TABLE t USING parquet LOCATION '{mark}' AS SELECT 1 AS a": "CreateTableAsSelect",
        "SET spark.sql.ansi.enabled = false": "SetCommand",
        f"SELECT * FROM parquet.`{tmp_path}`": "the table",
    }
    for text, found in refused.items():
        with pytest.raises(NotAQuery, match=found):
            run_query(spark, text)

    assert not mark.exists()
    for text in QUERIES:
        check_query(spark, text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT coalesce(at, word) AS x FROM clock_rows",
        "SELECT at AS x FROM clock_rows UNION SELECT word FROM clock_rows",
        "SELECT 1 AS x FROM clock_rows WHERE at IN (SELECT word FROM clock_rows)",
        "SELECT words['a'] > at AS x FROM clock_rows",
        "SELECT variant_get(parse_json(word), '$.t', 'timestamp') AS x FROM clock_rows",
        "SELECT timestampdiff(MINUTE, word, at) AS x FROM clock_rows",
        "SELECT from_json(word, 't timestamp') AS x FROM clock_rows",
    ],
)
def test_a_query_that_takes_a_time_out_of_text_is_refused(spark: SparkSession, text: str) -> None:
    spark.createDataFrame([], "word string, at timestamp, words map<string,string>").createOrReplaceTempView(
        "clock_rows"
    )
    with pytest.raises(ReadsTheClock):
        refuse_clocks_in_query(spark.sql(text), text)


def test_a_query_may_compare_with_days_and_read_views_that_parse(spark: SparkSession) -> None:
    parsed = spark.createDataFrame([], "word string").selectExpr(
        "CAST(word AS timestamp) AS at", "DATE'2024-01-01' AS day"
    )
    parsed.createOrReplaceTempView("parsed_rows")
    text = (
        "SELECT at FROM parsed_rows WHERE at > '2024-01-01' AND day = '2024-01-01' AND at <"
        " to_timestamp('12:30', 'HH:mm')"
    )
    refuse_clocks_in_query(spark.sql(text), text)


def test_sums_that_only_spark_can_tell_to_be_floating_are_refused(spark: SparkSession) -> None:
    """The check knows no types of what stands in arrays of arrays, in JSON, or in tables made by Python."""
    columns = "id bigint, word string, lists array<array<double>>, amount decimal(12,2)"
    spark.createDataFrame([], columns).createOrReplaceTempView("float_rows")
    refused = [
        "SELECT sum(lists[0][0]) AS x FROM float_rows",
        "SELECT avg(from_json(word, 'a double').a) AS x FROM float_rows",
        "SELECT word, sum(id / 3) OVER (PARTITION BY word) AS x FROM float_rows",
        "SELECT * FROM (SELECT id, word, lists[0][0] AS d FROM float_rows) PIVOT (sum(d) FOR word IN ('a'))",
    ]
    for text in refused:
        with pytest.raises(AddsFloats, match="sum\\(CAST\\(x AS DECIMAL"):
            refuse_floating_sums_in_query(spark.sql(text), text)
    exact = "SELECT sum(amount / 3) AS a, avg(id) AS b, max(lists[0][0]) AS c FROM float_rows"
    refuse_floating_sums_in_query(spark.sql(exact), exact)
    in_order = "SELECT sum(lists[0][0]) OVER (ORDER BY id) AS x FROM float_rows"
    refuse_floating_sums_in_query(spark.sql(in_order), in_order)
