"""Takes the pictures of README and docs from real runs of the shipped pipeline `retail`: `make pictures`.

A project of its own, with an Airflow of its own on a free port, gets three deliveries as in the demo: a first
load, an increment, and one with all amounts in cents, which rules block. Nothing of the clone is touched but
the four files in docs/.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import Browser, Page, sync_playwright

from service.keys import USER
from service.start import start_service
from service.stop import stop_service
from tests.conftest import CHROMIUM, CHROMIUM_FLAGS, ROOT, weir_environ
from tests.end_to_end.live_airflow import LiveAirflow, wait_for

DAG = "retail"
TASKS = ("prepare", "run", "decide", "finish")
DELIVERIES = (("--increment", "0"), ("--increment", "1"), ("--increment", "2", "--defect", "cents"))
ORDERS = "2000"
LONGEST_SECONDS = 900.0
"""For one run on a machine that is busy with other things."""
POLL_SECONDS = 5.0


def main() -> int:
    if CHROMIUM is None:
        print("there is no chromium on this machine; Debian has it as `chromium`", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory(prefix="weir-pictures-") as folder, sync_playwright() as playwright:
        project = make_project(Path(folder))
        with airflow(project) as live:
            browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
            take_pictures(live, browser, project, ROOT / "docs")
            browser.close()
    return 0


def make_project(root: Path) -> Path:
    """As in a clone of its own, with the environments that are there."""
    for name in ("conf", "expectations", "dags", "plugins", ".envs"):
        (root / name).symlink_to(ROOT / name)
    return root


@contextmanager
def airflow(project: Path) -> Iterator[LiveAirflow]:
    started = start_service(project, weir_environ(), port=0)
    password = json.loads((project / "airflow_home" / "passwords.json").read_text(encoding="utf-8"))[USER]
    try:
        yield LiveAirflow(started.state, password)
    finally:
        stop_service(project, print, grace_seconds=20)


def take_pictures(live: LiveAirflow, browser: Browser, project: Path, docs: Path) -> None:
    deliver(project, 0)
    live.unpause(DAG)  # which starts a run by its schedule
    done = loaded(live, 1)
    picture_graph(
        live.log_in(browser, viewport={"width": 1400, "height": 520}), live, done, docs / "dag-graph.png"
    )
    deliver(project, 1)
    live.trigger(DAG)
    loaded(live, 2)
    picture_report(browser, project, docs / "report.png")
    picture_tab(live.log_in(browser, viewport={"width": 1280, "height": 850}), live, docs / "quality-tab.png")
    deliver(project, 2)
    live.trigger(DAG)
    picture_question(live.log_in(browser), live, asked(live), docs / "decide.png")


def deliver(project: Path, number: int) -> None:
    command = [str(project / ".envs/spark/bin/weir"), "sample", "--orders", ORDERS, *DELIVERIES[number]]
    subprocess.run(command, env=weir_environ(WEIR_HOME=str(project)), check=True, stdout=subprocess.DEVNULL)
    print(f"delivery {number} has landed", flush=True)


def loaded(live: LiveAirflow, count: int) -> str:
    """The newest run that loaded something, once there are so many: the schedule may start runs in between,
    which find nothing to do.
    """
    found: list[str] = []

    def are_there() -> bool:
        runs = live.runs(DAG)
        failed = [run["dag_run_id"] for run in runs if run["state"] == "failed"]
        assert not failed, f"{failed} failed: {[live.states(DAG, run) for run in failed]}"
        ended = [run["dag_run_id"] for run in runs if run["state"] == "success"]
        found[:] = [run for run in ended if set(live.states(DAG, run).values()) == {"success"}]
        return len(found) >= count and len(ended) == len(runs)

    wait_for(
        patiently(are_there),
        f"there are no {count} runs that loaded something",
        lambda: live.runs(DAG),
        LONGEST_SECONDS,
    )
    print(f"run {found[-1]} is done", flush=True)
    return found[-1]


def asked(live: LiveAirflow) -> str:
    """The run that waits for a person."""
    found: list[str] = []

    def is_there() -> bool:
        running = [run["dag_run_id"] for run in live.runs(DAG) if run["state"] == "running"]
        found[:] = [run for run in running if live.states(DAG, run).get("decide") == "awaiting_input"]
        return bool(found)

    wait_for(
        patiently(is_there),
        "nobody was asked",
        lambda: [live.states(DAG, run["dag_run_id"]) for run in live.runs(DAG)],
        LONGEST_SECONDS,
    )
    print(f"run {found[0]} waits for a decision", flush=True)
    return found[0]


def patiently(is_so: Callable[[], bool]) -> Callable[[], bool]:
    """Asks no more often than a busy machine can answer; no answer in time is not yet."""

    def ask() -> bool:
        time.sleep(POLL_SECONDS)
        try:
            return is_so()
        except OSError:
            return False

    return ask


def picture_graph(page: Page, live: LiveAirflow, run: str, file: Path) -> None:
    page.goto(f"{live.url}/dags/{DAG}/runs/{quote(run)}")
    page.get_by_text("Success").first.wait_for()
    page.keyboard.press("g")
    for task in TASKS:
        page.locator(".react-flow__node").filter(has_text=task).first.wait_for()
    page.get_by_text("success").nth(len(TASKS) - 1).wait_for()
    page.wait_for_timeout(1_500)  # the graph glides into its place
    save(page, file)


def picture_report(browser: Browser, project: Path, file: Path) -> None:
    newest = max(
        (project / "reports" / DAG).glob("*.html"),
        key=lambda path: (path.name != "index.html", path.stat().st_mtime),
    )
    page = browser.new_context(viewport={"width": 1200, "height": 1850}).new_page()
    page.goto(newest.as_uri())
    page.get_by_role("heading", name="The flow of rows").wait_for()
    save(page, file)


def picture_tab(page: Page, live: LiveAirflow, file: Path) -> None:
    page.goto(f"{live.url}/dags/{DAG}/plugin/data-quality-dag")
    page.frame_locator("iframe").frame_locator("iframe").get_by_role(
        "heading", name="The flow of rows"
    ).wait_for()
    page.get_by_text(TASKS[-1]).first.wait_for()
    save(page, file)


def picture_question(page: Page, live: LiveAirflow, run: str, file: Path) -> None:
    page.goto(f"{live.url}/dags/{DAG}/runs/{quote(run)}/tasks/decide/required_actions")
    page.get_by_text("Nothing of these batches is published").wait_for()
    page.get_by_role("button", name="Release").wait_for()
    page.get_by_text("Required Action (1)").wait_for()
    page.wait_for_timeout(1_500)  # the runs of the grid come one by one
    save(page, file)


def save(page: Page, file: Path) -> None:
    page.screenshot(path=file, animations="disabled")
    page.context.close()
    print(f"took {file.relative_to(ROOT)}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
