"""Lakes that an older Weir wrote: their tables have fewer columns, and runs go on with them."""

import pytest

from spark_jobs.bronze import ingest
from spark_jobs.lake import failpoints
from spark_jobs.landing import arrivals
from spark_jobs.run.result import Status
from tests.conftest import Workshop

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: shop
sources: {orders: {format: json, path: orders}}
silver: {orders: {from: orders, columns: {id: bigint}}}
"""


def test_arrivals_from_before_objects_had_tags_are_read_and_added_to(workshop: Workshop, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ingest, "READ_BY_DRIVER", 0)
    workshop.write("conf/pipelines/shop.yml", PIPELINE)
    with monkeypatch.context() as older:
        older.setattr(arrivals, "ARRIVALS", arrivals.ARRIVALS.remove(arrivals.ARRIVALS.get_field_index("tag")))
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
