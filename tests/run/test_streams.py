"""Sources that are no files: a Delta table of somebody else, its changes, the rate and a socket; and the
fields that no column takes.
"""

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from spark_jobs.config.errors import UsageError
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.verdicts import Verdicts
from spark_jobs.run.bronze import start_bronze
from spark_jobs.run.context import RunContext
from spark_jobs.run.definitions import note_definitions
from spark_jobs.run.notices import Notices
from spark_jobs.run.order import new_order
from spark_jobs.run.plan import make_plan
from spark_jobs.session.settings import PER_BATCH
from tests.conftest import PROFILE, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources:
  orders: {format: delta, path: partner/orders, files_per_batch: 1}
  moves: {format: delta, path: partner/stock, changes: true}
  ticks: {format: rate, rows_per_second: 5}
silver:
  orders:
    from: orders
    columns: {id: bigint, at: timestamp, other: {type: string, rest: true}}
  stock:
    from: moves
    columns:
      sku: string
      count: int
      change: {type: string, from: _change_type}
      version: {type: bigint, from: _commit_version}
    key: sku
    sequence_by: version
    delete_when: change IN ('delete', 'update_preimage')
  ticks:
    from: ticks
    columns: {number: {type: bigint, from: value}, at: {type: timestamp, from: timestamp}}
    key: number
    sequence_by: at
"""


def orders(*ids: int) -> pa.Table:
    notes = pa.array(
        [{"text": "x", "by": None}] * len(ids), pa.struct([("text", pa.string()), ("by", pa.string())])
    )
    return pa.table({"id": ids, "at": pa.array([0] * len(ids), pa.timestamp("us", "UTC")), "note": notes})


def test_rows_and_changes_of_a_table_of_others_come_in_once(workshop: Workshop) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    of_orders, of_stock = str(workshop.landing / "partner/orders"), str(workshop.landing / "partner/stock")
    write_deltalake(of_orders, orders(1, 2))
    write_deltalake(of_orders, orders(3), mode="append")
    stock = pa.table({"sku": ["a", "b"], "count": pa.array([1, 2], pa.int32())})
    write_deltalake(of_stock, stock, configuration={"delta.enableChangeDataFeed": "true"})

    first = workshop.run("shop")
    write_deltalake(of_orders, orders(4), mode="append")
    DeltaTable(of_orders).optimize.compact()
    DeltaTable(of_stock).update(predicate="sku = 'a'", updates={"count": "7"})
    DeltaTable(of_stock).update(predicate="sku = 'a'", updates={"sku": "'moved'"})
    DeltaTable(of_stock).delete("sku = 'b'")
    second = workshop.run("shop")

    assert (first.exit_code, second.exit_code) == (0, 0), (first.message, second.message)
    assert [number for (number,) in workshop.rows("shop.silver.orders", "id")] == [1, 2, 3, 4]
    places = workshop.rows("shop.bronze.orders", "_file", "_line")
    assert len(set(places)) == len(places) == 4
    assert workshop.rows("shop.silver.stock", "sku", "count") == [("moved", 7)], (
        "also where the owner changes a key"
    )
    assert {json.loads(rest)["note"]["text"] for (rest,) in workshop.rows("shop.silver.orders", "other")} == {
        "x"
    }
    ticks = [number for (number,) in workshop.rows("shop.silver.ticks", "number")]
    assert sorted(ticks) == list(range(len(ticks)))

    DeltaTable(of_orders).delete("id = 1")
    changed = workshop.run("shop", "bronze.orders")

    assert changed.exit_code == 1
    assert "no longer has all that was to be read" in changed.message


def test_times_without_a_zone_of_a_table_of_others_keep_their_microseconds(workshop: Workshop) -> None:
    source, silver = (
        "{format: delta, path: partner/orders}",
        "{from: orders, columns: {id: bigint, at: timestamp}}",
    )
    workshop.write(
        "conf/pipelines/local.yml",
        f"pipeline: local\nsources: {{orders: {source}}}\nsilver: {{orders: {silver}}}\n",
    )
    rows = pa.table({"id": [1], "at": pa.array([1_000_000_123_456], pa.timestamp("us"))})
    write_deltalake(str(workshop.landing / "partner/orders"), rows)

    assert workshop.run("local").exit_code == 0

    [(record,)] = workshop.rows("local.bronze.orders", "record")
    assert json.loads(record)["at"] == "1970-01-12T13:46:40.123456"
    [(at,)] = workshop.rows("local.silver.orders", "at")
    assert at.microsecond == 123_456


FEED = """
pipeline: feed
sources:
  moves: {format: delta, path: partner/stock, changes: true, files_per_batch: 1}
  shops: {format: json, path: shops}
dimensions:
  shops: {from: shops, key: shop, columns: {shop: string, city: string, v: int}, sequence_by: v}
silver:
  stock:
    from: moves
    columns:
      sku: string
      count: int
      change: {type: string, from: _change_type}
      version: {type: bigint, from: _commit_version}
    key: sku
    sequence_by: version
    delete_when: change IN ('delete', 'update_preimage')
  parked:
    from: moves
    columns: {sku: string, shop: string, version: {type: bigint, from: _commit_version}}
    lookup: {shops: {on: shop, take: city, if_missing: park}}
"""


def stock(**counts: int) -> pa.Table:
    return pa.table(
        {
            "sku": [*counts],
            "count": pa.array(counts.values(), pa.int32()),
            "shop": [f"in {sku}" for sku in counts],
        }
    )


def test_a_table_of_others_that_is_overwritten_and_read_in_parts_keeps_every_row(workshop: Workshop) -> None:
    """One data file a batch: the first snapshot comes in three parts, and an overwrite in four: three take
    rows away, one brings them.
    """
    workshop.write("conf/pipelines/feed.yml", FEED)
    of_stock = str(workshop.landing / "partner/stock")
    for rows in (stock(a=1, b=2), stock(c=3, d=4), stock(e=5)):
        write_deltalake(of_stock, rows, mode="append", configuration={"delta.enableChangeDataFeed": "true"})
    first = workshop.run("feed")
    assert first.exit_code == 0, first.message
    assert len(set(workshop.rows("feed.bronze.moves", "_file_id", "_line"))) == 5
    assert len(set(workshop.rows("feed.parked.silver.parked", "file_id", "line"))) == 5

    workshop.land(
        "shops/1.json", "".join(f'{{"shop":"in {sku}","city":"city of {sku}","v":1}}\n' for sku in "abcde")
    )
    write_deltalake(of_stock, stock(a=7, b=2, e=9, f=6), mode="overwrite")
    DeltaTable(of_stock).update(predicate="sku = 'f'", updates={"count": "8"})
    second = workshop.run("feed")
    assert second.exit_code == 0, second.message

    assert workshop.rows("feed.silver.stock", "sku", "count") == [("a", 7), ("b", 2), ("e", 9), ("f", 8)]
    assert sorted(set(workshop.rows("feed.silver.parked", "sku", "city"))) == [
        (sku, f"city of {sku}") for sku in "abcde"
    ]
    assert [table.counts.ties for table in second.tables if table.table == "silver.stock"] == [0]
    assert (
        len(set(workshop.rows("feed.bronze.moves", "_file_id", "_line")))
        == len(workshop.rows("feed.bronze.moves"))
        == 16
    )
    assert verified(workshop, "feed") == []


@contextmanager
def lines_over_tcp(*lines: str) -> Iterator[int]:
    """A server that sends the lines to the first who comes."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        import threading

        def serve() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall("".join(f"{line}\n" for line in lines).encode())
                connection.recv(1)  # until the reader hangs up

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield server.getsockname()[1]


@contextmanager
def run_context(workshop: Workshop, pipeline: str) -> Iterator[RunContext]:
    project, spark = workshop.project, workshop.spark
    assert spark is not None
    lake = Lake(project.lake, pipeline)
    with hold_lease(lake.lease(), pipeline, "a test") as lease:
        plan = make_plan(project.pipelines[pipeline], project.conf, lake)
        order = new_order(project, PROFILE, plan, lease)
        plan, _ = note_definitions(plan, order.run_id)
        settings = {name: str(spark.conf.get(name)) for name in PER_BATCH}
        nobody: Any = lambda *_: None  # noqa: E731
        yield RunContext(
            replace(order, plan=plan),
            spark,
            settings,
            nobody,
            nobody,
            nobody,
            Verdicts(order.ledger),
            Notices(pipeline),
        )


def read_live(workshop: Workshop, pipeline: str, *lines: str) -> None:
    """What a stream does for a source that keeps nothing, until these lines are in bronze."""
    with lines_over_tcp(*lines) as port:
        text = workshop.root / "conf/pipelines" / f"{pipeline}.yml"
        workshop.write(
            f"conf/pipelines/{pipeline}.yml", text.read_text(encoding="utf-8").replace("9999", str(port))
        )
        bronze = workshop.root / "lake" / pipeline / "bronze" / "lines"
        known = DeltaTable(bronze).to_pyarrow_dataset().count_rows() if bronze.exists() else 0
        with run_context(workshop, pipeline) as run:
            running = start_bronze(run, "lines", {"processingTime": "0 seconds"})
            until = time.monotonic() + 60
            while (
                DeltaTable(bronze).to_pyarrow_dataset().count_rows() < known + len(lines)
                and time.monotonic() < until
            ):
                running.query.awaitTermination(1)
            running.query.stop()
        workshop.write(
            f"conf/pipelines/{pipeline}.yml", text.read_text(encoding="utf-8").replace(str(port), "9999")
        )


def test_a_query_that_stays_open_reads_a_socket_into_the_same_tables(workshop: Workshop) -> None:
    workshop.write(
        "conf/pipelines/talk.yml", "pipeline: talk\nsources:\n  lines: {format: socket, port: 9999}\n" + TALK
    )

    read_live(workshop, "talk", "cat dog", "Dog")
    read_live(workshop, "talk", "owl")
    result = workshop.run("talk")

    assert result.exit_code == 0, result.message
    assert workshop.rows("talk.silver.lines", "line") == [("Dog",), ("cat dog",), ("owl",)]
    assert workshop.plan("talk").status == "nothing_to_do"


TALK = "silver: {lines: {from: lines, columns: {line: {type: string, from: value}}}}\n"


def test_weir_run_refuses_a_socket_and_names_the_stream(idle_workshop: Workshop) -> None:
    from spark_jobs.stream.trigger import AVAILABLE_NOW, Trigger, check_trigger

    idle_workshop.write(
        "conf/pipelines/talk.yml", "pipeline: talk\nsources:\n  lines: {format: socket, port: 9999}\n" + TALK
    )

    with pytest.raises(UsageError, match="weir stream talk"):
        check_trigger(idle_workshop.project.pipelines["talk"], Trigger(AVAILABLE_NOW))
