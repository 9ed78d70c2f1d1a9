"""Asks Airflow's API whether its parts are healthy, and says what keeps a start from becoming so."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from service.state import Component, State

PARTS = ("scheduler", "dag_processor", "triggerer")
POLL_SECONDS = 0.3
LAST_LINES = 15


class ServiceFailed(Exception):
    """A part of Airflow did not start; the message has the last lines of its log."""

    def __init__(self, part: str, reason: str, log: Path) -> None:
        self.part, self.reason, self.log = part, reason, log
        super().__init__(f"Airflow's {part} {reason}. The last lines of {log}:\n{last_lines(log)}")


def wait_until_listening(state: State, deadline: float) -> None:
    """Returns when the API server answers; ServiceFailed when a part ends before, or the time is over."""
    _wait(state, deadline, lambda: [] if ask_health(state.url) else ["api_server"])


def wait_until_healthy(state: State, deadline: float) -> None:
    """Returns when all parts have reported; ServiceFailed when one ends before, or the time is over."""
    _wait(state, deadline, lambda: unhealthy_parts(ask_health(state.url), state.since))


def _wait(state: State, deadline: float, ask: Callable[[], list[str]]) -> None:
    began = time.monotonic()
    while waiting := ask():
        if ended := state.ended():
            raise ServiceFailed(ended[0].name, "ended as soon as it was started", ended[0].log)
        if time.monotonic() > deadline:
            slow = _component(state, waiting[0])
            raise ServiceFailed(slow.name, f"was not healthy within {deadline - began:.0f} seconds", slow.log)
        time.sleep(POLL_SECONDS)


def ask_health(url: str) -> dict[str, Any]:
    """What the API says of all parts; nothing while it does not answer."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/api/v2/monitor/health", timeout=5) as answer:
            health = json.load(answer)
    except (OSError, ValueError):  # refused, cut, an error page
        return {}
    return health if isinstance(health, dict) else {}


def unhealthy_parts(health: Mapping[str, Any], since: str) -> list[str]:
    """The parts that have not reported since then, the API server first. A heartbeat from before is that of
    an earlier start.
    """
    if not health:
        return ["api_server", *PARTS]
    return [
        part for part in PARTS if not _has_reported(health.get(part) or {}, f"latest_{part}_heartbeat", since)
    ]


def _has_reported(part: Mapping[str, Any], heartbeat: str, since: str) -> bool:
    beat = part.get(heartbeat)
    return (
        part.get("status") == "healthy"
        and bool(beat)
        and datetime.fromisoformat(str(beat)) >= datetime.fromisoformat(since)
    )


def _component(state: State, part: str) -> Component:
    return state.of(part.replace("_", "-"))


def last_lines(log: Path) -> str:
    try:
        written = log.read_text(encoding="utf-8", errors="replace").rstrip().splitlines()
    except FileNotFoundError:
        return "  (it wrote nothing)"
    return "\n".join(f"  {line}" for line in written[-LAST_LINES:]) or "  (it wrote nothing)"
