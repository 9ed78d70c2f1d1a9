"""Lookups through whole runs: facts that come before their dimension, and rows without a key of their own."""

import pytest

from tests.conftest import Workshop
from tests.verify.conftest import verified

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


RENAMED = """
pipeline: parcels
sources:
  parcels: {format: json, path: parcels}
  people:  {format: csv, path: people}
  depots:  {format: csv, path: depots}
dimensions:
  people: {from: people, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at}
  depots: {from: depots, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at, history: scd2}
silver:
  parcels:
    from: parcels
    columns: {id: bigint, city: string, person: bigint, depot: bigint, at: timestamp}
    key: id
    event_time: at
    lookup:
      people: {on: person, take: [{city: home}, {city: home_again}, {at: moved_at}]}
      depots: {on: depot, take: {city: depot_city}, if_missing: park}
gold:
  per_home: {from: silver.parcels, group_by: [home, depot_city], measures: {parcel_count: count(*)}}
"""


def test_taken_columns_have_the_names_that_the_lookup_gives_them(workshop: Workshop) -> None:
    """The dimensions and the table have a column `city` each; members come before and after the facts."""
    workshop.write("conf/pipelines/parcels.yml", RENAMED)
    workshop.land(
        "parcels/1.json",
        '{"id":1,"city":"Rom","person":7,"depot":1,"at":"2024-01-02T00:00:00Z"}\n'
        '{"id":2,"city":"Bari","person":8,"depot":2,"at":"2024-01-02T00:00:00Z"}\n',
    )
    workshop.land("depots/1.csv", "id,city,at\n1,Turin,2024-01-01\n")
    workshop.land("people/1.csv", "id,city,at\n7,Milan,2024-01-01\n")

    first = workshop.run("parcels")

    assert first.exit_code == 0, first.message
    columns = ("id", "city", "home", "home_again", "depot_city")
    assert workshop.rows("parcels.silver.parcels", *columns) == [(1, "Rom", "Milan", "Milan", "Turin")]

    workshop.land("people/2.csv", "id,city,at\n7,Como,2024-02-01\n8,Pisa,2024-02-01\n")
    workshop.land("depots/2.csv", "id,city,at\n2,Lecce,2024-01-01\n")
    second = workshop.run("parcels")

    assert second.exit_code == 0, second.message
    assert workshop.rows("parcels.silver.parcels", *columns) == [
        (1, "Rom", "Como", "Como", "Turin"),
        (2, "Bari", "Pisa", "Pisa", "Lecce"),
    ]
    assert workshop.rows("parcels.gold.per_home", "home", "depot_city", "parcel_count") == [
        ("Como", "Turin", 1),
        ("Pisa", "Lecce", 1),
    ]
    assert verified(workshop, "parcels") == []
