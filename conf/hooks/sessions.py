"""Sessions of users by Spark's transformWithState: a session ends when its user did nothing for half an hour.

What enters: the clicks of one user, in any order. What leaves: one row per session, once the watermark says
that it is over. Open sessions that a click lies between become one, so that the order of clicks that are not
late does not matter.
"""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import (
    ExpiredTimerInfo,
    StatefulProcessor,
    StatefulProcessorHandle,
    TimerValues,
)

GAP = timedelta(minutes=30)
MILLISECOND = timedelta(milliseconds=1)
Session = tuple[int, int, int]
"""First click, last click (both in milliseconds since 1970) and the number of clicks."""


class UserSessions(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        self.handle = handle
        self.open = handle.getListState("open", "started_ms bigint, ended_ms bigint, click_count int")

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        sessions = [(started, ended, count) for started, ended, count in self.open.get()]
        for row in rows:
            at = row["_event_at"].replace(tzinfo=UTC) - datetime(1970, 1, 1, tzinfo=UTC)
            sessions = _take_in(sessions, at // MILLISECOND)
        self._keep(sessions)
        return iter(())

    def handleExpiredTimer(
        self, key: Any, timerValues: TimerValues, expiredTimerInfo: ExpiredTimerInfo
    ) -> Iterator[Row]:
        sessions = [(started, ended, count) for started, ended, count in self.open.get()]
        over = [session for session in sessions if _ends_at(session) <= timerValues.getCurrentWatermarkInMs()]
        self._keep([session for session in sessions if session not in over])
        for started, ended, count in over:
            yield Row(user_id=key[0], started_at=_time(started), ended_at=_time(ended), click_count=count)

    def close(self) -> None:
        """Nothing is held outside the state."""

    def _keep(self, sessions: list[Session]) -> None:
        """One timer stands for each session that is open."""
        wanted = {_ends_at(session) for session in sessions}
        known = set(self.handle.listTimers())
        for timer in known - wanted:
            self.handle.deleteTimer(timer)
        for timer in wanted - known:
            self.handle.registerTimer(timer)
        self.open.put(list(sessions)) if sessions else self.open.clear()


def _take_in(sessions: list[Session], at: int) -> list[Session]:
    """The sessions with one more click: those that it lies within half an hour of become one with it."""
    gap = GAP // MILLISECOND
    near = [session for session in sessions if session[0] - gap < at < session[1] + gap]
    times = [at, *(session[0] for session in near), *(session[1] for session in near)]
    joined = (min(times), max(times), 1 + sum(session[2] for session in near))
    return sorted([*(session for session in sessions if session not in near), joined])


def _ends_at(session: Session) -> int:
    return session[1] + GAP // MILLISECOND


def _time(milliseconds: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + milliseconds * MILLISECOND
