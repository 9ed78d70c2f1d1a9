"""Commands that only look: a run with nothing new, and `weir check` of the shipped project. Seconds and CPU
seconds, in turns.
"""

import argparse
import os
import resource
import shutil
import subprocess
import sys
import time

from bench.measure import OUT, ROOT, weir
from bench.spread import spread

NOTHING_NEW = 3
COMMANDS = {"nothing new": (["run", "retail"], NOTHING_NEW), "weir check": (["check"], 0)}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=10)
    arguments = parser.parse_args()
    compare(arguments.rounds)


def compare(rounds: int) -> None:
    folder = OUT / "looks"
    shutil.rmtree(folder, ignore_errors=True)
    lake, landing = folder / "lake", folder / "landing"
    weir("sample", "--orders", "400", lake=lake, landing=landing)
    weir("run", "retail", lake=lake, landing=landing)
    environ = {**os.environ, "WEIR_LAKE": str(lake), "WEIR_LANDING": str(landing)}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, (arguments, code) in COMMANDS.items():
            found[name].append(_time(arguments, code, environ))
    for name, taken in found.items():
        seconds, cpu_seconds = (spread(list(values)) for values in zip(*taken, strict=True))
        print(f"  {name}: {seconds} s, {cpu_seconds} CPU s", flush=True)


def _time(arguments: list[str], code: int, environ: dict[str, str]) -> tuple[float, float]:
    """Exactly, by what the system says of a child that has ended: these are too short to be looked at now and
    then.
    """
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    command = [sys.executable, "-m", "spark_jobs.cli", *arguments]
    ended = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, check=False)
    seconds, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if ended.returncode != code:
        sys.exit(
            f"{' '.join(arguments)} ended with {ended.returncode}:"
            f" {ended.stderr.decode(errors='replace')[-2000:]}"
        )
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
