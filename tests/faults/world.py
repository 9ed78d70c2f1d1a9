"""A small world for properties: random files of facts and members, with dirt, for a pipeline that has every
kind of table.
"""

import json
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

from deltalake import DeltaTable

from tests.conftest import Workshop

PIPELINE = """
pipeline: world
sources:
  orders:  {{format: json, path: orders, files_per_batch: {files_per_batch}}}
  members: {{format: csv, path: members, files_per_batch: {files_per_batch}}}
dimensions:
  members:
    from: members
    key: id
    columns: {{id: bigint, city: string, at: timestamp}}
    sequence_by: at
    history: scd2
  newest:
    from: members
    key: id
    columns: {{id: bigint, latest: {{type: string, from: city}}, at: timestamp}}
    sequence_by: at
silver:
  orders:
    from: orders
    columns: {{id: bigint, v: int, op: string, member: bigint, at: timestamp, amount: {{type: "decimal(9,2)", required: true}}}}
    key: id
    sequence_by: v
    event_time: at
    delete_when: op = 'D'
    lookup:
      members: {{on: member, take: city, if_missing: park}}
  items:
    from: orders
    explode: items
    columns: {{id: bigint, member: bigint, at: timestamp, sku: {{type: string, from: items.sku}}}}
    event_time: at
    where: sku <> 'skip'
    lookup:
      newest:  {{on: member, take: latest, if_missing: quarantine}}
      members: {{on: member, take: city}}
gold:
  per_hour:
    from: silver.orders
    window: {{size: 2 hours, slide: 1 hour}}
    group_by: city
    measures: {{order_count: count(*), amount: sum(amount)}}
    watermark: 3 hours
  closed:
    from: silver.items
    window: {{size: 1 hour}}
    group_by: [latest, city]
    measures: {{item_count: count(*)}}
    watermark: 3 hours
    emit: append
  per_sku:
    from: silver.items
    group_by: [sku]
    measures: {{item_count: count(*)}}
"""
RULES = {
    "dimension.members": (
        """
expectations:
  no_bonn:
    type: expect_column_values_to_not_be_in_set
    kwargs: {column: city, value_set: [Bonn]}
    on_fail: quarantine
    reason: Bonn is closed.
"""
    ),
    "silver.orders": (
        """
expectations:
  usual_amount:
    type: expect_column_values_to_be_between
    kwargs: {column: amount, max_value: 9.5, row_condition: "member <> 3", condition_parser: spark}
    on_fail: quarantine
    reason: Only member 3 buys so much.
  some_amount:
    type: expect_column_min_to_be_between
    kwargs: {column: amount, min_value: 0}
    on_fail: block
    reason: Nobody is paid for buying.
"""
    ),
}
START = datetime(2024, 5, 1, tzinfo=UTC)
KEYS, MEMBERS, VERSIONS, HOURS = 25, 6, 4, 30
DIRT = (
    "no json",
    '{"id":1',
    "[]",
    '{"id":"x","v":1,"at":"2024-05-01","amount":1}',
    '{"v":1}',
    '{"id":3,"v":2,"at":"2099-01-01","amount":1}',
)
NOT_COMPARED = {
    "_processed_at",
    "_revision",
    "_arrived_at",
    "_seen_until",
    "_closed_until",
    "_confirmed_by",
    "set_aside_at",
}
NOT_COMPARED |= {
    "first_seen_at",
    "file_modified_at",
    "run_id",
    "batch",
    "arrived_at",
    "chunk",
    "seen_until",
    "closed_until",
    "_file",
    "_file_id",
    "_line",
}
KEYLESS = ("silver.items",)
TABLES = (
    "dimension.members",
    "dimension.newest",
    "silver.orders",
    "silver.items",
    "gold.per_hour",
    "gold.closed",
    "gold.per_sku",
)
SIDES = (
    *(
        f"quarantine.{table}"
        for table in ("silver.orders", "silver.items", "dimension.members", "dimension.newest")
    ),
    "parked.silver.orders",
    "deleted.silver.orders",
)


@dataclass(frozen=True)
class File:
    path: str
    text: str


def draw_files(seed: int, order_files: int, member_files: int) -> list[File]:
    """Files of versions of a few keys and members: repeated, corrected, deleted, moved between windows and
    members, broken.
    """
    random = Random(seed)
    orders = [
        File(f"orders/{number}.json", "".join(_order_line(random) for _ in range(random.randint(0, 40))))
        for number in range(order_files)
    ]
    return orders + [File(f"members/{number}.csv", _member_file(random)) for number in range(member_files)]


def _order_file(random: Random) -> str:
    return "".join(_order_line(random) for _ in range(random.randint(0, 40)))


def _order_line(random: Random) -> str:
    if random.random() < 0.08:
        return random.choice(DIRT) + "\n"
    key, version = random.randrange(KEYS), random.randrange(VERSIONS)
    # Half of the versions are what that version of the key always says, so that repetitions are exact.
    say = Random(f"{key} {version}") if random.random() < 0.5 else random
    if say.random() < 0.12:
        return json.dumps({"id": key, "v": version, "op": "D"}) + "\n"
    at = START + timedelta(minutes=say.randrange(HOURS * 60))
    record: dict[str, Any] = {
        "id": key,
        "v": version,
        "at": at.isoformat(),
        "amount": say.randrange(1000) / 100,
    }
    record["member"] = say.choice([None, *range(MEMBERS)])
    record["items"] = [{"sku": say.choice(["a", "b", "skip"])} for _ in range(say.randrange(3))]
    return json.dumps(record) + "\n"


def _member_file(random: Random) -> str:
    lines = []
    for _ in range(random.randint(0, 8)):
        at = START + timedelta(hours=random.randrange(-5, HOURS))
        lines.append(f"{random.randrange(MEMBERS)},{random.choice(['Ulm', 'Bonn', ''])},{at.isoformat()}\n")
    if random.random() < 0.3:
        lines.append("7,too few\n")
    return "id,city,at\n" + "".join(lines)


def write_pipeline(workshop: Workshop, files_per_batch: int) -> None:
    workshop.write("conf/pipelines/world.yml", PIPELINE.format(files_per_batch=files_per_batch))
    for table, rules in RULES.items():
        workshop.write(f"expectations/world/{table}.yml", rules)


def tables_of(workshop: Workshop) -> dict[str, list[str]]:
    """All that is a function of the files: every table and side table, row by row."""
    return {name: rows_of(workshop, name) for name in (*TABLES, *SIDES)}


def rows_of(workshop: Workshop, name: str) -> list[str]:
    layer, _, table = name.partition(".")
    path = workshop.root / "lake" / "world" / layer / table
    if not DeltaTable.is_deltatable(str(path)):
        return []
    left_out = NOT_COMPARED - ({"_file", "_file_id", "_line"} if name in KEYLESS else set())
    rows = DeltaTable(path).to_pyarrow_table()
    kept = [column for column in rows.column_names if column not in left_out]
    return sorted(repr(tuple(row.values())) for row in rows.select(kept).to_pylist())
