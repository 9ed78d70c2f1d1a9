"""Upkeep of a pipeline: figures, what is kept for whom, what else goes; and that runs, increments and
verification are right after it.
"""

import json
import os
import re
import time
from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession
from typer.testing import CliRunner

from spark_jobs.cli.app import app
from spark_jobs.config.loading import load_project
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.ledger_tables import Definition
from spark_jobs.lake.seen import Seen
from spark_jobs.lake.upkeep import RETENTION
from spark_jobs.run.maintain import Maintenance, TableUpkeep, maintain_pipeline
from spark_jobs.run.plan import due_tables, make_plan
from spark_jobs.run.result import Status
from spark_jobs.verify.pipeline import verify_pipeline
from spark_jobs.verify.result import Outcome
from tests.conftest import PROFILE, Workshop, unguarded

LOG = """
pipeline: log
sources: {lines: {format: json, path: lines}}
silver: {lines: {from: lines, columns: {n: bigint}}}
"""
BOARD = """
pipeline: board
gold: {per_hour: {from: log.silver.lines, window: {size: 1 hour}, measures: {n: count(*)}}}
"""
SHOP = """
pipeline: shop
sources:
  orders:  {format: json, path: orders}
  members: {format: json, path: members}
dimensions:
  members: {from: members, key: id, columns: {id: bigint, city: string, v: int}, sequence_by: v}
silver:
  orders:
    from: orders
    columns: {id: bigint, member: bigint, v: int, at: timestamp}
    key: id
    sequence_by: v
    event_time: at
    lookup: {members: {on: member, take: city, if_missing: park}}
gold:
  per_hour: {from: silver.orders, window: {size: 1 hour}, group_by: city, measures: {n: count(*)}}
  total:    {sql: sql/total.sql}
"""
MONTH = 30 * 86_400


def age(root: Path) -> None:
    """A month passes for every data file below, and for what left the tables."""
    then = time.time() - MONTH
    for file in root.rglob("*.parquet"):
        if "_delta_log" not in file.parts:
            os.utime(file, (then, then))
    for commit in root.rglob("_delta_log/*.json"):
        earlier = re.sub(
            r'"deletionTimestamp":(\d+)',
            lambda found: f'"deletionTimestamp":{int(found[1]) - MONTH * 1000}',
            commit.read_text(),
        )
        commit.with_name(f".{commit.name}.crc").unlink(missing_ok=True)
        commit.write_text(earlier)


def by_table(done: Maintenance) -> dict[str, TableUpkeep]:
    return {table.table: table for table in done.tables}


@pytest.fixture
def log(idle_workshop: Workshop) -> Workshop:
    """Three commits of a bronze table, of which silver has consumed the last; a rebuild has made its
    generation 2.
    """
    idle_workshop.write("conf/pipelines/log.yml", LOG)
    lake = Lake(idle_workshop.project.lake, "log")
    for number in range(3):
        write_deltalake(lake.table("bronze.lines"), pa.table({"n": [number]}), mode="append")
    ledger = Ledger(lake, unguarded)
    ledger.write_definitions(
        "r", {"bronze.lines": Definition(1, {}, {}), "silver.lines": Definition(2, {}, {})}
    )
    ledger.write_table("r", "silver.lines", 1.0, {"bronze.lines": 2}, 0, 1, Counts())
    with hold_lease(lake.lease(), "log", "test"):
        return idle_workshop


def lake_of(workshop: Workshop) -> Lake:
    return Lake(workshop.project.lake, "log")


def maintain(workshop: Workshop, is_dry: bool = False) -> Maintenance:
    return maintain_pipeline(workshop.project, "log", is_dry)


def test_a_dry_run_says_what_there_is_to_do_and_does_nothing(log: Workshop) -> None:
    versions = log.versions()

    dry = maintain(log, is_dry=True)

    assert (dry.status, dry.message) == (Status.OK, "files put together: 3, tables: 1; this was a dry run")
    assert log.versions() == versions


def test_small_files_are_put_together_once_and_who_was_up_to_date_still_is(log: Workshop) -> None:
    first, second = maintain(log), maintain(log)

    table = by_table(first)["bronze.lines"]
    assert (table.before.count, table.after.count, table.is_compacted) == (3, 1, True)
    assert table.after.mean_bytes > table.before.mean_bytes
    assert first.status is Status.OK
    assert (second.status, second.exit_code) == (Status.NOTHING_TO_DO, 3)
    assert Ledger(lake_of(log)).consumed_inputs()["silver.lines"] == {"bronze.lines": 3}
    assert DeltaTable(lake_of(log).table("bronze.lines")).version() == 3
    plan = make_plan(log.project.pipelines["log"], log.project.conf, lake_of(log))
    assert due_tables(plan)[0] == []


def test_facts_that_know_which_members_have_ended_stay_up_to_date_as_well(log: Workshop) -> None:
    members = (
        "members: {from: members, key: n, columns: {n: bigint, v: int}, sequence_by: v, delete_when: v < 0}"
    )
    lookup = "lookup: {members: {on: n, take: v, if_missing: park}}"
    pipeline = LOG.replace("sources: {", "sources: {members: {format: json, path: members}, ")
    pipeline = pipeline.replace("silver:", f"dimensions: {{{members}}}\nsilver:").replace(
        "bigint}}}", "bigint}, LOOKUP}}"
    )
    log.write("conf/pipelines/log.yml", pipeline.replace("LOOKUP", lookup))
    ended, ledger = "deleted.dimension.members", Ledger(lake_of(log), unguarded)
    write_deltalake(lake_of(log).table("dimension.members"), pa.table({"n": [1], "v": [1]}))
    for number in range(3):
        write_deltalake(lake_of(log).table(ended), pa.table({"n": [number]}), mode="append")
    consumed = {"bronze.lines": 2, "dimension.members": 0, ended: 2}
    ledger.write_table("r", "silver.lines", 1.0, consumed, 0, 1, Counts())

    assert by_table(maintain(log))[ended].is_compacted

    assert Ledger(lake_of(log)).consumed_inputs()["silver.lines"] == {**consumed, "bronze.lines": 3, ended: 3}
    plan = make_plan(log.project.pipelines["log"], log.project.conf, lake_of(log))
    assert due_tables(plan)[0] == []


def test_a_reader_that_is_behind_stays_due_and_keeps_its_files(log: Workshop) -> None:
    Ledger(lake_of(log), unguarded).write_table("r", "silver.lines", 1.0, {"bronze.lines": 1}, 0, 1, Counts())
    maintain(log)
    age(log.root / "lake")

    kept = by_table(maintain(log))["bronze.lines"]

    assert kept.kept_for == "3 old files stay, because silver.lines still needs them"
    assert Ledger(lake_of(log)).consumed_inputs()["silver.lines"] == {"bronze.lines": 1}
    assert len(DeltaTable(lake_of(log).table("bronze.lines"), version=2).to_pyarrow_table()) == 3
    Ledger(lake_of(log), unguarded).write_table("r", "silver.lines", 1.0, {"bronze.lines": 3}, 0, 1, Counts())
    assert by_table(maintain(log))["bronze.lines"].deleted == 3
    assert maintain(log).status is Status.NOTHING_TO_DO


def test_a_batch_that_was_cut_keeps_the_versions_it_began_with(log: Workshop) -> None:
    Ledger(lake_of(log), unguarded).begin_batch("r", ("silver.lines", "stream", 2, 7), {"bronze.lines": 1})
    Ledger(lake_of(log), unguarded).begin_batch("r", ("silver.lines", "stream", 1, 0), {"bronze.lines": 0})
    maintain(log)
    age(log.root / "lake")

    kept_for = by_table(maintain(log))["bronze.lines"].kept_for

    assert kept_for is not None
    assert re.fullmatch(
        r"3 old files stay, because batch 7 of silver.lines \(stream\), begun .+ and not ended, still needs"
        r" them",
        kept_for,
    )


def test_a_cut_batch_of_another_pipeline_keeps_what_it_reads_and_a_reader_that_is_behind_does_not(
    log: Workshop,
) -> None:
    log.write(
        "conf/pipelines/log.yml", LOG.replace("{n: bigint}}", "{n: bigint, at: timestamp}, event_time: at}")
    )
    log.write("conf/pipelines/board.yml", BOARD)
    path, board = lake_of(log).table("silver.lines"), Ledger(Lake(log.project.lake, "board"), unguarded)
    for number in range(3):
        write_deltalake(path, pa.table({"n": [number]}), mode="append")
    maintain(log)
    age(log.root / "lake")

    # It read the changes after version 0, up to version 2, when it was killed.
    board.begin_batch("r", ("gold.per_hour", "changes", 1, 0), {"log.silver.lines": 2, "after": 0})
    kept_for = by_table(maintain(log))["silver.lines"].kept_for

    assert kept_for is not None
    assert kept_for.startswith("3 old files stay, because batch 0 of board.gold.per_hour (changes), begun ")
    assert len(DeltaTable(path, version=2).to_pyarrow_table()) == 3
    board.write_batch("r", ("gold.per_hour", "changes", 1, 0), datetime.now(UTC), 0, Counts(), Seen())
    board.write_table("r", "gold.per_hour", 1.0, {"log.silver.lines": 1}, 0, 1, Counts())
    assert by_table(maintain(log))["silver.lines"].deleted == 3


def test_a_pipeline_that_is_not_loaded_is_asked_by_its_ledger(log: Workshop) -> None:
    path, board = lake_of(log).table("silver.lines"), Ledger(Lake(log.project.lake, "board"), unguarded)
    for number in range(3):
        write_deltalake(path, pa.table({"n": [number]}), mode="append")
    maintain(log)
    age(log.root / "lake")
    log.write("conf/pipelines/board.yml", "no pipeline")
    (log.root / "lake" / "strange").mkdir()
    board.begin_batch("r", ("gold.per_hour", "changes", 1, 0), {"log.silver.lines": 2, "after": 0})

    done = maintain_pipeline(load_project(log.root, only="log"), "log")

    kept_for = by_table(done)["silver.lines"].kept_for
    assert kept_for is not None
    assert "batch 0 of board.gold.per_hour (changes)" in kept_for


def test_what_is_old_beside_the_tables_goes_and_the_rest_stays(log: Workshop) -> None:
    log.write("conf/lakehouse.yml", "landing: landing\nlake: lake\nprofile: local\nkeep_logs: 10 days\n")
    lake, then = lake_of(log), time.time() - 11 * 86_400
    for folder in (
        lake.checkpoint("silver.lines", 1),
        lake.checkpoint("silver.lines", 2),
        lake.checkpoint("gold.other", 1),
        lake.stage,
    ):
        Path(folder).mkdir(parents=True)
    for name in ("old.log", "new.log", "old.txt"):
        log.write(f"logs/log/{name}", "x")
    for name in ("old.log", "old.txt"):
        os.utime(log.root / "logs" / "log" / name, (then, then))

    done = maintain(log)

    assert done.removed == {"old checkpoints": 1, "cut rebuilds": 1, "reports": 0, "logs": 1}
    assert sorted(path.name for path in (log.root / "logs" / "log").iterdir()) == ["new.log", "old.txt"]
    assert [Path(lake.checkpoint("silver.lines", number)).exists() for number in (1, 2)] == [False, True]
    assert Path(lake.checkpoint("gold.other", 1)).exists()
    assert not Path(lake.stage).exists()


def test_while_a_rebuild_is_being_swapped_its_tables_and_what_it_built_are_left_alone(log: Workshop) -> None:
    lake = lake_of(log)
    Path(lake.stage).mkdir()
    Path(lake.checkpoint("silver.lines", 3)).mkdir(parents=True)
    Ledger(lake, unguarded).write_definitions("r", {"silver.lines": Definition(3, {}, {}, "swapping")})

    done = maintain(log)

    assert "bronze.lines" not in by_table(done)
    assert Path(lake.stage).exists()
    assert Path(lake.checkpoint("silver.lines", 3)).exists()


def test_a_table_whose_retention_is_too_short_is_refused_and_the_others_are_looked_after(
    log: Workshop,
) -> None:
    path = lake_of(log).table("silver.lines")
    for number in range(2):
        write_deltalake(
            path, pa.table({"n": [number]}), mode="append", configuration={RETENTION: "interval 0 days"}
        )

    done = maintain(log)

    assert done.exit_code == 2
    assert f"silver.lines: its property {RETENTION} is 'interval 0 days'" in done.message
    assert by_table(done)["silver.lines"].after.count == 2
    assert by_table(done)["bronze.lines"].after.count == 1


def test_the_command_ends_with_5_while_somebody_else_holds_the_pipeline(
    log: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WEIR_HOME", str(log.root))
    with hold_lease(lake_of(log).lease(), "log", "weir run"):
        held = CliRunner().invoke(app, ["maintain", "--json"])
    free = CliRunner().invoke(app, ["maintain", "log", "--json"])

    assert held.exit_code == 5
    assert json.loads(held.stdout)["pipelines"][0]["status"] == "leased"
    assert free.exit_code == 0
    tables = {table["table"]: table for table in json.loads(free.stdout)["tables"]}
    assert tables["bronze.lines"]["before"]["files"] == 3
    assert tables["bronze.lines"]["after"]["files"] == 1


def order(number: int, member: int, version: int, hour: int) -> str:
    return f'{{"id":{number},"member":{member},"v":{version},"at":"2024-05-01T{hour:02}:10:00Z"}}\n'


@pytest.mark.spark
def test_after_the_upkeep_there_is_nothing_to_do_and_the_next_increment_is_right(
    workshop: Workshop, spark: SparkSession
) -> None:
    workshop.write("conf/pipelines/shop.yml", SHOP)
    workshop.write("conf/sql/total.sql", "SELECT count(*) AS n FROM silver.orders")
    deliveries = [
        (order(1, 1, 1, 8) + order(2, 7, 1, 9) + "x\n", '{"id":1,"city":"Ulm","v":1}\n'),
        (order(1, 1, 2, 10) + order(3, 1, 1, 9), '{"id":7,"city":"Rome","v":1}\n'),
        (order(4, 7, 1, 12), '{"id":1,"city":"Bonn","v":2}\n'),
        (
            order(3, 1, 2, 12) + order(5, 9, 1, 13),
            '{"id":7,"city":"Paris","v":2}\n{"id":9,"city":"Oslo","v":1}\n',
        ),
    ]

    def take_in(number: int) -> None:
        for source, text in zip(("orders", "members"), deliveries[number], strict=True):
            workshop.land(f"{source}/{number}.json", text)
        result = workshop.run("shop")
        assert result.exit_code == 0, result.message

    for number in range(3):
        take_in(number)

    first = maintain_pipeline(workshop.project, "shop")
    tables = by_table(first)
    assert first.status is Status.OK, first.message
    for table in ("bronze.orders", "bronze.members", "arrivals.orders", "ledger.batches"):
        assert (tables[table].before.count > 1, tables[table].after.count) == (True, 1), table
    assert Workshop(workshop.root, None).run("shop").status is Status.NOTHING_TO_DO
    assert maintain_pipeline(workshop.project, "shop").status is Status.NOTHING_TO_DO

    age(workshop.root / "lake")
    second = maintain_pipeline(workshop.project, "shop")
    assert {table.table for table in second.tables if table.deleted} >= {
        "bronze.orders",
        "silver.orders",
        "dimension.members",
    }
    assert [table.kept_for for table in second.tables if table.kept_for] == []
    assert list((workshop.root / "lake/shop/silver/orders/_change_data").glob("*.parquet")) == []
    assert Workshop(workshop.root, None).run("shop").status is Status.NOTHING_TO_DO
    assert maintain_pipeline(workshop.project, "shop").status is Status.NOTHING_TO_DO

    take_in(3)
    assert workshop.rows("shop.silver.orders", "id", "city") == [
        (1, "Bonn"),
        (2, "Paris"),
        (3, "Bonn"),
        (4, "Paris"),
        (5, "Oslo"),
    ]
    found = verify_pipeline(workshop.project, "shop", PROFILE, start=lambda: nullcontext(spark))
    assert found.status is Outcome.OK, found.message
