"""`weir stream`: what it does after each increment, and that it and scheduled runs can follow one another at
any time.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.operations.status import status_of
from spark_jobs.run import stopping
from spark_jobs.run.order import RunOrder
from spark_jobs.run.result import RunResult, Status
from spark_jobs.stream import always_on
from spark_jobs.stream.always_on import Orders, stream_pipeline
from spark_jobs.stream.health import Health, Heartbeat, StreamState
from spark_jobs.stream.trigger import Trigger, parse_trigger
from tests.conftest import PROFILE, ROOT, SharedSession, Workshop, weir_environ

PAGE_VIEWS = (ROOT / "docs" / "examples" / "conf" / "pipelines" / "page_views.yml").read_text(
    encoding="utf-8"
)
PATIENCE = 240.0


def land(workshop: Workshop, number: int) -> None:
    """One view a file, written elsewhere first, as a file that lands should be."""
    view = {"view_id": number, "page": "/start", "seen_at": f"2024-05-01T{number:02}:00:00Z"}
    file = workshop.write(f"new/{number}", json.dumps(view) + "\n")
    target = workshop.landing / "page_views" / f"{number}.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    file.rename(target)


def wait_for(what: str, is_so: Callable[[], bool]) -> None:
    until = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < until, f"it took too long until {what}"
        time.sleep(0.1)


def counted(workshop: Workshop) -> int:
    """The views that gold has counted."""
    path = workshop.root / "lake" / "page_views" / "gold" / "views_per_hour"
    return (
        sum(row[0] for row in workshop.rows("page_views.gold.views_per_hour", "view_count"))
        if DeltaTable.is_deltatable(str(path))
        else 0
    )


class Script:
    """A session that is never asked for, where increments are told what they end with."""

    increments = 0

    def __init__(self, *results: Status) -> None:
        self.results, self.ended, self.forgotten = list(results), 0, 0

    @contextmanager
    def start(self, order: RunOrder, consumed: dict[str, dict[str, Any]]) -> Iterator[SparkSession]:
        raise AssertionError
        yield

    def forget_tables(self) -> None:
        self.forgotten += 1

    def end(self) -> None:
        self.ended += 1

    def run(self, *_: object, **__: object) -> RunResult:
        return RunResult("page_views", self.results.pop(0), "as the script says", run_id="run")


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that a stream wanted to wait."""
    found: list[float] = []
    monkeypatch.setattr(stopping, "pause", found.append)
    return found


def play(
    workshop: Workshop,
    script: Script,
    monkeypatch: pytest.MonkeyPatch,
    trigger: str = "as-fast-as-possible",
    give_up_after: int = 1,
) -> tuple[RunResult, Heartbeat]:
    """Follow a script that ends with a failure; give up after so many of them."""
    workshop.write("conf/pipelines/page_views.yml", PAGE_VIEWS)
    monkeypatch.setattr(always_on, "run_increment", script.run)
    pulse = Heartbeat(Health("page_views", trigger, datetime.now(UTC)))
    orders = Orders(parse_trigger(trigger), give_up_after)
    return stream_pipeline(workshop.project, "page_views", PROFILE, orders, pulse, script), pulse


def test_a_stream_that_finds_nothing_looks_again_in_a_second(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    result, pulse = play(idle_workshop, Script(Status.NOTHING_TO_DO, Status.OK, Status.FAILED), monkeypatch)

    assert pauses == [*[0.1] * 10, 0.2]
    assert (result.status, result.message) == (Status.FAILED, "as the script says")
    assert (pulse.now.increments, pulse.now.failures, pulse.now.mood) == (1, 1, StreamState.ENDED)


def test_a_stream_that_waits_looks_at_once_when_a_file_lands(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == 3:
            land(idle_workshop, 1)
            os.utime(idle_workshop.landing / "page_views" / "1.json", (0, 0))  # whole for a while

    monkeypatch.setattr(stopping, "pause", pause)

    play(idle_workshop, Script(Status.NOTHING_TO_DO, Status.FAILED), monkeypatch)

    assert pauses == [0.1] * 3


def test_a_pause_is_measured_from_start_to_start(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    play(idle_workshop, Script(Status.OK, Status.FAILED), monkeypatch, "30 seconds")

    assert pauses == [pytest.approx(30, abs=5)]


def test_after_failures_it_waits_longer_each_time_and_starts_a_new_session(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    script = Script(*[Status.FAILED] * 10, Status.OK, Status.FAILED, *[Status.FAILED] * 10)

    play(idle_workshop, script, monkeypatch, give_up_after=11)

    assert pauses[:10] == [2, 4, 8, 16, 32, 64, 128, 256, 300, 300]
    assert pauses[10:13] == [0.2, 2, 4]
    assert script.ended == 22  # once for every failure, and at the end


def test_what_rules_hold_is_tried_again_after_a_while_and_is_no_failure(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    script = Script(Status.BLOCKED, Status.BLOCKED, Status.FAILED)

    play(idle_workshop, script, monkeypatch)

    assert pauses == [2, 4]
    assert script.ended == 2


def test_a_configuration_that_is_refused_ends_it(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch, pauses: list[float]
) -> None:
    result, _ = play(idle_workshop, Script(Status.CONFIG_ERROR), monkeypatch, give_up_after=9)

    assert (result.status, pauses) == (Status.CONFIG_ERROR, [])


@pytest.mark.system
def test_while_another_command_has_the_pipeline_the_stream_waits_and_then_forgets_what_it_knew_of_the_tables(
    idle_workshop: Workshop, monkeypatch: pytest.MonkeyPatch
) -> None:
    script, moods = Script(Status.FAILED), list[StreamState]()
    idle_workshop.write("conf/pipelines/page_views.yml", PAGE_VIEWS)
    lake = Lake(idle_workshop.project.lake, "page_views")
    holder = subprocess.Popen(
        [sys.executable, "-c", "import sys\nfrom spark_jobs.lake.lease import hold_lease\n"
         "with hold_lease(sys.argv[1], 'page_views', 'weir maintain'):\n print('held', flush=True)\n sys.stdin.read()", lake.lease()],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT,
    )  # fmt: skip
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    monkeypatch.setattr(always_on, "run_increment", script.run)
    pulse = Heartbeat(Health("page_views", "", datetime.now(UTC)))

    def let_go(seconds: float) -> None:
        moods.append(pulse.now.mood)
        holder.communicate()

    monkeypatch.setattr(stopping, "pause", let_go)
    stream_pipeline(
        idle_workshop.project, "page_views", PROFILE, Orders(Trigger("as-fast-as-possible"), 1), pulse, script
    )

    assert moods == [StreamState.OUTSIDE]
    assert script.forgotten == 1


def test_a_second_stream_of_a_pipeline_is_refused_and_a_plan_leaves_the_work_to_the_first(
    idle_workshop: Workshop,
) -> None:
    idle_workshop.write("conf/pipelines/page_views.yml", PAGE_VIEWS)
    land(idle_workshop, 1)
    lake = Lake(idle_workshop.project.lake, "page_views")
    orders, pulse = (
        Orders(Trigger("as-fast-as-possible")),
        Heartbeat(Health("page_views", "", datetime.now(UTC))),
    )

    with hold_lease(lake.stream_lease(), "page_views", "weir stream"):
        result = stream_pipeline(idle_workshop.project, "page_views", PROFILE, orders, pulse, Script())
        beside = idle_workshop.plan("page_views")

    assert (result.status, result.exit_code) == (Status.LEASED, 5)
    assert (beside.exit_code, "an always-on stream takes what arrives" in beside.message) == (3, True)
    assert idle_workshop.plan("page_views").exit_code == 0


def test_health_is_lost_by_failing_and_by_silence_but_not_by_what_rules_hold() -> None:
    now, patience = datetime.now(UTC), timedelta(minutes=15)
    known = Health("page_views", "", now, changed_at=now - timedelta(minutes=14))

    assert known.is_well(now, patience)
    assert not known.is_well(now + timedelta(minutes=2), patience)
    assert Health("page_views", "", now, StreamState.BLOCKED, changed_at=now).is_well(now, patience)
    assert not Health("page_views", "", now, StreamState.FAILING, changed_at=now).is_well(now, patience)


SINKS = """
  first_views: {from: silver.views, dedup: {on: view_id, within: 1 hour}}
sinks:
  first_views: {from: gold.first_views, to: files, format: json, path: first_views, columns: view_id}
"""
"""Below the last table of the example: one that is native, and a sink behind it."""


def delivered(workshop: Workshop, sink: str) -> list[int]:
    files = (workshop.root / "exports" / sink / "current").glob("[!_]*.json")
    return sorted(
        json.loads(line)["view_id"]
        for file in files
        for line in file.read_text(encoding="utf-8").splitlines()
    )


def test_scheduled_runs_and_a_stream_follow_one_another_and_lose_and_double_nothing(
    workshop: Workshop, spark: SparkSession
) -> None:
    workshop.write("conf/pipelines/page_views.yml", PAGE_VIEWS.rstrip() + SINKS)
    land(workshop, 1)
    scheduled = workshop.run("page_views")
    results: list[RunResult] = []
    heartbeat = workshop.root / "heartbeat.json"
    pulse = Heartbeat(Health("page_views", "as-fast-as-possible", datetime.now(UTC)), heartbeat)

    def stream() -> None:
        orders = Orders(Trigger("as-fast-as-possible"))
        results.append(
            stream_pipeline(workshop.project, "page_views", PROFILE, orders, pulse, SharedSession(spark))
        )

    with stopping.listening({}):
        thread = threading.Thread(target=stream)
        thread.start()
        land(workshop, 2)
        wait_for("the stream counts the second view", lambda: counted(workshop) == 2)
        land(workshop, 3)
        land(workshop, 4)
        # comes in where the stream gives the lease back, or finds its work done
        between = workshop.run_beside_others("page_views")
        wait_for("the other views are counted", lambda: counted(workshop) == 4)
        os.kill(os.getpid(), signal.SIGTERM)
        thread.join(PATIENCE)
    land(workshop, 5)
    after = workshop.run("page_views")

    assert not thread.is_alive()
    assert (scheduled.status, after.status) == (Status.OK, Status.OK)
    assert between.status in (Status.OK, Status.NOTHING_TO_DO)
    assert (results[0].status, results[0].message[:18]) == (Status.OK, "stopped by SIGTERM")
    assert workshop.rows("page_views.silver.views", "view_id") == [(1,), (2,), (3,), (4,), (5,)]
    assert counted(workshop) == 5
    assert delivered(workshop, "first_views") == [1, 2, 3, 4, 5], "behind a sink as well"
    assert json.loads(heartbeat.read_text())["mood"] == "ended"
    progress = Ledger(Lake(workshop.project.lake, "page_views")).rows("progress")
    assert {row["table"] for row in progress} == {
        "bronze.views", "silver.views", "gold.views_per_hour", "gold.first_views", "sink.first_views",
    }  # fmt: skip
    assert all(row["lag_seconds"] > 0 and row["seconds"] > 0 for row in progress if row["rows"])
    assert {
        (row["backlog_files"], row["backlog_bytes"]) for row in progress if row["table"] == "bronze.views"
    } == {(0, 0)}
    status = status_of(workshop.project, "page_views", datetime.now(UTC))
    assert [(table.table, table.state, table.totals.rows_in, table.last_rows) for table in status.tables] == [
        ("bronze.views", "up to date", 5, 1),
        ("silver.views", "up to date", 5, 1),
        ("gold.views_per_hour", "up to date", 5, 1),
        ("gold.first_views", "up to date", 5, 0),  # the last batch has moved its watermark alone
        ("sink.first_views", "up to date", 5, 1),
    ]
    assert (status.stream, status.writer, status.last_run and status.last_run["status"]) == (None, None, "ok")


def answer(address: str, path: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"{address}{path}", timeout=30) as response:
            return response.status, response.read().decode()
    except urllib.error.HTTPError as refused:
        return refused.code, refused.read().decode()


@pytest.mark.system
def test_a_stream_outlives_its_jvm_tells_how_it_fares_and_ends_well_when_it_is_asked_to(
    idle_workshop: Workshop,
) -> None:
    workshop = idle_workshop
    workshop.write("conf/pipelines/page_views.yml", PAGE_VIEWS)
    (workshop.root / ".envs").symlink_to(ROOT / ".envs")
    (workshop.root / "conf" / "log4j2.properties").write_bytes(
        (ROOT / "conf" / "log4j2.properties").read_bytes()
    )
    land(workshop, 1)
    command = [sys.executable, "-m", "spark_jobs.cli", "stream", "page_views", "--listen", "0", "--json"]
    environ = weir_environ(WEIR_HOME=str(workshop.root))
    stream = subprocess.Popen(
        command, cwd=ROOT, env=environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert stream.stderr is not None
    address = stream.stderr.readline().rpartition(" ")[2].strip()
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.extend(stream.stderr or ()))
    reader.start()
    try:
        wait_for("the first view is counted", lambda: counted(workshop) == 1)
        wait_for("it says that it is well", lambda: answer(address, "/health")[0] == 200)
        metrics = answer(address, "/metrics")[1]
        os.kill(_java_below(stream.pid), signal.SIGKILL)
        land(workshop, 2)
        wait_for("a new session counts the second view", lambda: counted(workshop) == 2)
        elsewhere = answer(address, "/tables")
        stream.send_signal(signal.SIGTERM)
        ended = json.loads(stream.communicate(timeout=PATIENCE)[0])
    finally:
        stream.kill()
        reader.join(PATIENCE)

    assert stream.returncode == 0, said
    assert (ended["status"], ended["message"].startswith("stopped by SIGTERM after")) == ("ok", True)
    assert 'weir_stream_up{pipeline="page_views"} 1' in metrics
    assert 'weir_rows{pipeline="page_views",table="silver.views",class="inserted"} 1' in metrics
    assert elsewhere == (404, "there are /health and /metrics\n")
    assert workshop.rows("page_views.silver.views", "view_id") == [(1,), (2,)]
    assert not [line for line in said if "at org.apache" in line]


def _java_below(pid: int) -> int:
    """The JVM that a process has started."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = (entry / "stat").read_text().rpartition(")")[2].split()[1]
            program = (entry / "cmdline").read_bytes().split(b"\0")[0]
        except OSError:  # it has just ended
            continue
        if int(parent) == pid and b"java" in program:
            return int(entry.name)
    raise AssertionError(f"process {pid} has no JVM")
