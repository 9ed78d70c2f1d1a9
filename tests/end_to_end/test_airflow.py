"""Weir in a real Airflow: a real scheduler, PostgreSQL, Spark and Chromium. What a person does and sees, and
what killing leaves behind.
"""

import os
import signal
import subprocess
import urllib.request
from decimal import Decimal
from pathlib import Path
from subprocess import DEVNULL
from typing import Any
from urllib.parse import quote

import polars
import pytest
from playwright.sync_api import Browser, Page

from service.environ import airflow_command
from spark_jobs.config import load_project
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, hold_lease
from spark_jobs.report.account import sum_up
from tests.airflow.webhook import Webhook
from tests.conftest import weir_environ
from tests.end_to_end.conftest import GO, STALLED
from tests.end_to_end.live_airflow import LiveAirflow, children, command_of, wait_for

pytestmark = [pytest.mark.spark, pytest.mark.airflow, pytest.mark.browser]

HEADER = "reading_id,kwh,read_at\n"
DARK: dict[str, Any] = {"color_scheme": "dark"}
PHONE: dict[str, Any] = {"viewport": {"width": 390, "height": 844}}


def land(project: Path, path: str, *rows: str) -> None:
    file = project / "landing" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(HEADER + "".join(f"{row}\n" for row in rows), encoding="utf-8")


def published(project: Path, pipeline: str) -> list[tuple[int, float]]:
    table = polars.read_delta(str(project / "lake" / pipeline / "silver" / "readings"))
    return sorted((number, float(kwh)) for number, kwh in table.select("reading_id", "kwh").rows())


def missing(project: Path, pipeline: str) -> dict[str, int]:
    """The rows that are not accounted for, by table."""
    loaded = load_project(project, {})
    accounts = sum_up(loaded.pipelines[pipeline], Lake(loaded.lake, pipeline))
    return {row["table"]: row["missing"] for row in accounts if row["missing"]}


def report_on(page: Page) -> str:
    """The text of the report in the tab: a page within a page within Airflow's."""
    report = page.frame_locator("iframe").frame_locator("iframe")
    report.get_by_role("heading", name="The flow of rows").wait_for()
    return report.locator("body").inner_text()


def test_a_person_triggers_a_dag_reads_its_quality_and_decides_about_what_is_held(
    live: LiveAirflow, browser: Browser, project: Path, alarm: Webhook, tmp_path: Path
) -> None:
    land(
        project,
        "meters/a.csv",
        "1,0.5,2026-03-01 08:05:00",
        "2,0.7,2026-03-01 08:15:00",
        "3,-1,2026-03-01 09:15:00",
    )
    live.unpause("board")
    wait_for(lambda: live.has_dag("meters"), "there is no DAG meters")
    page = live.log_in(browser)

    # By the form: what to run, and how many files make a batch.
    page.goto(f"{live.url}/dags/meters")
    page.get_by_role("button", name="Trigger").first.click()
    dialog = page.get_by_role("dialog")
    assert dialog.get_by_role("radio").nth(1).is_disabled(), "a backfill makes no sense here"
    dialog.locator("[name=element_files_per_batch]").fill("1")
    dialog.get_by_role("button", name="Trigger").click()
    wait_for(lambda: bool(live.runs("meters")), "the form started no run")
    first = live.runs("meters")[0]["dag_run_id"]
    assert live.wait_for_run("meters", first) == "success"
    assert live.states("meters", first) == dict.fromkeys(("prepare", "run", "decide", "finish"), "success")
    assert live.runs("meters")[0]["conf"]["files_per_batch"] == 1
    said = live.log("meters", first, "run")
    assert "silver.readings              done       3 rows: 2 inserted, 1 quarantined" in said
    assert "INFO" not in said
    assert live.call("GET", "/pools/weir_meters")["slots"] == 1

    # A key that the form does not have would load for real.
    with pytest.raises(AssertionError, match=r"400 .*the form has no key 'dryrun': did you mean 'dry_run'"):
        live.trigger("meters", dryrun=True)
    assert len(live.runs("meters")) == 1

    # The tab of the run has its numbers.
    page.goto(f"{live.url}/dags/meters/runs/{quote(first)}/plugin/data-quality-dag-run")
    shown = report_on(page)
    assert "Good, with warnings" in shown
    assert "silver.readings: 1 of 3 rows quarantined." in shown
    page.screenshot(path=tmp_path / "tab.png")

    # A bad delivery is held, and nobody reads a row of it.
    land(project, "meters/b.csv", "5,500,2026-03-01 11:05:00", "6,700,2026-03-01 11:15:00")
    second = trigger_and_be_asked(live, "meters")
    assert published(project, "meters") == [(1, 0.5), (2, 0.7)]
    wait_for(lambda: bool(alarm.posted), "nobody was told that a batch is held")
    held = alarm.posted.pop()
    assert (held["what"], held["task"], held["rules"]) == (
        "a batch is blocked and waits for a decision",
        "decide",
        ["mean_in_kwh"],
    )

    # A person stops. The batch stays held, and those on call are told by whom, which table, rule and rows,
    # and where to look.
    answer(live, page, second, "Stop", "the grid looks into it", tmp_path / "decide.png")
    assert live.wait_for_run("meters", second) == "failed"
    assert live.states("meters", second)["finish"] == "failed"
    assert published(project, "meters") == [(1, 0.5), (2, 0.7)]
    wait_for(lambda: bool(alarm.posted), "nobody was told that the run has failed")
    [notice] = alarm.posted
    alarm.posted.clear()
    assert {name: notice[name] for name in ("pipeline", "what", "task", "run", "tables", "rules", "rows_blocked")} == {
        "pipeline": "meters", "what": "a task failed", "task": "finish", "run": second,
        "tables": ["silver.readings"], "rules": ["mean_in_kwh"], "rows_blocked": 2,
    }  # fmt: skip
    assert "stopped by admin: the grid looks into it" in notice["message"]
    assert page.goto(notice["link"]) is not None
    page.get_by_text("stopped by admin").first.wait_for()

    # The next run asks again. A person releases the batch, with a reason, which goes to the ledger with who
    # it was.
    again = trigger_and_be_asked(live, "meters")
    answer(live, page, again, "Release", "a factory was connected")
    assert live.wait_for_run("meters", again) == "success"
    assert published(project, "meters") == [(1, 0.5), (2, 0.7), (5, 500.0), (6, 700.0)]

    # Another one is set aside: its rows are in quarantine, and readers keep what they have.
    land(project, "meters/c.csv", "7,900,2026-03-01 12:05:00", "8,800,2026-03-01 12:15:00")
    spoiled = trigger_and_be_asked(live, "meters")
    answer(live, page, spoiled, "Set aside", "Wh instead of kWh")
    assert live.wait_for_run("meters", spoiled) == "success"
    assert published(project, "meters") == [(1, 0.5), (2, 0.7), (5, 500.0), (6, 700.0)]
    quarantined = polars.read_delta(str(project / "lake" / "meters" / "quarantine" / "silver.readings"))
    assert sorted(quarantined.get_column("file").to_list()) == [
        "meters/a.csv",
        "meters/c.csv",
        "meters/c.csv",
    ]
    decisions = polars.read_delta(str(project / "lake" / "meters" / "_weir" / "ledger" / "decisions")).sort(
        "decided_at"
    )
    assert decisions.select("action", "decided_by", "reason").rows() == [
        ("hold", "admin", "the grid looks into it"),
        ("release", "admin", "a factory was connected"),
        ("set_aside", "admin", "Wh instead of kWh"),
    ]

    # Other DAGs follow what was published, and only that.
    told = [
        (event["name"], event["extra"]["version"])
        for event in live.events()
        if event["name"] == "meters.silver.readings"
    ]
    beside = [event["extra"] for event in live.events() if event["name"] == "meters.bronze.readings"]
    assert [extra["verdict"] for extra in beside] == ["good"] * 3, (
        "what was held beside it is not its own verdict"
    )
    assert [version for _, version in told] == sorted({version for _, version in told})
    wait_for(
        lambda: [run["state"] for run in live.runs("board")] == ["success"] * 2,
        "board did not follow",
        lambda: live.runs("board"),
    )
    assert {run["run_type"] for run in live.runs("board")} == {"asset_triggered"}
    daily = polars.read_delta(str(project / "lake" / "board" / "gold" / "kwh_per_day"))
    assert daily.select("reading_count", "kwh").rows() == [(4, Decimal("1201.200"))]

    # In the dark, and on a phone.
    for name, options in {"dark": DARK, "phone": PHONE, "dark-phone": DARK | PHONE}.items():
        small = live.log_in(browser, **options)
        small.goto(f"{live.url}/plugin/data-quality")
        small.frame_locator("iframe").get_by_text("meters").first.wait_for()
        small.screenshot(path=tmp_path / f"navigation-{name}.png")
        # On a phone Airflow's own columns leave no room for a tab: its page alone.
        small.goto(
            f"{live.url}/{'weir/dags/meters' if 'phone' in name else 'dags/meters/plugin/data-quality-dag'}"
        )
        report = (
            small.frame_locator("iframe")
            if "phone" in name
            else small.frame_locator("iframe").frame_locator("iframe")
        )
        report.get_by_text("by a person's decision").wait_for()
        small.screenshot(path=tmp_path / f"tab-{name}.png")
        small.context.close()

    # With nothing new, one question is asked and the rest is skipped.
    third = live.trigger("meters")
    assert live.wait_for_run("meters", third) == "success"
    assert set(live.states("meters", third).values()) == {"success", "skipped"}
    assert live.states("meters", third)["run"] == "skipped"
    assert missing(project, "meters") == {}

    # The upkeep of all pipelines, which nobody notices.
    live.unpause("weir_maintenance")
    upkeep = live.trigger("weir_maintenance")
    assert live.wait_for_run("weir_maintenance", upkeep) == "success"
    fourth = live.trigger("meters")
    assert live.wait_for_run("meters", fourth) == "success"
    assert live.states("meters", fourth)["run"] == "skipped", "upkeep is no work for a run"


def trigger_and_be_asked(live: LiveAirflow, dag: str) -> str:
    """A run whose batch is held, and that waits for an answer."""
    run = live.trigger(dag)
    live.wait_for_task(dag, run, "decide", "awaiting_input")
    # Airflow takes an answer that comes before this for a task that ended by itself.
    live.wait_for_scheduler(
        f"state success for task instance TaskInstanceKey(dag_id='{dag}', task_id='decide', run_id='{run}'"
    )
    return run


def answer(
    live: LiveAirflow, page: Page, run: str, choice: str, reason: str, picture: Path | None = None
) -> None:
    """What a person does where the UI asks about a batch of `meters`."""
    page.goto(f"{live.url}/dags/meters/runs/{quote(run)}/tasks/decide/required_actions")
    page.get_by_text("mean_in_kwh").wait_for()
    page.get_by_text("A mean of more than 100 kWh is in another unit.").wait_for()
    if picture:
        page.screenshot(path=picture)
    assert page.get_by_role("button", name=choice).is_disabled(), "a decision needs a reason"
    page.locator("[name=element_reason]").fill(reason)
    page.get_by_role("button", name=choice).click()


def test_a_task_that_is_marked_or_takes_too_long_ends_its_jvm_and_the_next_run_is_right(
    live: LiveAirflow, browser: Browser, project: Path, alarm: Webhook
) -> None:
    for pipeline in ("marked", "slow"):
        land(project, f"{pipeline}/a.csv", "1,0.5,2026-03-01 08:05:00", "2,0.7,2026-03-01 08:15:00")
        live.unpause(pipeline)

    # Marked while a batch is at work that would not end: as failed, and as done.
    for state in ("failed", "success"):
        run = live.trigger("marked")
        processes = stalled(live, "marked", run)
        given = [name for pid in processes for name in environ_of(pid)]
        assert given, "none of its processes is there any more"
        assert [name for name in given if name.startswith("AIRFLOW__")] == [], "Airflow's keys are its own"
        assert "run is running. A report is written when a run of its tables ends." in tab_of(
            live, "marked", run
        )
        live.mark("marked", run, "run", state)
        still_there = f"the JVM of a task that is marked {state} is still there"
        wait_for(lambda gone=processes: not any(map(command_of, gone)), still_there)  # type: ignore[misc]
        wait_for(lambda: is_free(project, "marked"), "nothing runs, and the pipeline is still held")
        assert live.wait_for_run("marked", run) == state
        assert live.tasks("marked", run)["run"]["state"] == state

    # Not done by its deadline: a notice, and it goes on. Longer than its timeout: it is ended, and says so.
    alarm.posted.clear()
    run = live.trigger("slow")
    processes = at_work(live, 1, pipeline="slow")
    assert live.wait_for_run("slow", run) == "failed"
    assert [pid for pid in processes if command_of(pid)] == []
    wait_for(lambda: is_free(project, "slow"), "nothing runs, and the pipeline is still held")
    assert live.tasks("slow", run)["run"]["try_number"] == 1
    # a busy scheduler may tell of the deadline after the timeout
    told = {"a run is not done after 5 seconds", "a task failed"}
    wait_for(
        lambda: {notice["what"] for notice in alarm.posted} == told,
        "the deadline or the timeout was not told of",
    )
    by_what = {notice["what"]: notice for notice in alarm.posted}
    late, failed = by_what["a run is not done after 5 seconds"], by_what["a task failed"]
    assert len(alarm.posted) == 2
    assert (late["pipeline"], late["run"]) == ("slow", run)
    assert (failed["pipeline"], failed["task"]) == ("slow", "run")
    page = live.log_in(browser)
    page.goto(failed["link"])
    page.get_by_text("Failed").first.wait_for()
    page.get_by_text("Timeout").first.wait_for()

    (project / GO).touch()
    ended = live.wait_for_run("marked", live.trigger("marked"))
    by_hand = subprocess.run(
        [project / ".envs/spark/bin/weir", "run", "slow"],
        env=weir_environ(WEIR_HOME=str(project)),
        check=False,
    )
    assert (ended, by_hand.returncode) == ("success", 0)
    for pipeline in ("marked", "slow"):
        assert published(project, pipeline) == [(1, 0.5), (2, 0.7)]
        hours = (
            polars.read_delta(str(project / "lake" / pipeline / "gold" / STALLED))
            .select("reading_count", "kwh")
            .rows()
        )
        assert hours == [(2, Decimal("1.200"))]
        assert missing(project, pipeline) == {}


def environ_of(pid: int) -> dict[str, str]:
    """What a process was started with; nothing of one that has ended, as Spark's launcher does."""
    try:
        lines = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return {}
    return dict(line.split("=", 1) for line in lines if "=" in line)


def tab_of(live: LiveAirflow, dag: str, run: str) -> str:
    """The page in the tab of a DAG run, as its user gets it."""
    asked = urllib.request.Request(
        f"{live.url}/weir/dags/{dag}?run={quote(run)}", headers={"Cookie": f"_token={live.token()}"}
    )
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(asked, timeout=30) as answer:
        return str(answer.read().decode())


def stalled(live: LiveAirflow, pipeline: str, run: str) -> list[int]:
    """The processes of a `weir run` in the midst of a batch."""
    found = at_work(live, 1, pipeline=pipeline)
    wait_for(
        lambda: "stalled at write.before" in live.log(pipeline, run, "run"),
        f"{pipeline} does not come to its last table",
    )
    return found


def is_free(project: Path, pipeline: str) -> bool:
    """Whether no process holds the pipeline: one that has just ended may do so for a moment."""
    try:
        with hold_lease(Lake(str(project / "lake"), pipeline).lease(), pipeline, "a test"):
            return True
    except LeaseHeld:
        return False


def test_what_is_killed_or_cleared_loses_and_doubles_nothing_and_its_state_is_clear(
    live: LiveAirflow, project: Path
) -> None:
    for number in range(6):
        land(project, f"killed/{number}.csv", f"{number},0.5,2026-03-01 08:0{number}:00")
    live.unpause("killed")  # its schedule starts a run at once
    wait_for(lambda: bool(live.runs("killed")), "the schedule started no run")
    scheduled = live.runs("killed")[0]["dag_run_id"]

    weir, *_ = at_work(live, attempt=1)
    by_hand = live.trigger("killed")
    os.kill(parent(weir), signal.SIGKILL)  # the task runner
    weir, *_ = at_work(live, attempt=2, other_than=weir)
    assert {run["dag_run_id"]: run["state"] for run in live.runs("killed")} == {
        scheduled: "running",
        by_hand: "queued",
    }
    assert live.tasks("killed", scheduled)["run"]["try_number"] == 2

    java = next(child for child in children(weir) if "java" in command_of(child))
    os.kill(java, signal.SIGKILL)
    weir, *_ = at_work(live, attempt=3, other_than=weir)
    java = next(child for child in children(weir) if "java" in command_of(child))

    cleared = {
        "dry_run": False,
        "dag_run_id": scheduled,
        "task_ids": ["run"],
        "only_failed": False,
        "reset_dag_runs": False,
    }
    live.call("POST", "/dags/killed/clearTaskInstances", cleared)
    wait_for(lambda: not command_of(java), "the JVM of the cleared task is still there")

    assert live.wait_for_run("killed", scheduled) == "success"
    assert live.wait_for_run("killed", by_hand) == "success"
    assert live.states("killed", by_hand)["run"] == "skipped", "nothing was left to do"
    assert published(project, "killed") == [(number, 0.5) for number in range(6)]
    assert missing(project, "killed") == {}

    # A rebuild by the form is announced with its own run, page and figures.
    assert live.wait_for_run("killed", live.trigger("killed", rebuild="silver.readings")) == "success"
    told = [event["extra"] for event in live.events() if event["name"] == "killed.silver.readings"][-1]
    assert (told["rows_in"], told["inserted"], told["report"]) == (6, 6, f"killed/{told['run_id']}.html")
    assert (project / "reports" / told["report"]).is_file()


def test_a_scheduler_that_is_killed_goes_on_where_it_was(live: LiveAirflow, project: Path) -> None:
    live.unpause("killed")
    # Also where this test runs alone: its schedule starts a run at once, and one by hand would wait behind that.
    wait_for(
        lambda: {run["state"] for run in live.runs("killed")} == {"success"}, "an earlier run does not end"
    )
    before = published(project, "killed") if (project / "lake" / "killed" / "silver").exists() else []
    land(project, "killed/more.csv", "99,0.5,2026-03-02 08:00:00")
    run = live.trigger("killed")
    at_work(live, attempt=1)
    scheduler = live.state.of("scheduler").process.pid
    environ = dict(
        line.split("=", 1)
        for line in Path(f"/proc/{scheduler}/environ").read_text().split("\0")
        if "=" in line
    )

    os.kill(scheduler, signal.SIGKILL)
    command = [str(airflow_command(project)), "scheduler", "--skip-serve-logs"]
    again = subprocess.Popen(command, env=environ, stdout=DEVNULL, stderr=DEVNULL, start_new_session=True)
    try:
        ended = live.wait_for_run("killed", run)
    finally:
        # asked to end, it may wait for ever for a worker that waits for it
        os.killpg(again.pid, signal.SIGKILL)
        again.wait()

    assert ended == "success"
    assert published(project, "killed") == [*before, (99, 0.5)]
    assert missing(project, "killed") == {}


def at_work(live: LiveAirflow, attempt: int, other_than: int = 0, pipeline: str = "killed") -> list[int]:
    """The `weir run` of a try, and all that it has started, once its JVM is there."""
    scheduler = live.state.of("scheduler").process.pid
    found: list[int] = []

    def is_there() -> bool:
        runs = [
            pid
            for pid in children(scheduler)
            if f"weir run {pipeline}" in command_of(pid) and pid != other_than
        ]
        found[:] = [
            pid
            for run in runs
            if any("java" in command_of(child) for child in children(run))
            for pid in (run, *children(run))
        ]
        return bool(found)

    wait_for(
        is_there,
        f"try {attempt} does not come to work",
        lambda: [live.states(pipeline, run["dag_run_id"]) for run in live.runs(pipeline)],
    )
    return found


def parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
