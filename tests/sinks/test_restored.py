"""A lake, or the other side of a sink, that was restored from an older copy: batches of another history are
not taken for delivered.
"""

import shutil

import pytest

from spark_jobs.run.rebuild import rebuild_tables
from spark_jobs.run.result import State, Status
from tests.conftest import PROFILE, Workshop
from tests.sinks import shop
from tests.sinks.shop import ask, missing, order, parquet_rows, run

pytestmark = pytest.mark.spark

SINKS = """\
  log: {from: silver.log, to: files, format: parquet, path: log}
  pg: {from: silver.log, to: jdbc, connection: warehouse, table: public.restored, mode: append}
  whole: {from: silver.log, to: jdbc, connection: warehouse, table: public.restored_whole, mode: complete}
"""


def forget_tables(workshop: Workshop) -> None:
    assert workshop.spark is not None
    workshop.spark.sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()  # type: ignore[union-attr]


def delivered(workshop: Workshop, database: str) -> list[list[int]]:
    """The ids at the other side of each sink."""
    asked = [
        ask(database, f"SELECT id FROM public.{table} ORDER BY id")
        for table in ("restored", "restored_whole")
    ]
    return [
        [number for (number,) in parquet_rows(workshop, "log", "id")],
        *([int(row[0]) for row in rows] for rows in asked),
    ]


def test_after_a_restore_a_sink_passes_over_nothing_and_delivers_everything_when_asked(
    workshop: Workshop, database: str
) -> None:
    shop.declare(workshop, shop.LOG, SINKS, database)
    workshop.land("orders/1.json", order(1, 1, "Ann"))
    run(workshop)
    shutil.copytree(workshop.root / "lake", workshop.root / "backup")
    late = workshop.land("orders/2.json", order(2, 1, "Bob"))
    run(workshop)
    assert delivered(workshop, database) == [[1, 2], [1, 2], [1, 2]]

    shutil.rmtree(workshop.root / "lake")
    (workshop.root / "backup").rename(workshop.root / "lake")
    forget_tables(workshop)
    late.unlink()
    workshop.land("orders/3.json", order(3, 1, "Cem"))
    refused = workshop.run("shop")

    assert refused.status is Status.FAILED
    states = {table.table: (table.state, table.error or "") for table in refused.tables}
    for sink in ("sink.log", "sink.pg"):
        state, error = states[sink]
        assert state is State.FAILED
        assert "OtherHistory" in error
        assert f"`weir rebuild shop {sink}` to deliver everything again" in error
    assert states["sink.whole"][0] is State.DONE
    assert delivered(workshop, database) == [[1, 2], [1, 2], [1, 3]]

    assert (
        rebuild_tables(
            workshop.project, "shop", PROFILE, ["sink.log", "sink.pg"], False, workshop._start
        ).exit_code
        == 0
    )
    run(workshop)
    assert delivered(workshop, database) == [[1, 3], [1, 3], [1, 3]]
    workshop.land("orders/4.json", order(4, 1, "Dan"))
    run(workshop)
    assert delivered(workshop, database) == [[1, 3, 4], [1, 3, 4], [1, 3, 4]]
    assert missing(workshop) == {}
