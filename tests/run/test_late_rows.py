"""Windows that close, and rows that come after: shown once closed, repaired with a revision, or set aside
with their lateness.
"""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

from spark_jobs.lake import streams
from spark_jobs.lake.selection import Selection
from spark_jobs.run.decisions import apply_request
from spark_jobs.run.order import QuarantineRequest
from spark_jobs.run.rebuild import rebuild_tables
from tests.conftest import PROFILE, Workshop
from tests.verify.conftest import verified

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: feed
sources: {clicks: {format: json, path: clicks}}
silver:
  clicks: {from: clicks, columns: {at: timestamp, page: string}, event_time: {column: at, future: 1 day}}
gold:
  closed: {from: silver.clicks, window: {size: 10 minutes}, measures: {n: count(*)}, watermark: 10 minutes, emit: append}
  open:   {from: silver.clicks, window: {size: 10 minutes}, measures: {n: count(*)}, watermark: 10 minutes}
  kept:   {from: silver.clicks, window: {size: 10 minutes, slide: 5 minutes}, measures: {n: count(*)}, watermark: 10 minutes, late: keep}
  final:  {from: silver.clicks, window: {size: 10 minutes}, measures: {n: count(*)}, watermark: 10 minutes, late: keep, emit: append}
"""
NOON = datetime(2024, 5, 1, 12, tzinfo=UTC)


def click(*minutes: float) -> str:
    return "".join(
        f'{{"at":"{(NOON + timedelta(minutes=minute)).isoformat()}","page":"p"}}\n' for minute in minutes
    )


def windows(workshop: Workshop, table: str, *more: str) -> list[tuple[Any, ...]]:
    """Windows by the minute of their start."""
    rows = workshop.rows(f"feed.{table}", "window_start", "n", *more)
    return sorted(((start - NOON) // timedelta(minutes=1), *rest) for start, *rest in rows)


def run(workshop: Workshop) -> dict[str, Any]:
    result = workshop.run("feed")
    assert result.exit_code == 0, result.message
    return {table.table: table for table in result.tables}


def test_rows_after_the_watermark_are_late_in_any_grouping_of_files(
    workshop: Workshop, new_workshop: Any
) -> None:
    """12:02 and 12:11 come first, then 12:31 closes everything up to 12:20, then 12:04 comes late."""
    files = [
        click(2, 11),
        click(31) + '{"at":"2099-01-01T00:00:00Z","page":"poison"}\n{"page":"no time"}\n',
        click(4, 32),
    ]
    at_once = new_workshop()
    for where in (workshop, at_once):
        where.write("conf/pipelines/feed.yml", PIPELINE)
    late = 0
    for number, text in enumerate(files):
        workshop.land(f"clicks/{number}.json", text)
        at_once.land(f"clicks/{number}.json", text)
        tables = run(workshop)
        late += tables["gold.open"].counts.late
        if number == 0:
            assert windows(workshop, "gold.open", "_revision") == [(0, 1, 0), (10, 1, 0)]
            assert not (workshop.root / "lake/feed/gold/closed").exists()
        if number == 1:
            assert windows(workshop, "gold.closed", "_revision") == [(0, 1, 0), (10, 1, 0)]
    all_at_once = run(at_once)

    for where in (workshop, at_once):
        assert windows(where, "gold.closed") == [(0, 2), (10, 1)]
        assert windows(where, "gold.open") == [(0, 2), (10, 1), (30, 2)]
        assert windows(where, "gold.kept") == [(-5, 1), (0, 1), (5, 1), (10, 1), (25, 2), (30, 2)]
        assert windows(where, "gold.final") == [(0, 1), (10, 1)]
        kept = where.rows("feed.late.gold.kept", "window_start", "event_at", "late_seconds", "line")
        event = NOON + timedelta(minutes=4)
        assert kept == [(NOON - timedelta(minutes=5), event, 1020.0, 1), (NOON, event, 1020.0, 1)]
        assert where.rows("feed.late.gold.final", "window_start", "event_at") == [(NOON, event)]
    assert late == all_at_once["gold.open"].counts.late == 1
    assert windows(workshop, "gold.closed", "_revision") == [(0, 2, 1), (10, 1, 0)]
    assert windows(workshop, "gold.open", "_revision") == [(0, 2, 1), (10, 1, 0), (30, 2, 0)]


def tables_of(workshop: Workshop, *tables: str) -> dict[str, list[tuple[Any, ...]]]:
    late = workshop.rows("feed.late.gold.kept", "window_start", "event_at")
    return {"late": late, **{table: windows(workshop, f"gold.{table}") for table in tables}}


def only(*tables: str) -> str:
    """The pipeline with these gold tables: every other one takes its time."""
    head, gold, rest = PIPELINE.partition("gold:\n")
    return (
        head
        + gold
        + "".join(line for line in rest.splitlines(keepends=True) if line.strip().startswith(tables))
    )


def test_a_late_row_is_kept_once_though_it_came_before_the_first_window(workshop: Workshop) -> None:
    """What closed its window are rows that the table leaves out."""
    of_returns = only("kept").replace("slide: 5 minutes}", "slide: 5 minutes}, where: page = 'r'")
    of_returns = of_returns.replace(", slide: 5 minutes", "")
    workshop.write("conf/pipelines/feed.yml", of_returns)
    for number, text in enumerate(
        [click(31), click(4).replace('"p"', '"r"'), click(32).replace('"p"', '"r"')]
    ):
        workshop.land(f"clicks/{number}.json", text)
        run(workshop)

    assert tables_of(workshop, "kept") == {"late": [(NOON, NOON + timedelta(minutes=4))], "kept": [(30, 1)]}


def test_a_rebuild_takes_files_in_the_order_of_their_arrival(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Delta gives a table's first snapshot by the times of its data files, and a thousand at a time: here
    one.
    """
    workshop.write("conf/pipelines/feed.yml", only("kept"))
    for number, text in enumerate([click(2, 11), click(31), click(33)]):
        workshop.land(f"clicks/{number}.json", text)
    assert workshop.run("feed", files_per_batch=1).exit_code == 0
    before = tables_of(workshop, "kept")
    write_later(workshop.root / "lake/feed/bronze/clicks/_delta_log", version=1)
    read_rows = streams.read_rows

    def read_bounded(
        spark: SparkSession, path: str, files_per_batch: int = 1, checkpoint: str | None = None
    ) -> DataFrame:
        return read_rows(spark, path, files_per_batch)

    monkeypatch.setattr(streams, "read_rows", read_bounded)

    rebuilt = rebuild_tables(workshop.project, "feed", PROFILE, ["silver.clicks"], start=workshop._start)

    assert rebuilt.exit_code == 0, rebuilt.message
    assert before["late"] == []
    assert tables_of(workshop, "kept") == before


def write_later(log: Path, version: int) -> None:
    """As if the data file of this version had been written last, as a compaction does with old rows."""
    commit = log / f"{version:020}.json"
    actions = [json.loads(line) for line in commit.read_text(encoding="utf-8").splitlines()]
    for action in actions:
        if "add" in action:
            action["add"]["modificationTime"] += 3_600_000
    commit.write_text("".join(f"{json.dumps(action)}\n" for action in actions), encoding="utf-8")
    for checksum in log.glob("*.crc"):
        checksum.unlink()
    DeltaLog = SparkSession.active().sparkContext._jvm.org.apache.spark.sql.delta.DeltaLog  # type: ignore[union-attr]  # noqa: N806
    DeltaLog.clearCache()


RULE = """
expectations:
  known_page:
    type: expect_column_values_to_be_in_set
    kwargs: {column: page, value_set: [p]}
    on_fail: quarantine
    reason: Other pages do not exist.
"""


def test_what_is_decided_of_rows_later_moves_no_watermark_in_runs_verification_or_rebuild(
    workshop: Workshop,
) -> None:
    """Rows of 12:31 and 12:32 are quarantined by a rule. They show how far the feed has come all the same,
    once, when they come.
    """
    workshop.write("conf/pipelines/feed.yml", only("closed", "kept"))
    workshop.write("expectations/feed/silver.clicks.yml", RULE)
    workshop.land(
        "clicks/0.json", click(2, 11) + click(31).replace('"p"', '"q"') + click(32).replace('"p"', '"r"')
    )
    run(workshop)
    workshop.land("clicks/1.json", click(4))
    run(workshop)
    before = tables_of(workshop, "closed", "kept")
    assert before["late"] == [
        (NOON + timedelta(minutes=start), NOON + timedelta(minutes=4)) for start in (-5, 0)
    ]
    assert before["closed"] == [(0, 2), (10, 1)]

    workshop.write("expectations/feed/silver.clicks.yml", RULE.replace("[p]", "[p, q]"))
    for action in ("replay", "discard"):  # q passes by now, r is given up
        quarantine_request = QuarantineRequest(
            "silver.clicks", action, Selection(rules=("known_page",)), "ada@here", "wrong rule"
        )
        done = apply_request(workshop.project, "feed", PROFILE, quarantine_request, start=workshop._start)
        assert done.exit_code == 0, done.message
    after = tables_of(workshop, "closed", "kept")
    assert after == {**before, "kept": [*before["kept"], (25, 1), (30, 1)]}
    assert verified(workshop, "feed") == []

    rebuilt = rebuild_tables(workshop.project, "feed", PROFILE, ["silver.clicks"], start=workshop._start)

    assert rebuilt.exit_code == 0, rebuilt.message
    assert tables_of(workshop, "closed", "kept") == after, "no window that was shown is open again"
    assert verified(workshop, "feed") == []
