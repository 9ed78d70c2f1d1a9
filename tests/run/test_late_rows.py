"""Windows that close, and rows that come after: shown once closed, repaired with a revision, or set aside with their lateness."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.conftest import Workshop

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
    return "".join(f'{{"at":"{(NOON + timedelta(minutes=minute)).isoformat()}","page":"p"}}\n' for minute in minutes)


def windows(workshop: Workshop, table: str, *more: str) -> list[tuple[Any, ...]]:
    """Windows by the minute of their start."""
    rows = workshop.rows(f"feed.{table}", "window_start", "n", *more)
    return sorted(((start - NOON) // timedelta(minutes=1), *rest) for start, *rest in rows)


def run(workshop: Workshop) -> dict[str, Any]:
    result = workshop.run("feed")
    assert result.exit_code == 0, result.message
    return {table.table: table for table in result.tables}


def test_rows_after_the_watermark_are_late_in_any_grouping_of_files(workshop: Workshop, new_workshop: Any) -> None:
    """12:02 and 12:11 come first, then 12:31 closes everything up to 12:20, then 12:04 comes late."""
    files = [click(2, 11), click(31) + '{"at":"2099-01-01T00:00:00Z","page":"poison"}\n{"page":"no time"}\n', click(4, 32)]
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
