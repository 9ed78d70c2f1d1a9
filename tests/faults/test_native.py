"""A process that dies in the middle of a native stateful query: its state and its table go on as if nothing
had happened.

The class adds up what it has seen, so that a row that enters its state twice, or not at all, shows in every
later row.
"""

import json
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from spark_jobs.lake import failpoints
from spark_jobs.run import native
from spark_jobs.run.result import Status
from tests.conftest import ROOT, Workshop, weir_environ
from tests.faults.shop import run_here_when_free, start_weir

pytestmark = pytest.mark.spark

PIPELINE = """
pipeline: feed
sources: {clicks: {format: json, path: clicks}}
silver:
  clicks: {from: clicks, columns: {user: string, at: timestamp}, event_time: at}
gold:
  counts:
    from: silver.clicks
    state: hooks/count.py:Count
    key: user
    columns: {user: string, rows: int}
    watermark: 10 minutes
"""
HOOK = """
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor


class Count(StatefulProcessor):
    def init(self, handle):
        self.seen = handle.getValueState("seen", "rows int")

    def handleInputRows(self, key, rows, timerValues):
        count = (self.seen.get() or (0,))[0] + len(list(rows))
        self.seen.update((count,))
        yield Row(user=key[0], rows=count)

    def close(self):
        pass
"""
TABLE = "gold.counts"
SKIPPED = ("intent.before", "write.before", "marker.before", "consumed.before")
"""Nothing that others go by is written between one of these and the point before it."""


def click(*rows: tuple[str, int]) -> str:
    return "".join(f'{{"user":"{user}","at":"2026-03-01T10:{minute:02}:00Z"}}\n' for user, minute in rows)


def test_a_query_that_dies_at_every_point_counts_every_row_once(
    workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And so does one whose Python process took Spark too long to start: it goes on within its run."""
    workshop.write("conf/pipelines/feed.yml", PIPELINE)
    workshop.write("conf/hooks/count.py", HOOK)
    workshop.land("clicks/1.json", click(("a", 0), ("b", 1)))
    assert workshop.run("feed").exit_code == 0
    died: list[tuple[str, str, str]] = []

    def decide(point: str, table: str, step: str) -> failpoints.Action | None:
        if TABLE not in table or point in SKIPPED or (point, table, step) in died:
            return None
        died.append((point, table, step))
        return "raise"

    workshop.land("clicks/2.json", click(("a", 40), ("a", 41)))
    workshop.land("clicks/3.json", click(("b", 2), ("a", 42)))
    runs = 0
    while runs == len(died):
        with failpoints.deciding(decide):
            result = workshop.run("feed")
        runs += 1
        assert result.status in (Status.OK, Status.NOTHING_TO_DO, Status.FAILED), result.message
    workshop.land("clicks/4.json", click(("a", 50)))
    slow = iter(range(native.STARTS - 1))
    monkeypatch.setattr(native, "_work", partial(too_slow, slow, native._work))

    last = workshop.run("feed")

    assert last.exit_code == 0, last.message
    assert next(slow, None) is None, "the query was not started again"
    points = {(point, table) for point, table, _ in died}
    assert {
        ("write.after", f"late.{TABLE}"),
        ("write.after", TABLE),
        ("marker.after", TABLE),
        ("checkpoint.after", TABLE),
    } <= points
    assert workshop.rows("feed.gold.counts", "user", "rows") == [("a", 1), ("a", 4), ("a", 5), ("b", 1)]
    assert [line for (line,) in workshop.rows("feed.late.gold.counts", "line")] == [1]


def too_slow(slow: Iterator[int], work: Callable[..., Any], *arguments: Any) -> Any:
    if next(slow, None) is not None:
        raise RuntimeError(f"[STREAM_FAILED] {native.TOO_SLOW}.")
    return work(*arguments)


@pytest.mark.system
def test_a_process_that_is_killed_in_a_native_batch_counts_every_row_once_and_its_state_says_so(
    workshop: Workshop,
) -> None:
    """kill -9, JVM and all, when the rows are written and nobody knows it yet. `weir state` is a process as
    well.
    """
    (workshop.root / ".envs").symlink_to(ROOT / ".envs")
    workshop.write("conf/pipelines/feed.yml", PIPELINE)
    workshop.write("conf/hooks/count.py", HOOK)
    workshop.land("clicks/1.json", click(("a", 0), ("b", 1)))
    assert workshop.run("feed").exit_code == 0
    workshop.land("clicks/2.json", click(("a", 2), ("a", 3)))

    killed = start_weir(workshop, "run", "feed", armed=f"write.after:{TABLE}@stream=kill")
    killed.communicate()
    workshop.land("clicks/3.json", click(("a", 4)))
    result = run_here_when_free(workshop, "feed")

    assert killed.returncode == -signal.SIGKILL
    assert result.status is Status.OK, result.message
    assert workshop.rows("feed.gold.counts", "user", "rows") == [("a", 1), ("a", 3), ("a", 4), ("b", 1)]
    state = ask_state(workshop)
    assert (state["table"], state["operator"], len(state["stores"])) == (
        TABLE,
        "transformWithStateInPySparkExec",
        1,
    )
    (store,) = state["stores"]
    assert (store["store"], store["rows"]) == ("seen", 2)
    assert [(row["key"]["user"], row["value"]["rows"]) for row in store["first"]] == [("a", 4), ("b", 1)]


def ask_state(workshop: Workshop) -> dict[str, Any]:
    command = [sys.executable, "-m", "spark_jobs.cli", "state", "feed", "counts", "--json"]
    environ = weir_environ(WEIR_HOME=str(workshop.root), PYTHONPATH=str(ROOT))
    said: dict[str, Any] = json.loads(
        subprocess.run(command, env=environ, cwd=workshop.root, check=True, capture_output=True).stdout
    )
    return said
