"""Lookups through whole runs: facts that come before their dimension, and rows without a key of their own."""

import pytest

from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders:   {format: json, path: orders}
  products: {format: csv, path: products}
dimensions:
  products:
    from: products
    key: sku
    columns: {sku: string, category: string, at: timestamp}
    sequence_by: at
silver:
  lines:
    from: orders
    explode: items
    columns: {id: bigint, sku: {type: string, from: items.sku}}
    lookup: {products: {on: sku, take: category}}
gold:
  per_category:
    from: silver.lines
    group_by: category
    measures: {line_count: count(*)}
"""


def test_facts_are_published_before_any_member_is_known_and_corrected_when_it_comes(
    workshop: Workshop,
) -> None:
    """No file of the dimension has landed at first; and the lines of one order share
    their place in the file.
    """
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("orders/1.json", '{"id":1,"items":[{"sku":"a"},{"sku":"a"},{"sku":"b"},{}]}\n')

    first = workshop.run("shop")

    assert first.exit_code == 0, first.message
    assert workshop.rows("shop.silver.lines", "id", "sku", "category") == [
        (1, "a", None),
        (1, "a", None),
        (1, "b", None),
        (1, None, None),
    ]
    assert workshop.rows("shop.gold.per_category", "category", "line_count") == [(None, 4)]

    workshop.land("products/1.csv", "sku,category,at\na,toys,2024-01-01\nb,tools,2024-01-01\n")
    second = workshop.run("shop")

    assert second.exit_code == 0, second.message
    assert workshop.rows("shop.silver.lines", "id", "sku", "category") == [
        (1, "a", "toys"),
        (1, "a", "toys"),
        (1, "b", "tools"),
        (1, None, None),
    ]
    assert workshop.rows("shop.gold.per_category", "category", "line_count") == [
        ("tools", 1),
        ("toys", 2),
        (None, 1),
    ]
    assert {run.table: run.corrected for run in second.tables if run.corrected} == {"silver.lines": 3}
    assert Workshop(workshop.root, None).run("shop").status == "nothing_to_do"
