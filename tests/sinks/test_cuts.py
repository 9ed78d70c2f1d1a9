"""Runs that die in the middle of a delivery: the next one goes on, and the other side has every row once."""

import json
import signal
from pathlib import Path
from typing import Any

import pytest
from pyarrow import dataset

from spark_jobs.lake import failpoints
from spark_jobs.run.result import Status
from tests.conftest import ROOT, Workshop
from tests.faults import shop as faults
from tests.sinks import shop
from tests.sinks.shop import ask, current, json_rows, missing, order, parquet_rows, run

pytestmark = pytest.mark.spark

SINKS = """\
  a_log: {from: silver.log, to: files, format: parquet, path: log, compact_after: 3}
  b_pg: {from: silver.log, to: jdbc, connection: warehouse, table: public.cut_log, mode: append}
  c_hook: {from: silver.log, to: python, function: hooks/push.py:send}
"""
HOOK = """
import json, os

def send(rows, batch):
    with open(os.path.join({root!r}, "sent.txt"), "a") as file:
        file.write(json.dumps([batch.id, sorted(row["id"] for row in rows.collect())]) + chr(10))
"""
CUTS = (
    "write.before:sink.a_log@begin",
    "write.after:sink.a_log@stream",
    "write.before:sink.b_pg@commit",
    "marker.before:sink.b_pg@stream",
    "write.after:sink.c_hook@stream",
    "write.before:sink.a_log@compact",
    "consumed.before:sink.b_pg",
)
"""Before and after the publish of a set of files, in the middle of the transaction, between the delivery and
its marker, and so on.
"""


def test_every_row_arrives_once_whatever_is_cut(workshop: Workshop, database: str) -> None:
    workshop.write("conf/hooks/push.py", HOOK.format(root=str(workshop.root)))
    shop.declare(workshop, shop.LOG, SINKS, database)
    for number, cut in enumerate(CUTS):
        workshop.land(f"orders/{number}.json", order(number, 1, "Ann") + order(number, 1, "Ann"))
        with failpoints.arm(f"{cut}=raise"):
            assert workshop.run("shop").status is Status.FAILED, cut
        seen = parquet_rows(workshop, "log", "id") if current(workshop, "log").exists() else []
        assert all(seen.count(row) == 2 for row in seen), f"{cut}: a reader saw half a batch"
        run(workshop)

    everything = sorted((number,) for number in range(len(CUTS)) for _ in range(2))
    assert parquet_rows(workshop, "log", "id") == everything
    assert ask(database, "SELECT id FROM public.cut_log ORDER BY id") == [
        [str(number)] for (number,) in everything
    ]
    calls = [json.loads(line) for line in (workshop.root / "sent.txt").read_text().splitlines()]
    by_batch = dict(calls)
    assert len(calls) > len(by_batch), "no batch was handed over twice"
    assert all(by_batch[batch] == rows for batch, rows in calls), (
        "a batch that is handed over again has other rows"
    )
    assert sorted(row for rows in by_batch.values() for row in rows) == [number for (number,) in everything]
    assert missing(workshop) == {}
    assert run(workshop).status is Status.NOTHING_TO_DO
    check_the_files(workshop)


def check_the_files(workshop: Workshop) -> None:
    """Small files were put together, the manifest says what is there, and a reader that began with an older
    set can still end.
    """
    manifest = json.loads((current(workshop, "log") / "_manifest.json").read_text())
    listed = [name for entry in manifest["entries"] for name in entry["files"]]
    assert sorted(listed) == sorted(file.name for file in current(workshop, "log").glob("*.parquet"))
    assert manifest["rows"] == 2 * len(CUTS)
    assert max(entry["batches"] for entry in manifest["entries"]) >= 3
    sets: list[Path] = sorted((workshop.root / "exports/log/.sets").iterdir())
    counted = [_rows_of(found) for found in sets]
    assert counted == sorted(counted)
    assert not (workshop.root / "exports/log/.staging").exists()


def _rows_of(folder: Path) -> Any:
    return dataset.dataset(sorted(folder.glob("*.parquet"))).count_rows()


@pytest.mark.system
def test_a_process_that_is_killed_in_the_middle_of_a_transaction_or_behind_a_publish_doubles_nothing(
    workshop: Workshop, database: str
) -> None:
    sinks = """\
  log: {from: silver.log, to: files, format: json, path: log}
  pg: {from: silver.log, to: jdbc, connection: warehouse, table: public.killed, mode: append}
"""
    shop.declare(workshop, shop.LOG, sinks, database)
    (workshop.root / ".envs").symlink_to(ROOT / ".envs")
    for number, point in enumerate(("write.before:sink.pg@commit", "write.after:sink.log@stream")):
        workshop.land(f"orders/{number}.json", order(number, 1, "Ann"))
        assert faults.run_when_free(workshop, "run", "shop", armed=f"{point}=kill")[0] == -signal.SIGKILL
        if number == 0:
            assert ask(database, "SELECT to_regclass('public.killed') IS NULL") == [["t"]]

    result = faults.run_here_when_free(workshop)

    assert result.exit_code in (0, 3), result.message
    assert [row["id"] for row in json_rows(workshop, "log")] == [0, 1]
    assert ask(database, "SELECT id FROM public.killed ORDER BY id") == [["0"], ["1"]]
    assert missing(workshop) == {}


def test_a_sink_that_fails_leaves_the_tables_published_and_says_no_value(workshop: Workshop) -> None:
    hook = "def send(row, batch):\n    if row['id'] == 2:\n        raise ValueError(f'cannot send {row}')\n"
    workshop.write("conf/hooks/push.py", hook)
    shop.declare(
        workshop, shop.LOG, "  hook: {from: silver.log, to: python, function: hooks/push.py:send, per: row}\n"
    )
    workshop.land("orders/1.json", order(1, 1, "Ann") + order(2, 1, "Secret"))

    failed = workshop.run("shop")

    assert failed.status is Status.FAILED
    assert "sink.hook failed" in failed.message
    assert (
        "hooks/push.py:send raised ValueError at hooks/push.py line 3, for the row of orders/1.json line 2"
        in failed.message
    )
    assert workshop.rows("shop.silver.log", "id") == [(1,), (2,)]
    logs = "".join(file.read_text() for file in (workshop.root / "logs").rglob("*.log"))
    assert "Secret" not in failed.message + logs
    workshop.write("conf/hooks/push.py", "def send(row, batch):\n    pass\n")
    assert workshop.plan("shop").exit_code == 0
    assert {table.table: table.counts.inserted for table in run(workshop).tables}["sink.hook"] == 2
