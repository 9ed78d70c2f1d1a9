"""Stands for the `weir` command: `weir run exit_4 …` says a line, prints a result and ends with 4; `weir run hang …` does not end."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

pipeline, *arguments = sys.argv[2:]
print(f"{pipeline} {' '.join(arguments)}", file=sys.stderr, flush=True)

if pipeline == "hang":
    # A child that does not hear SIGTERM, as a JVM that is busy; both pids are told once it is deaf.
    deaf = "import os, signal, sys, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(os.getpid(), flush=True); time.sleep(3600)"
    with subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        child.stdout.readline()
        Path(os.environ["FAKE_WEIR_PIDS"]).write_text(f"{os.getpid()} {child.pid}", encoding="utf-8")
        print("ready", file=sys.stderr, flush=True)
        signal.pause()

code = int(pipeline.removeprefix("exit_")) if pipeline.startswith("exit_") else 4 * ("gold" in arguments)
print("some line before the result")
print(json.dumps({"pipeline": pipeline, "exit_code": code, "message": f"this is {code}", "arguments": arguments}))
sys.exit(code)
