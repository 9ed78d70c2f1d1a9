"""One lake after three runs, with corrections, late members and every kind of table: it is clean, and each
damage is named by its key.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from spark_jobs.cli import verify as command
from spark_jobs.cli.app import app
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.verify.pipeline import verify_pipeline
from spark_jobs.verify.result import Kind
from tests.conftest import PROFILE, ROOT, Workshop, weir_environ
from tests.verify.conftest import Verify, checks, differing

pytestmark = pytest.mark.spark

Row = dict[str, Any]

PIPELINE = """
pipeline: shop
sources:
  orders:  {format: json, path: orders}
  members: {format: csv, path: members}
  nothing: {format: json, path: nothing}
dimensions:
  members:
    from: members
    key: id
    columns: {id: bigint, city: string, at: timestamp}
    sequence_by: at
    history: scd2
  newest:
    from: members
    key: id
    columns: {id: bigint, last_city: {type: string, from: city}, at: timestamp}
    sequence_by: at
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, version: bigint, at: timestamp, amount: "decimal(9,2)", tags: "array<string>"}
    key: id
    sequence_by: version
    event_time: at
    where: amount >= 0
    lookup:
      members: {on: member, take: city}
      newest:  {on: member, take: last_city}
  lines:
    from: orders
    explode: items
    columns: {id: bigint, sku: {type: string, from: items.sku}, pieces: {type: int, from: items.n, required: true}}
  log:
    from: orders
    columns: {id: bigint, version: bigint, amount: int, share: {type: double, sql: 100 / amount}}
  unheard_of:
    from: nothing
    columns: {id: bigint}
gold:
  per_hour:
    from: silver.orders
    window: {size: 2 hours, slide: 1 hour}
    group_by: city
    measures: {order_count: count(*), revenue: sum(amount)}
  totals:
    from: silver.lines
    measures: {pieces: sum(pieces)}
  cities: {sql: sql/cities.sql}
  busiest: {python: "hooks/shop.py:busiest", inputs: [gold.cities, silver.log]}
  never: {sql: sql/never.sql}
"""
HOOK = (
    'def busiest(cities, log):\n    return cities.crossJoin(log.selectExpr("count(*) AS'
    ' log_count")).where("city is not null")\n'
)
CITIES = """SELECT o.last_city AS city, count(*) AS order_count, max(m._valid_from) AS since
FROM silver.orders AS o LEFT JOIN dimension.members AS m ON m.id = o.member AND m._valid_to IS NULL GROUP BY 1"""


def order(number: int, member: int | None, version: int, at: str, amount: str = "10", items: str = "") -> str:
    who = "" if member is None else f'"member":{member},'
    tags = '"tags":["x",null],' if number % 2 else ""
    return f'{{"id":{number},{who}{tags}"version":{version},"at":"2024-05-01T{at}:00Z","amount":{amount},"items":[{items}]}}\n'


@pytest.fixture(scope="module")
def shop(new_workshop: Callable[[], Workshop]) -> Workshop:
    workshop = new_workshop()
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.write("conf/hooks/shop.py", HOOK)
    workshop.write("conf/sql/cities.sql", CITIES)
    workshop.write("conf/sql/never.sql", "SELECT count(*) AS n FROM silver.unheard_of")
    line, broken = '{"sku":"a","n":2},{"sku":"a","n":2}', '{"sku":"b"},{"sku":"b","n":"many"}'
    third = (
        order(1, 1, 2, "12:10")
        + "x\n"
        + order(4, 9, 1, "10:50", "1e3", line)
        + order(2, 2, 1, "10:40", "0", line)
    )
    deliveries = [
        {
            "orders/1.json": (
                order(1, 1, 1, "10:10", items=line)
                + order(2, 2, 1, "10:40", "0", broken)
                + order(3, None, 1, "11:00", "-1")
            )
        },
        {
            "members/1.csv": "id,city,at\n1,Ulm,2024-01-01\n2,Bonn,2024-01-01\n1,Ulm,2024-02-01\n",
            "orders/2.json": order(1, 1, 0, "09:00"),
        },
        {
            "members/2.csv": "id,city,at\n1,Bern,2024-01-15\n2,Bonn,2024-09-01\n,Nowhere,x\n",
            "orders/3.json": third,
        },
    ]
    for delivery in deliveries:
        for path, text in delivery.items():
            workshop.land(path, text)
        result = workshop.run("shop")
        assert result.exit_code == 0, result.message
    return workshop


def damage(workshop: Workshop, name: str, change: Callable[[list[Row]], list[Row]]) -> None:
    """Put a table with changed rows in the place of the one that stands."""
    path = workshop.root / "lake" / "shop" / name
    rows = DeltaTable(path).to_pyarrow_table()
    changed = sorted(rows.to_pylist(), key=repr)
    shutil.rmtree(path)
    write_deltalake(path, pa.Table.from_pylist(change(changed), schema=rows.schema))


def altered(rows: list[Row], is_meant: Callable[[Row], bool], **values: Any) -> list[Row]:
    """The rows with other values in the one that is meant."""
    [meant] = [row for row in rows if is_meant(row)]
    return [row | values if row is meant else row for row in rows]


def at(day: int, month: int = 1, hour: int = 0) -> datetime:
    return datetime(2024, month, day, hour, tzinfo=UTC)


def is_first_of_ulm(row: Row) -> bool:
    return (row["city"], row["window_start"]) == ("Ulm", at(1, month=5, hour=11))


def test_several_runs_leave_what_bronze_gives_and_each_damage_is_named_by_its_key(
    shop: Workshop, verify: Verify, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One story, as every verification takes seconds."""
    before = shop.versions()
    found = verify(shop, "shop")

    assert {
        name: (check.problems, check.first, check.error) for name, check in differing(found).items()
    } == {}
    assert (found.status, found.exit_code) == ("ok", 0)
    assert {name: check.rows for name, check in checks(found).items()} == {
        "dimension.members": 4,
        "quarantine.dimension.members": 1,
        "dimension.newest": 2,
        "quarantine.dimension.newest": 1,
        "silver.orders": 3,
        "quarantine.silver.orders": 1,
        "silver.lines": 6,
        "quarantine.silver.lines": 3,
        "silver.log": 5,
        "quarantine.silver.log": 3,
        "gold.per_hour": 6,
        "gold.totals": 1,
        "gold.cities": 3,
        "gold.busiest": 2,
    }
    assert shop.versions() == before, "verifying writes nothing"

    def wrong_orders(rows: list[Row]) -> list[Row]:
        changed = altered(rows, lambda row: row["id"] == 1, amount=Decimal("11.50"))
        added = next(row for row in rows if row["id"] == 2) | {"id": 77}
        return [*(row for row in changed if row["id"] != 4), added]

    damage(shop, "silver/orders", wrong_orders)
    damage(shop, "silver/log", lambda rows: [*rows, rows[0]])
    damage(shop, "silver/lines", lambda rows: [rows[0] | {"pieces": 3}, *rows[1:]])
    damage(
        shop,
        "dimension/members",
        lambda rows: altered(rows, lambda row: row["_valid_to"] == at(15), _valid_to=at(16)),
    )
    damage(shop, "gold/per_hour", lambda rows: altered(rows, is_first_of_ulm, revenue=Decimal(0)))
    damage(shop, "gold/cities", lambda rows: [*rows, rows[0] | {"order_count": 5}])
    damage(shop, "quarantine/silver.lines", lambda rows: rows[1:])

    damaged = verify(shop, "shop", rows=2)

    assert (damaged.status, damaged.exit_code) == ("different", 1)
    assert {
        name: (check.only_here, check.only_recomputed, check.different)
        for name, check in differing(damaged).items()
    } == {
        "dimension.members": (0, 0, 1),
        "silver.orders": (1, 1, 1),
        "quarantine.silver.lines": (0, 1, 0),
        "silver.lines": (1, 1, 0),
        "silver.log": (1, 0, 0),
        "gold.per_hour": (0, 0, 1),
        "gold.cities": (1, 0, 0),
    }
    said = checks(damaged)
    assert [(row.kind, row.key, row.columns) for row in said["silver.orders"].first] == [
        (Kind.DIFFERENT, {"id": "1"}, {"amount": ("11.50", "10.00")}),
        (Kind.ONLY_RECOMPUTED, {"id": "4"}, said["silver.orders"].first[1].columns),
    ]
    assert said["silver.orders"].first[1].columns["member"] == (None, "9")
    assert said["silver.orders"].first[1].columns["city"] == (None, "NULL")
    [interval] = said["dimension.members"].first
    assert (interval.key, interval.columns) == (
        {"id": "1", "_valid_from": "2024-01-01 00:00:00"},
        {"_valid_to": ("2024-01-16 00:00:00", "2024-01-15 00:00:00")},
    )
    [window] = said["gold.per_hour"].first
    assert window.key == {
        "window_start": "2024-05-01 11:00:00",
        "window_end": "2024-05-01 13:00:00",
        "city": "'Ulm'",
    }
    assert window.columns == {"revenue": ("0.00", "10.00")}
    assert said["silver.log"].hint is None
    assert "has not taken in all of silver.orders" in str(said["gold.per_hour"].hint)

    monkeypatch.setattr(
        command, "verify_pipeline", partial(verify_pipeline, start=lambda: nullcontext(spark))
    )
    shown = CliRunner().invoke(
        app, ["verify", "shop", "--select", "silver.orders", "--rows", "1"], env={"WEIR_HOME": str(shop.root)}
    )

    assert shown.exit_code == 1
    assert "silver.orders: 3 rows, 1 only in the table, 1 only recomputed, 1 different" in shown.stdout
    assert "  id=1: amount: the table has 11.50, recomputed 10.00\n  and 2 more\n" in shown.stdout
    assert "1 of 2 tables differs" in shown.stderr


@pytest.mark.system
def test_the_command_verifies_in_a_session_of_its_own(shop: Workshop) -> None:
    shutil.copy(ROOT / "conf" / "log4j2.properties", shop.root / "conf")
    (shop.root / ".envs").symlink_to(ROOT / ".envs")
    command = [sys.executable, "-m", "spark_jobs.cli", "verify", "shop", "--select", "gold.totals", "--json"]

    environ = weir_environ(WEIR_HOME=str(shop.root), PYTHONPATH=str(ROOT))
    done = subprocess.run(
        command, capture_output=True, text=True, env=environ, cwd=shop.root, timeout=300, check=False
    )

    assert done.returncode == 0, done.stderr
    [table] = json.loads(done.stdout)["tables"]
    assert (table["table"], table["is_equal"], table["rows"]) == ("gold.totals", True, 1)
    assert "gold.totals" in done.stderr


def test_a_second_run_holds_the_pipeline(shop: Workshop, verify: Verify) -> None:
    with hold_lease(Lake(shop.project.lake, "shop").lease(), "shop", "weir run"):
        found = verify(shop, "shop")

    assert (found.status, found.exit_code) == ("leased", 5)
    assert "weir run" in found.message


def test_a_table_that_is_behind_its_inputs_is_said_to_be_so(workshop: Workshop, verify: Verify) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE.partition("gold:")[0])
    workshop.land("orders/1.json", order(1, 1, 1, "10:10"))
    assert workshop.run("shop", layer="bronze").exit_code == 0

    found = verify(workshop, "shop", "silver.log")

    [check] = differing(found).values()
    assert (check.problems, check.only_recomputed, check.rows) == (("there is no such table",), 1, 0)
    assert check.hint == "it has not taken in all of bronze.orders: `weir run shop`, then verify again"


def test_what_fails_in_one_table_does_not_hide_the_others(shop: Workshop, verify: Verify) -> None:
    shop.write("conf/hooks/shop.py", "def busiest(cities, log):\n    raise ValueError('no idea')\n")

    found = verify(shop, "shop", "gold.busiest", "gold.totals")

    assert (found.status, found.exit_code) == ("failed", 1)
    said = "HookRaised: hooks/shop.py:busiest raised ValueError at hooks/shop.py line 2"
    assert f"gold.busiest could not be recomputed: {said}" in found.message
    assert checks(found)["gold.totals"].is_equal
    shop.write("conf/hooks/shop.py", HOOK)


def test_nothing_there_to_verify(idle_workshop: Workshop) -> None:
    idle_workshop.write("conf/pipelines/shop.yml", PIPELINE)
    idle_workshop.write("conf/sql/cities.sql", "SELECT 1 AS one FROM silver.log")
    idle_workshop.write("conf/sql/never.sql", "SELECT 1 AS one FROM silver.log")

    found = verify_pipeline(idle_workshop.project, "shop", PROFILE)

    assert (found.status, found.exit_code) == ("nothing_to_do", 3)
    assert not (idle_workshop.root / "lake").exists()
