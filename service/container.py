"""`scheduler`: Airflow's scheduler as the main process of a container. Stopped, it lets the loads finish
their batch, as `down` does.
"""

import signal
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from urllib.parse import urlsplit

from service.environ import MARKER, airflow_command
from service.health import ask_health
from service.processes import Process, boot_id, find_process
from service.state import Component, State, going_down_file
from service.stop import end_tasks

COMMAND = ("scheduler", "--skip-serve-logs")
API = "AIRFLOW__CORE__EXECUTION_API_SERVER_URL"
POLL_SECONDS = 1.0


def run_scheduler(
    root: Path, environ: Mapping[str, str], say: Callable[[str], None], grace_seconds: float
) -> int:
    """The exit code of the scheduler. SIGTERM reaches this process alone: the scheduler leads a session of
    its own.
    """
    going_down_file(root).unlink(missing_ok=True)
    marker = uuid.uuid4().hex
    signal.signal(signal.SIGTERM, _stop)
    _wait_for_api(environ.get(API, ""), say)
    with subprocess.Popen(
        [str(airflow_command(root)), *COMMAND],
        env={**environ, MARKER: marker, "SPT_NOENV": "1"},
        start_new_session=True,
    ) as child:
        found = find_process(child.pid)
        scheduler = Component(
            "scheduler", found.process if found else Process(child.pid, 0), Path("/dev/stdout")
        )
        state = State(marker, boot_id(), "", datetime.now(UTC).isoformat(timespec="seconds"), (scheduler,))
        try:
            return child.wait()
        except KeyboardInterrupt:
            end_tasks(root, state, say, grace_seconds)
            return child.wait()
        finally:
            going_down_file(root).unlink(missing_ok=True)


def _wait_for_api(url: str, say: Callable[[str], None]) -> None:
    """Returns when the API server answers. After a boot the engine starts containers in any order, and a task
    that begins before would lose a try.
    """
    address = urlsplit(url)._replace(path="").geturl()
    if address and not ask_health(address):
        say(f"waiting for the API server at {address}")
        while not ask_health(address):
            time.sleep(POLL_SECONDS)


def _stop(_number: int, _frame: FrameType | None) -> None:
    """As Ctrl-C would, once."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    raise KeyboardInterrupt
