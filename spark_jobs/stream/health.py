"""How an always-on stream fares: kept in memory, in a file that a watchdog can look at, and behind the health
endpoint.
"""

import json
import os
import threading
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from pathlib import Path
from typing import Any


class StreamState(StrEnum):
    STARTING = "starting"
    WORKING = "working"
    WAITING = "waiting"
    """For something new."""
    BLOCKED = "blocked"
    """By rules: a person has to decide; other tables go on."""
    FAILING = "failing"
    """Tries again after a while."""
    OUTSIDE = "outside"
    """Another command has the pipeline."""
    ENDED = "ended"


@dataclass(frozen=True)
class Health:
    pipeline: str
    trigger: str
    started_at: datetime
    mood: StreamState = StreamState.STARTING
    message: str = ""
    changed_at: datetime | None = None
    """When it last gave a sign of life."""
    increments: int = 0
    """That had work."""
    last_increment_at: datetime | None = None
    failures: int = 0
    """One after the other, until now."""
    pid: int = field(default_factory=os.getpid)

    def is_well(self, now: datetime, stale_after: timedelta) -> bool:
        """Neither failing nor silent for so long. What rules hold is healthy: it is the data that is not."""
        return (
            self.mood not in (StreamState.FAILING, StreamState.ENDED)
            and now - (self.changed_at or self.started_at) <= stale_after
        )

    def as_dict(self) -> dict[str, Any]:
        return {
            name: value.isoformat() if isinstance(value, datetime) else value
            for name, value in vars(self).items()
        }


class Heartbeat:
    """The newest health of a stream, for whoever asks, and in the heartbeat file where one is wanted."""

    def __init__(
        self,
        health: Health,
        heartbeat: Path | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._health, self._heartbeat, self._clock = health, heartbeat, clock
        self._lock = threading.Lock()
        self.tell()

    @property
    def now(self) -> Health:
        return self._health

    def tell(self, **changes: Any) -> None:
        """Change what is known of the stream; without anything to say it is a sign of life."""
        with self._lock:
            self._health = replace(self._health, changed_at=self._clock(), **changes)
            if self._heartbeat:
                self._heartbeat.parent.mkdir(parents=True, exist_ok=True)
                new = self._heartbeat.with_name(f".{self._heartbeat.name}.new")
                new.write_text(json.dumps(self._health.as_dict()) + "\n", encoding="utf-8")
                new.replace(self._heartbeat)
