"""Runs a command and measures it: seconds, CPU seconds, and the most memory that its
processes held together.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "bench" / "out"
TICKS = os.sysconf("SC_CLK_TCK")
SECONDS_BETWEEN_LOOKS = 0.25


@dataclass(frozen=True)
class Measured:
    seconds: float
    cpu_seconds: float
    peak_mb: float
    started_java: bool
    exit_code: int

    def __str__(self) -> str:
        return f"{self.seconds:7.1f} s  {self.cpu_seconds:7.1f} CPU s  {self.peak_mb:6.0f} MB"


class Process(NamedTuple):
    """Of the session that a command leads."""

    pid: int
    ticks: int
    kilobytes: int
    name: str
    is_leader: bool


def measure(
    command: list[str],
    expected: tuple[int, ...] = (0,),
    watch: Callable[[Sequence[Process]], None] | None = None,
    **environ: str,
) -> Measured:
    """Run the command in a process group of its own and look at the group until it ends; `watch` looks as
    well.
    """
    OUT.mkdir(parents=True, exist_ok=True)
    log = OUT / "last.log"
    with open(log, "wb") as out:
        started = time.monotonic()
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **environ}, stdout=out, stderr=out, start_new_session=True
        )
        peak, cpu, java = 0, {}, False
        while process.poll() is None:
            group = _group(process.pid)
            cpu.update({each.pid: each.ticks for each in group})
            java = java or any(each.name == "java" for each in group)
            peak = max(peak, sum(each.kilobytes for each in group))
            if watch:
                watch(group)
            time.sleep(SECONDS_BETWEEN_LOOKS)
        seconds = time.monotonic() - started
    if process.returncode not in expected:
        sys.exit(
            f"{' '.join(command)} ended with {process.returncode}:\n{log.read_text(errors='replace')[-3000:]}"
        )
    return Measured(seconds, sum(cpu.values()) / TICKS, peak * 1024 / 1e6, java, process.returncode)


def _group(leader: int) -> list[Process]:
    """Each process in the session that the leader started. Memory that processes share, as a JVM does with a
    child just before that becomes another program, is shared out among them.
    """
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(")")
            if int(tail.split()[3]) != leader:
                continue
            shared_out = next(
                line for line in (folder / "smaps_rollup").read_text().splitlines() if line.startswith("Pss:")
            )
        except (OSError, StopIteration):  # it ended between the listing and the look
            continue
        fields = tail.split()
        pid, ticks, kilobytes = (
            int(folder.name),
            int(fields[11]) + int(fields[12]),
            int(shared_out.split()[1]),
        )
        found.append(Process(pid, ticks, kilobytes, head.partition("(")[2], is_leader=pid == leader))
    return found


def cpu_seconds(process: str) -> float:
    """What a process has taken so far: its number, or `self`."""
    fields = Path("/proc", process, "stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def weir(*arguments: str, lake: Path, landing: Path, expected: tuple[int, ...] = (0,)) -> Measured:
    return measure(
        [sys.executable, "-m", "spark_jobs.cli", *arguments],
        expected,
        WEIR_LAKE=str(lake),
        WEIR_LANDING=str(landing),
    )


def handwritten(script: str, lake: Path, landing: Path) -> Measured:
    command = [
        sys.executable,
        f"bench/handwritten/{script}.py",
        "--landing",
        str(landing),
        "--lake",
        str(lake),
    ]
    return measure(command, PYTHONPATH=str(ROOT))


def report(name: str, ours: Measured, theirs: list[Measured], limit: float) -> None:
    seconds = sum(one.seconds for one in theirs)
    ratio = ours.seconds / seconds
    print(f"  Weir          {ours}")
    for one in theirs:
        print(f"  hand-written  {one}")
    print(f"  {name}: {ratio:.2f} times the hand-written job (aim: at most {limit})", flush=True)
