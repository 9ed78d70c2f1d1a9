"""A table below bronze has read every record of it, over all time; one that was passed over is missed."""

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

from spark_jobs.lake import failpoints, streams, tables
from spark_jobs.report.account import account_of
from spark_jobs.run import execute
from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import Status
from tests.conftest import PROFILE, Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
dimensions: {shops: {from: orders, key: shop, sequence_by: id, columns: {shop: string, id: bigint}}}
silver:
  orders: {from: orders, columns: {id: bigint}}
  lines: {from: orders, explode: lines, columns: {id: bigint, sku: {type: string, from: lines.sku}}}
"""
RECORD = '{"id": %d, "shop": "a", "lines": [{"sku": "x"}, {"sku": "y"}]}\n'


def pass_over(chunk: int) -> Callable[..., Any]:
    """Streams of bronze as they would be if they had passed over a commit."""
    read_rows = streams.read_rows

    def read(spark: Any, path: str, **options: Any) -> Any:
        rows = read_rows(spark, path, **options)
        return rows.where(f"_chunk <> {chunk}") if "/bronze/" in path else rows

    return read


def missing(workshop: Workshop) -> dict[str, int]:
    return {table["table"]: table["missing"] for table in account_of(workshop.project, "shop")["tables"]}


def test_records_that_a_table_has_passed_over_are_missed_until_it_is_rebuilt(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    workshop.land("orders/1.json", RECORD % 1)
    assert workshop.run("shop").exit_code == 0
    assert set(missing(workshop).values()) == {0}
    with monkeypatch.context() as blind:  # in a version that did not look
        blind.setattr(streams, "read_rows", pass_over(2))
        blind.setattr(execute, "reconcile", lambda *_: None)
        workshop.land("orders/2.json", RECORD % 2 + "no JSON\n")
        workshop.land("orders/gone.json.gz", "no gzip")
        assert workshop.run("shop").exit_code == 0

    assert missing(workshop) == {
        "bronze.orders": 0,
        "dimension.shops": 2,
        "silver.orders": 2,
        "silver.lines": 2,
    }

    workshop.land("orders/3.json", RECORD % 3)
    result = workshop.run("shop")
    errors = {table.table: str(table.error) for table in result.tables if table.error}
    assert result.status is Status.FAILED
    assert sorted(errors) == ["dimension.shops", "silver.lines", "silver.orders"]
    assert (
        "silver.lines: its batches have read 2 records of bronze.orders, which has 4"
        in errors["silver.lines"]
    )
    assert "`weir rebuild shop silver.lines`" in errors["silver.lines"]

    rebuild_tables(
        workshop.project,
        "shop",
        PROFILE,
        ["dimension.shops", "silver.orders", "silver.lines"],
        False,
        workshop._start,
    )
    assert workshop.rows("shop.silver.orders", "id") == [(1,), (2,), (3,)]
    assert set(missing(workshop).values()) == {0}


def test_a_batch_of_bronze_that_lacks_records_is_missed_by_every_later_run(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whether the process that wrote it has counted them, or was killed before it could."""
    workshop.write(
        "conf/pipelines/shop.yml",
        "pipeline: shop\nsources: {a: {format: json, path: a}, b: {format: json, path: b}}\n",
    )
    for source in "ab":
        workshop.land(f"{source}/1.json", RECORD % 1 + RECORD % 2)
    append = tables.append_held
    with monkeypatch.context() as losing:
        losing.setattr(tables, "append_held", lambda rows, *rest: append(rows[1:], *rest))
        assert "1 of 2 rows are not accounted for" in workshop.run("shop", "bronze.a").message
    with monkeypatch.context() as losing, failpoints.arm("write.after:bronze.b=raise"):
        losing.setattr(tables, "append_held", lambda rows, *rest: append(misplace(rows), *rest))
        assert workshop.run("shop", "bronze.b").status is Status.FAILED

    again = [workshop.run("shop").tables for _ in range(2)]

    errors = [{table.table: str(table.error) for table in found} for found in again]
    assert (
        "bronze.a: batch 0 is in the table, but an earlier run found that it lacks records"
        in errors[0]["bronze.a"]
    )
    assert "bronze.b batch 0 (stream): 1 of 2 rows are not accounted for" in errors[0]["bronze.b"]
    assert all("lacks records" in error for error in errors[1].values())


def misplace(rows: pa.Table) -> pa.Table:
    """The first of two rows in a chunk that there is not."""
    place = rows.column_names.index("_chunk")
    return rows.set_column(
        place,
        rows.schema.field("_chunk"),
        pa.array([99, rows["_chunk"][1].as_py()], rows.schema.field("_chunk").type),
    )
