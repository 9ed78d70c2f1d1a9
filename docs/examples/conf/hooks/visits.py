"""State per user with a time to live: a visit is a user's first click, or the first one in thirty days by the
clock of the runs.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle, TimerValues

FORGOTTEN_AFTER = timedelta(days=30)


class FirstClicks(StatefulProcessor):
    def init(self, handle: StatefulProcessorHandle) -> None:
        ttl = FORGOTTEN_AFTER // timedelta(milliseconds=1)
        self.seen = handle.getValueState("seen", "click_id string", ttlDurationMs=ttl)

    def handleInputRows(self, key: Any, rows: Iterator[Any], timerValues: TimerValues) -> Iterator[Row]:
        first = min(rows, key=lambda row: (row["clicked_at"], row["click_id"]))
        if not self.seen.exists():
            yield Row(user_id=key[0], click_id=first["click_id"])
        self.seen.update((first["click_id"],))

    def close(self) -> None:
        """Nothing is held outside the state."""
