"""A real Airflow for tests: its API as a program calls it, and its pages as a person opens them."""

import json
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from service.state import State

WAIT_SECONDS = 240.0
POLL_SECONDS = 0.5
ENDED = ("success", "failed")
NEVER = "it did not come to that: "


@dataclass(frozen=True)
class LiveAirflow:
    """A service that was started, and how to get in."""

    state: State
    password: str

    @property
    def url(self) -> str:
        return self.state.url

    def token(self) -> str:
        answer = self._send("POST", "/auth/token", {"username": "admin", "password": self.password}, None)
        return str(answer["access_token"])

    def call(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> dict[str, Any]:
        return self._send(method, f"/api/v2{path}", body, self.token())

    def _send(
        self, method: str, path: str, body: Mapping[str, Any] | None, token: str | None
    ) -> dict[str, Any]:
        headers = {
            "Content-Type": "application/json",
            **({"Authorization": f"Bearer {token}"} if token else {}),
        }
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(f"{self.url}{path}", data, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                read = answer.read()
        except urllib.error.HTTPError as error:
            raise AssertionError(
                f"{method} {path}: {error.code} {error.read().decode(errors='replace')}"
            ) from error
        found: dict[str, Any] = json.loads(read) if read else {}
        return found

    def has_dag(self, dag: str) -> bool:
        return dag in {found["dag_id"] for found in self.call("GET", "/dags?limit=100")["dags"]}

    def unpause(self, dag: str) -> None:
        wait_for(lambda: self.has_dag(dag), f"{NEVER}the DAG {dag} is there")
        self.call("PATCH", f"/dags/{dag}", {"is_paused": False})

    def trigger(self, dag: str, **conf: Any) -> str:
        return str(
            self.call("POST", f"/dags/{dag}/dagRuns", {"logical_date": None, "conf": conf})["dag_run_id"]
        )

    def runs(self, dag: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.call("GET", f"/dags/{dag}/dagRuns?limit=100&order_by=run_after")[
            "dag_runs"
        ]
        return found

    def tasks(self, dag: str, run: str) -> dict[str, dict[str, Any]]:
        found = self.call("GET", f"/dags/{dag}/dagRuns/{urllib.parse.quote(run)}/taskInstances")[
            "task_instances"
        ]
        return {task["task_id"]: task for task in found}

    def states(self, dag: str, run: str) -> dict[str, Any]:
        return {name: task["state"] for name, task in self.tasks(dag, run).items()}

    def wait_for_task(self, dag: str, run: str, task: str, *states: str) -> None:
        wait_for(
            lambda: self.states(dag, run).get(task) in states,
            f"{NEVER}{task} is {' or '.join(states)}",
            lambda: self.states(dag, run),
        )

    def wait_for_scheduler(self, line: str) -> None:
        """Until the scheduler has logged it."""
        log = self.state.of("scheduler").log
        wait_for(
            lambda: line in log.read_text(encoding="utf-8", errors="replace"),
            f"{NEVER}the scheduler says {line}",
        )

    def wait_for_run(self, dag: str, run: str) -> str:
        """How the run ended."""
        path = f"/dags/{dag}/dagRuns/{urllib.parse.quote(run)}"
        wait_for(
            lambda: self.call("GET", path)["state"] in ENDED,
            f"{NEVER}the run of {dag} ends",
            lambda: self.states(dag, run),
        )
        return str(self.call("GET", path)["state"])

    def log(self, dag: str, run: str, task: str, attempt: int = 1) -> str:
        answer = self.call(
            "GET",
            f"/dags/{dag}/dagRuns/{urllib.parse.quote(run)}/taskInstances/{task}/logs/{attempt}?full_content=true",
        )
        return "\n".join(line["event"] if isinstance(line, dict) else str(line) for line in answer["content"])

    def mark(self, dag: str, run: str, task: str, state: str) -> None:
        """As a person does in the UI."""
        self.call(
            "PATCH",
            f"/dags/{dag}/dagRuns/{urllib.parse.quote(run)}/taskInstances/{task}",
            {"new_state": state},
        )

    def events(self) -> list[dict[str, Any]]:
        """What was announced, the oldest first."""
        found: list[dict[str, Any]] = self.call("GET", "/assets/events?limit=100&order_by=timestamp")[
            "asset_events"
        ]
        return found

    def log_in(self, browser: Browser, **options: Any) -> Page:
        page = browser.new_context(**{"viewport": {"width": 1400, "height": 1000}, **options}).new_page()
        page.set_default_timeout(60_000)
        page.goto(self.url)
        page.locator("input[name=username]").fill("admin")
        page.locator("input[type=password]").fill(self.password)
        page.keyboard.press("Enter")
        page.wait_for_url(lambda url: "/login" not in url)
        return page


def wait_for(
    is_so: Callable[[], bool],
    otherwise: str,
    tell: Callable[[], object] = lambda: "",
    seconds: float = WAIT_SECONDS,
) -> None:
    """Other processes are at work: asked again until it is so, or the time is over."""
    deadline = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < deadline, f"{otherwise} {tell()}"
        time.sleep(POLL_SECONDS)


def children(pid: int) -> list[int]:
    """The processes that a process has started, and those that these have."""
    try:
        found = [
            int(text)
            for task in Path(f"/proc/{pid}/task").glob("*/children")
            for text in task.read_text().split()
        ]
    except OSError:  # it has just ended
        return []
    return [child for direct in found for child in (direct, *children(direct))]


def command_of(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except OSError:  # it has ended, perhaps just now
        return ""
