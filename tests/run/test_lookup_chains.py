"""Lookups that use what another lookup took: every order of arrival, grouping and crash gives one result."""

import json
import re
from random import Random
from typing import Any

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from tests.conftest import PROFILE, ROOT, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

CHAIN = """{
      boss: {on: region, take: {boss: regional_boss}},
      regions: {on: [country, part], as_of: at, take: region},
      customers: {on: customer, take: [country, {since: known_since}], if_missing: park}}"""
NATIONS = """from: customers, key: id, columns: {id: int, country: string, since: timestamp, v: int},
    lookup: {capitals: {on: country, take: capital}}"""
PIPELINE = f"""
pipeline: chain
sources:
  sales: {{format: json, path: sales}}
  customers: {{format: json, path: customers}}
  regions: {{format: json, path: regions}}
  bosses: {{format: json, path: bosses}}
  capitals: {{format: json, path: capitals}}
dimensions:
  customers:
    from: customers
    key: id
    columns: {{id: int, country: string, since: timestamp, v: int}}
    sequence_by: v
    delete_when: country = 'gone'
  regions:
    from: regions
    key: [country, part]
    columns: {{country: string, part: int, region: string, at: timestamp}}
    sequence_by: at
    history: scd2
    delete_when: region = 'gone'
  nations: {{{NATIONS}, sequence_by: v}}
  nation_history: {{{NATIONS}, sequence_by: since, history: scd2}}
  capitals: {{from: capitals, key: land, columns: {{land: string, capital: string, v: int}}, sequence_by: v}}
  boss: {{from: bosses, key: region, columns: {{region: string, boss: string, v: int}}, sequence_by: v}}
silver:
  sales:
    from: sales
    columns: {{id: int, customer: int, part: int, at: timestamp, v: int}}
    key: id
    sequence_by: v
    event_time: at
    lookup: {CHAIN}
  capital_sales:
    from: sales
    columns: {{id: int, customer: int, at: timestamp, v: int}}
    key: id
    sequence_by: v
    event_time: at
    lookup: {{nations: {{on: customer, take: {{capital: capital_now}}}}, nation_history: {{on: customer, take: capital}}}}
  items:
    from: sales
    explode: items
    columns: {{customer: int, part: int, at: timestamp, sku: {{type: string, from: items.sku}}}}
    lookup: {CHAIN.replace(", if_missing: park", "")}
gold:
  per_boss: {{from: silver.sales, group_by: [region, regional_boss], measures: {{sale_count: count(*)}}}}
"""
Row = dict[str, Any]
CUSTOMERS, COUNTRIES, PARTS, REGIONS = range(8), "AB", (1, 2), "NSEW"


def time(hour: int) -> str:
    return f"2024-05-01T{hour:02}:00:00Z"


def draw_rows(random: Random) -> dict[str, list[Row]]:
    """No two versions of a key have one sequence, so that what wins can be told without a hash."""
    return {
        "customers": [
            {"id": one, "v": v, "country": random.choice("AABB") if random.random() < 0.8 else "gone"}
            | {"since": time(v)}
            for one in CUSTOMERS
            for v in range(4)
        ],
        "regions": [
            {"country": country, "part": part, "at": time(hour), "region": random.choice([*REGIONS, "gone"])}
            for country in COUNTRIES
            for part in PARTS
            for hour in random.sample(range(20), 4)
        ],
        "capitals": [{"land": one, "v": v, "capital": f"{one}{v}"} for one in COUNTRIES for v in range(2)],
        "bosses": [{"region": one, "v": v, "boss": f"{one}{v}"} for one in "NSE" for v in range(3)],
        "sales": [
            {
                "id": one,
                "v": v,
                "customer": random.choice([*CUSTOMERS, None]),
                "at": time(random.randrange(24)),
            }
            | {"part": random.choice([*PARTS, None]), "items": [{"sku": "a"}, {"sku": "b"}]}
            for one in range(40)
            for v in range(2)
        ],
    }


def newest(rows: list[Row], *key: str) -> dict[Any, Row]:
    found: dict[Any, Row] = {}
    for row in sorted(rows, key=lambda row: str(row["v"])):
        found[tuple(row[name] for name in key)] = row
    return found


def expected(rows: dict[str, list[Row]]) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """What sales and their items say."""
    customers, bosses = newest(rows["customers"], "id"), newest(rows["bosses"], "region")

    def looked_up(sale: Row) -> tuple[Any, ...]:
        customer = customers.get((sale["customer"],))
        country = customer["country"] if customer and customer["country"] != "gone" else None
        versions = [
            one
            for one in rows["regions"]
            if country
            and (one["country"], one["part"]) == (country, sale["part"])
            and one["at"] <= sale["at"]
        ]
        region = max(versions, key=lambda one: str(one["at"]))["region"] if versions else None
        region = None if region == "gone" else region
        boss = bosses.get((region,))
        return country, region, boss["boss"] if boss else None

    sales = [(one["id"], *looked_up(one)) for one in newest(rows["sales"], "id").values()]
    items = [(sku, one["customer"], *looked_up(one)) for one in rows["sales"] for sku in "ab"]
    return sorted(sales, key=repr), sorted(items, key=repr)


def capitals(rows: dict[str, list[Row]]) -> list[tuple[Any, ...]]:
    """By sale the capital of its customer's country as it is, and as it was at the time of the sale."""
    capital = {land: one["capital"] for (land,), one in newest(rows["capitals"], "land").items()}
    now = newest(rows["customers"], "id")
    found = []
    for sale in newest(rows["sales"], "id").values():
        of = sale["customer"]
        then = [one for one in rows["customers"] if one["id"] == of and one["since"] <= sale["at"]]
        known = max(then, key=lambda one: str(one["since"])) if then else None
        found.append(
            (
                sale["id"],
                capital.get(now[of,]["country"]) if of is not None else None,
                capital.get(known["country"]) if known else None,
            )
        )
    return sorted(found, key=repr)


def text_of(rows: list[Row]) -> str:
    return "".join(
        json.dumps({name: value for name, value in row.items() if value is not None}) + "\n" for row in rows
    )


def check(workshop: Workshop, rows: dict[str, list[Row]]) -> None:
    sales, items = expected(rows)
    assert workshop.rows("chain.silver.sales", "id", "country", "region", "regional_boss") == sales
    sold = workshop.rows("chain.silver.capital_sales", "id", "capital_now", "capital")
    assert sold == capitals(rows)
    columns = ("sku", "customer", "country", "region", "regional_boss")
    assert workshop.rows("chain.silver.items", *columns) == items


@pytest.mark.parametrize("seed", [5, pytest.param(6, marks=pytest.mark.soak)])
def test_facts_follow_when_any_of_their_dimensions_changes(workshop: Workshop, seed: int) -> None:
    random = Random(seed)
    rows = draw_rows(random)
    workshop.write("conf/pipelines/chain.yml", PIPELINE)
    for found in rows.values():
        random.shuffle(found)
    cuts = (
        "write.after:silver.sales",
        "write.after:silver.sales@reenrich.customers",
        "write.before:silver.items@reenrich.regions",
        "write.after:dimension.nations@reenrich.capitals",
    )
    for run, cut in enumerate(cuts):
        for source, found in rows.items():
            workshop.land(f"{source}/{random.randrange(1000)}{run}.json", text_of(found[run :: len(cuts)]))
        with failpoints.arm(f"{cut}=raise"):
            workshop.run("chain")
        result = workshop.run("chain")
        assert result.exit_code in (0, 3), result.message

    check(workshop, rows)
    assert verified(workshop, "chain") == []
    tables = standing_tables(workshop.project, "chain")
    rebuilt = rebuild_tables(workshop.project, "chain", PROFILE, tables, start=workshop._start)
    assert rebuilt.exit_code == 0, rebuilt.message
    check(workshop, rows)


def test_the_example_of_the_documentation_finds_the_manager_by_the_region_of_the_shop(
    workshop: Workshop,
) -> None:
    text = (ROOT / "docs" / "pipeline-file.md").read_text(encoding="utf-8")
    [example] = re.findall(r"```yaml\n(pipeline: tills\n.*?)```", text, re.DOTALL)
    workshop.write("conf/pipelines/tills.yml", example)
    workshop.land("tills/receipts/1.json", '{"id":1,"shop":7,"at":"2024-05-02T10:00:00Z"}\n')
    workshop.land("tills/shops/1.csv", "shop,region,opened_at\n7,north,2024-05-01\n")
    workshop.land("tills/managers/1.csv", "region,manager\nnorth,Ann\nsouth,Bob\n")
    assert workshop.run("tills").exit_code == 0
    assert workshop.rows("tills.silver.receipts", "region", "manager", "phone") == [("north", "Ann", None)]

    workshop.land("tills/phones/1.csv", "person,phone\nAnn,11\nBob,22\n")
    assert workshop.run("tills").exit_code == 0
    assert workshop.rows("tills.silver.receipts", "region", "manager", "phone") == [("north", "Ann", "11")]

    workshop.land("tills/shops/2.csv", "shop,region,opened_at\n7,south,2024-05-02\n")
    assert workshop.run("tills").exit_code == 0

    assert workshop.rows("tills.silver.receipts", "region", "manager", "phone") == [("south", "Bob", "22")]
    assert verified(workshop, "tills") == []
