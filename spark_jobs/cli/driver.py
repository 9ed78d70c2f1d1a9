"""The driver inside a cluster: does what the command that was submitted says, and leaves its result where the
submitting `weir` looks.

Spark runs this file. Beside it in the container are what YARN has unpacked; in the image of Kubernetes
everything is in its place.
"""

import contextlib
import io
import json
import os
import signal
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any, TextIO

LOOK_SECONDS = 2.0


def main(arguments: list[str]) -> int:
    """The exit code for the cluster: a run with nothing to do has not failed."""
    from spark_jobs.lake.storage import write_bytes
    from spark_jobs.session.hosts import SUBMITTED
    from spark_jobs.session.start import driver_context

    ticket = os.environ[SUBMITTED]
    ended = threading.Event()
    threading.Thread(target=_heed_stops, args=(f"{ticket}.stop", ended), daemon=True).start()
    result = run_weir(arguments)
    ended.set()
    write_bytes(f"{ticket}.json", json.dumps(result).encode())
    # YARN takes a driver that has made none, because there was nothing to do, for one that has failed
    driver_context("weir", {})
    return 0 if result["exit_code"] in (0, 3) else 1


def run_weir(arguments: list[str]) -> dict[str, Any]:
    """What the command prints, to be printed by the `weir` that has submitted it, its exit code, and the runs
    that it has reported.
    """
    from spark_jobs.cli.app import app

    said = {name: _Copy(stream) for name, stream in (("stdout", sys.stdout), ("stderr", sys.stderr))}
    with contextlib.redirect_stdout(said["stdout"]), contextlib.redirect_stderr(said["stderr"]):
        try:
            app(arguments, standalone_mode=True)
        except SystemExit as ending:
            code = ending.code if isinstance(ending.code, int) else int(bool(ending.code))
        else:
            code = 0
    reports = Path(os.environ["WEIR_REPORTS"])
    return {"exit_code": code, "runs": sorted(page.stem for page in reports.glob("*/[0-9]*.html"))} | {
        name: text.getvalue() for name, text in said.items()
    }


class _Copy(io.StringIO):
    """Keeps what is written, and writes it to the container's log as well."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__()
        self.stream = stream

    def write(self, text: str) -> int:
        self.stream.write(text)
        return super().write(text)

    def flush(self) -> None:
        self.stream.flush()


def _heed_stops(note: str, ended: threading.Event) -> None:
    """A note in the lake is what a signal is on one's own machine."""
    from spark_jobs.lake.storage import exists, remove

    while not ended.wait(LOOK_SECONDS):
        if exists(note):
            remove(note)
            os.kill(os.getpid(), signal.SIGTERM)


def make_home(container: Path) -> Path:
    """A project as `weir` expects it, of what YARN has unpacked; logs go where YARN keeps them."""
    home = container / "weir"
    (home / ".envs").mkdir(parents=True)
    logs = os.environ.get("LOG_DIRS", "").partition(",")[0] or str(container)
    places = {
        "conf": container / "project/conf",
        "expectations": container / "project/expectations",
        "logs": Path(logs),
    }
    for name, place in {**places, ".envs/jars": container / "environment/jars"}.items():
        (home / name).symlink_to(place)
    return home


if __name__ == "__main__":
    if "WEIR_HOME" not in os.environ:
        os.environ["WEIR_HOME"] = str(make_home(Path.cwd()))
    os.environ["WEIR_REPORTS"] = tempfile.mkdtemp(prefix="weir-reports-")
    from spark_jobs.config.hooks import leave

    exit_code = main(sys.argv[1:])
    sys.stdout.flush()
    sys.stderr.flush()
    leave(exit_code)  # as cli/app.py does, and why
