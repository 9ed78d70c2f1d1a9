"""Stands for the `weir` command with a batch at work: asked to end, it needs longer for it than Airflow
leaves a task. It ends by itself once the file `done` is there. Every signal, and the end of the batch, is
written down in the file `load`.
"""

import json
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

HOME = Path(os.environ["WEIR_HOME"])
BATCH_SECONDS = float(os.environ.get("WEIR_FAKE_BATCH_SECONDS", "8"))
asked: list[int] = []


def note(text: str) -> None:
    with (HOME / "load").open("a", encoding="utf-8") as file:
        file.write(f"{text} ")


def hear(number: int, frame: FrameType | None) -> None:
    asked.append(number)
    note(str(number))


def end(code: int, **said: str) -> None:
    print(json.dumps({"exit_code": code, "problems": [], **said}))
    sys.exit(code)


if sys.argv[1] == "check":
    end(0)
signal.signal(signal.SIGTERM, hear)
note("begun")
while not asked:
    if (HOME / "done").exists():
        note("done")
        end(0, status="ok", message="done")
    time.sleep(0.1)
time.sleep(BATCH_SECONDS)
note("batch")
end(6, status="stopped", message="stopped by SIGTERM: 1 batch was finished")
