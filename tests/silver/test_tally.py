"""What is counted of a batch, and what of it may stand in a plan."""

from spark_jobs.silver.fact_table import dimension_table, silver_table
from spark_jobs.silver.tally import ranged_key
from tests.conftest import Workshop

SHOP = """
pipeline: shop
sources: {payments: {format: json, path: payments}, people: {format: json, path: people}}
dimensions:
  people:
    from: people
    columns: {mail: {type: string, sensitive: true}, v: int, city: string}
    key: mail
    sequence_by: v
silver:
  payments:
    from: payments
    columns:
      id: bigint
      v: int
      Card: {type: bigint, sensitive: true}
      last_digits: {type: bigint, sql: card % 10000}
      payer: string
    key: [id, Card, last_digits, payer]
    sequence_by: v
    lookup: {people: {on: payer, take: [city]}}
"""


def test_the_range_of_a_key_is_not_asked_for_where_it_tells_of_a_sensitive_value(
    idle_workshop: Workshop,
) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", SHOP)
    pipeline = idle_workshop.project.pipelines["shop"]

    assert ranged_key(silver_table(pipeline, "payments")) == ["id"]
    assert ranged_key(dimension_table(pipeline, "people")) == []
