"""Stands for the `weir` command. The name of the pipeline says what happens: `weir run exit_4 …` says a line,
prints a result and ends with 4; `weir run hang …` does not end; `weir plan idle` has nothing to do; `weir run
holding` holds a batch until it is released; `weir release over` finds none any more.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

BLOCKED = {
    "table": "silver.readings",
    "rules": ["usual_volume"],
    "rows": 3,
    "message": "silver.readings: batch blocked, 3 rows not published",
}
TABLE = {
    "table": "silver.readings",
    "state": "done",
    "version": 7,
    "rows_in": 3,
    "inserted": 3,
    "quarantined": 0,
}

COLUMN = {
    "file": "conf/pipelines/by_table.yml", "line": 17, "where": "silver.readings.event_time", "value": "att",
    "message": "there is no column 'att'", "hint": "did you mean 'at'?",
}  # fmt: skip


def hang() -> None:
    """A child that does not hear SIGTERM, as a JVM that is busy; both pids are told once it is deaf."""
    deaf = (
        "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(),"
        " flush=True); time.sleep(3600)"
    )
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        Path(os.environ["WEIR_FAKE_PIDS"]).write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
        print("ready", file=sys.stderr, flush=True)
        signal.pause()


def answer(command: str, pipeline: str, arguments: list[str]) -> tuple[int, dict[str, Any]]:
    if command == "plan":
        is_idle = pipeline == "idle"
        return (
            (3, {"status": "nothing_to_do"})
            if is_idle
            else (0, {"status": "work", "reasons": ["orders: 3 new files"]})
        )
    if (command, pipeline) == ("release", "over"):
        return 3, {"status": "nothing_to_do"}
    if command != "run":
        return 0, {"status": "ok"}
    if pipeline == "holding":
        return 4, {
            "status": "blocked",
            "blocked": [BLOCKED],
            "tables": [{**TABLE, "state": "blocked", "version": None}],
        }
    if pipeline == "busy_once":
        marker = Path(os.environ["WEIR_FAKE_PIDS"])
        if not marker.exists():
            marker.write_text("", encoding="utf-8")
            return 5, {"status": "leased"}
    code = int(pipeline.removeprefix("exit_")) if pipeline.startswith("exit_") else 0
    return code, {
        "status": "ok",
        "run_id": "r1",
        "verdict": "good",
        "report": "readings/r1.html",
        "tables": [TABLE] if code == 0 and pipeline != "over" else [],
    }


if sys.argv[1] == "check":
    print(json.dumps({"problems": [COLUMN], "warnings": []}))
    sys.exit(2)
words = [word for word in sys.argv[1:] if word != "quarantine"]
command, pipeline, *arguments = words
print(f"{command} {pipeline} {' '.join(arguments)}", file=sys.stderr, flush=True)
if pipeline == "hang":
    hang()
if (command, pipeline) == ("run", "killed"):
    os.kill(os.getpid(), signal.SIGKILL)
if (command, pipeline) == ("run", "asked"):
    os.kill(os.getpid(), signal.SIGTERM)
code, said = answer(command, pipeline, arguments)
print("some line before the result")
environ = {name: os.environ.get(name) for name in ("WEIR_ORIGIN", "WEIR_PARENT_PID")}
print(
    json.dumps(
        {
            "pipeline": pipeline,
            "exit_code": code,
            "message": f"this is {code}",
            "arguments": arguments,
            **environ,
            **said,
        }
    )
)
sys.exit(code)
