"""The test kit, tried on the shipped sessions: what docs/stateful.md shows for tests of one's own classes. No
Spark is started.
"""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from conf.hooks.sessions import UserSessions
from spark_jobs.config import load_project
from spark_jobs.testkit import Trial, WrongColumns, try_state
from tests.conftest import ROOT

TEN = datetime(2026, 3, 1, 10, tzinfo=UTC)


def click(user: int, minute: float) -> dict[str, object]:
    return {"user_id": user, "clicked_at": TEN + timedelta(minutes=minute), "page": "/"}


def session(user: int, start: float, end: float, count: int) -> dict[str, object]:
    times = {"started_at": TEN + timedelta(minutes=start), "ended_at": TEN + timedelta(minutes=end)}
    return {"user_id": user, **times, "click_count": count}


@pytest.fixture
def trial() -> Trial:
    return try_state(load_project(ROOT, {}), "clickstream", "user_sessions")


def test_a_session_is_emitted_once_the_watermark_says_that_it_is_over(trial: Trial) -> None:
    assert trial.feed(click(1, 0), click(1, 20)) == []
    assert trial.advance(TEN + timedelta(minutes=64)) == [], (
        "its user may still click, and come 15 minutes late"
    )
    assert trial.advance(TEN + timedelta(minutes=65)) == [session(1, 0, 20, 2)]


def test_the_order_of_clicks_does_not_matter(trial: Trial) -> None:
    """The click between them makes one session of two."""
    assert trial.feed(click(1, 29), click(1, 40), click(1, 29)) == []
    assert trial.feed(click(1, 35), click(2, 30)) == []
    assert trial.feed(click(3, 100)) == [session(1, 29, 40, 4), session(2, 30, 30, 1)]


def test_a_user_may_have_a_session_that_is_over_and_one_that_is_open(trial: Trial) -> None:
    trial.feed(click(1, 0))
    assert trial.feed(click(1, 50)) == [session(1, 0, 0, 1)]
    assert trial.advance(TEN + timedelta(minutes=95)) == [session(1, 50, 50, 1)]


def test_a_late_row_does_not_reach_the_class(trial: Trial) -> None:
    trial.feed(click(1, 60))
    assert trial.feed(click(1, 45), click(1, 46)) == []
    assert [row["clicked_at"] for row in trial.late] == [TEN + timedelta(minutes=45)]
    assert trial.advance(TEN + timedelta(hours=3)) == [session(1, 46, 60, 2)]


def test_a_row_with_other_columns_than_declared_fails_the_test(tmp_path: Path, trial: Trial) -> None:
    gold = trial.gold.model_copy(update={"columns": {"user_id": "bigint"}})
    wrong = Trial(UserSessions(), gold, trial.declared, trial.event_time)
    wrong.feed(click(1, 0))

    with pytest.raises(WrongColumns, match="declared are user_id"):
        wrong.advance(TEN + timedelta(hours=3))


def test_state_by_the_clock_of_the_runs_is_tried_as_well() -> None:
    trial = try_state(load_project(ROOT / "docs" / "examples", {}), "visits", "first_clicks")

    assert trial.feed({"user_id": 1, "click_id": "b", "clicked_at": TEN}) == [{"user_id": 1, "click_id": "b"}]
    assert trial.feed({"user_id": 1, "click_id": "c", "clicked_at": TEN}) == []
