"""Values of rows stay in the tables: neither a verification nor a failure shows them."""

import re
from pathlib import Path

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from tests.conftest import Workshop
from tests.verify.conftest import Verify, differing

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  people: {format: json, path: people}
silver:
  people:
    from: people
    columns: {id: bigint, email: {type: string, sensitive: true}, city: string}
    key: id
    sequence_by: id
gold:
  per_email: {from: silver.people, group_by: email, measures: {person_count: count(*)}}
"""
CAST = "SELECT id, CAST(email AS int) AS number FROM silver.people"


@pytest.fixture
def shop(workshop: Workshop) -> Workshop:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land(
        "people/a.json",
        '{"id":1,"email":"ada@s3cret","city":"Oslo"}\n{"id":2,"email":"bob@s3cret","city":"Rome"}\n',
    )
    return workshop


def test_a_verification_masks_sensitive_values_and_shows_the_others(shop: Workshop, verify: Verify) -> None:
    assert shop.run("shop").exit_code == 0
    table = DeltaTable(shop.root / "lake" / "shop" / "silver" / "people")
    table.update(new_values={"email": "eve@s3cret", "city": "Bonn"}, predicate="id = 1")
    gold = DeltaTable(shop.root / "lake" / "shop" / "gold" / "per_email")
    gold.update(updates={"email": "NULL"}, predicate="email = 'bob@s3cret'")

    found = verify(shop, "shop")

    assert "s3cret" not in str(found)
    [person] = differing(found)["silver.people"].first
    assert (person.key, person.columns) == (
        {"id": "1"},
        {"email": ("•••", "•••"), "city": ("'Bonn'", "'Oslo'")},
    )
    assert [row.key for row in differing(found)["gold.per_email"].first] == [
        {"email": "NULL"},
        {"email": "•••"},
    ]


def test_an_error_about_a_value_is_told_and_logged_without_it(shop: Workshop, spark: SparkSession) -> None:
    shop.write("conf/sql/numbers.sql", CAST)
    shop.write("conf/pipelines/shop.yml", f"{PIPELINE}  numbers: {{sql: sql/numbers.sql}}\n")
    options = spark.sparkContext.getConf().get("spark.driver.extraJavaOptions") or ""
    spark_log = Path(re.findall(r"-Dweir\.log=([^\s\"]+)", options)[0])

    result = shop.run("shop")

    assert result.exit_code == 1
    assert (
        '[CAST_INVALID_INPUT] ••• of the type "STRING" cannot be cast to "INT" SQLSTATE: 22018'
        in result.message
    )
    [run_log] = (shop.root / "logs" / "shop").glob("*.log")
    for told in (str(result), run_log.read_text(encoding="utf-8"), spark_log.read_text(encoding="utf-8")):
        assert "CAST_INVALID_INPUT" in told
        assert "s3cret" not in told
