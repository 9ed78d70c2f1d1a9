"""Lakes that an older Weir wrote: their tables have fewer columns, and runs go on with them."""

import pytest

from spark_jobs.bronze import ingest
from spark_jobs.lake import failpoints, ledger
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger_batches import OLDER_UNPARK, UNPARK
from spark_jobs.lake.ledger_schemas import SCHEMAS
from spark_jobs.landing import arrivals, arrivals_schema
from spark_jobs.report.account import sum_up
from spark_jobs.run import silver
from spark_jobs.run.result import Status
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver: {orders: {from: orders, columns: {id: bigint}}}
"""
KEYED = PIPELINE.replace("{id: bigint}", "{id: bigint, v: int, note: string}, key: id, sequence_by: v")


def test_arrivals_from_before_objects_had_tags_are_read_and_added_to(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ingest, "READ_BY_DRIVER", 0)
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    with monkeypatch.context() as older:
        older.setattr(
            arrivals_schema,
            "ARRIVALS",
            arrivals_schema.ARRIVALS.remove(arrivals_schema.ARRIVALS.get_field_index("tag")),
        )
        workshop.land("orders/1.json", '{"id": 1}\n')
        assert workshop.run("shop").exit_code == 0
        workshop.land("orders/2.json", '{"id": 2}\n')
        with failpoints.arm("arrivals.after:bronze.orders=raise"):
            assert workshop.run("shop").status is Status.FAILED
    assert "tag" not in arrivals.read_arrivals(f"{workshop.root}/lake/shop/_weir/arrivals/orders")[0]

    assert workshop.run("shop").exit_code == 0  # reads what was registered then, and adds nothing
    workshop.land("orders/3.json", '{"id": 3}\n')
    assert workshop.run("shop").exit_code == 0

    assert workshop.rows("shop.silver.orders", "id") == [(1,), (2,), (3,)]
    assert workshop.run("shop").status is Status.NOTHING_TO_DO


def test_a_ledger_from_before_ties_were_counted_is_read_and_added_to(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    workshop.write("conf/pipelines/shop.yml", KEYED)
    with monkeypatch.context() as older:
        for name in ("tables", "batches"):
            schema = SCHEMAS[name]
            older.setitem(SCHEMAS, name, schema.remove(schema.get_field_index("ties")))
        workshop.land("orders/1.json", '{"id": 1, "v": 1, "note": "a"}\n')
        assert workshop.run("shop").exit_code == 0
    known = ledger.Ledger(Lake(workshop.project.lake, "shop"))
    assert "ties" not in known.rows("batches")[0]

    workshop.land("orders/2.json", '{"id": 1, "v": 1, "note": "b"}\n')
    result = workshop.run("shop")

    assert result.exit_code == 0, result.message
    assert sorted(row["ties"] or 0 for row in known.rows("batches") if row["table"] == "silver.orders") == [
        0,
        1,
    ]
    account = sum_up(workshop.project.pipelines["shop"], Lake(workshop.project.lake, "shop"))
    assert [(row["ties"], row["missing"]) for row in account if row["table"] == "silver.orders"] == [(1, 0)]


WAITING = """
pipeline: shop
sources: {orders: {format: json, path: orders}, members: {format: json, path: members}}
dimensions:
  members: {from: members, key: id, columns: {id: bigint, city: string, at: timestamp}, sequence_by: at}
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, v: int}
    key: id
    sequence_by: v
    lookup: {members: {on: member, take: city, if_missing: park}}
"""


@pytest.mark.parametrize("point", ["intent.after", "write.after", "marker.before"])
def test_waiting_rows_that_an_older_run_had_half_published_are_published_once(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch, point: str
) -> None:
    workshop.write("conf/pipelines/shop.yml", WAITING)
    workshop.land("orders/1.json", '{"id": 1, "member": 7, "v": 1}\n{"id": 2, "member": 8, "v": 1}\n')
    assert workshop.run("shop").exit_code == 0
    workshop.land("members/1.json", '{"id": 7, "city": "Ulm", "at": "2024-05-01T00:00:00Z"}\n')
    with monkeypatch.context() as older, failpoints.arm(f"{point}:silver.orders@release=raise"):
        older.setattr(silver, "UNPARK", OLDER_UNPARK)
        assert workshop.run("shop").status is Status.FAILED

    assert workshop.run("shop").exit_code == 0
    workshop.land("members/2.json", '{"id": 8, "city": "Bonn", "at": "2024-05-01T00:00:00Z"}\n')
    assert workshop.run("shop").exit_code == 0

    assert workshop.rows("shop.silver.orders", "id", "city") == [(1, "Ulm"), (2, "Bonn")]
    assert workshop.rows("shop.parked.silver.orders", "line") == []
    known = ledger.Ledger(Lake(workshop.project.lake, "shop"))
    waited = [row["step"] for row in known.rows("batches") if row["step"] in (UNPARK, OLDER_UNPARK)]
    assert (waited.count(OLDER_UNPARK), {*waited}) == (1, {OLDER_UNPARK, UNPARK})
    account = sum_up(workshop.project.pipelines["shop"], Lake(workshop.project.lake, "shop"))
    assert [(row["inserted"], row["missing"]) for row in account if row["table"] == "silver.orders"] == [
        (2, 0)
    ]
