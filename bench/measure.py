"""Runs a command and measures it: seconds, CPU seconds, and the most memory that its processes held together."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OUT = ROOT / "bench" / "out"
PAGE = os.sysconf("SC_PAGE_SIZE")
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


def measure(command: list[str], expected: tuple[int, ...] = (0,), **environ: str) -> Measured:
    """Run the command in a process group of its own and look at the group until it ends."""
    OUT.mkdir(parents=True, exist_ok=True)
    log = OUT / "last.log"
    with open(log, "wb") as out:
        started = time.monotonic()
        process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, **environ}, stdout=out, stderr=out, start_new_session=True)
        peak, cpu, java = 0, {}, False
        while process.poll() is None:
            for pid, ticks, _, name in _group(process.pid):
                cpu[pid] = ticks
                java = java or name == "java"
            peak = max(peak, sum(pages for _, _, pages, _ in _group(process.pid)))
            time.sleep(SECONDS_BETWEEN_LOOKS)
        seconds = time.monotonic() - started
    if process.returncode not in expected:
        sys.exit(f"{' '.join(command)} ended with {process.returncode}:\n{log.read_text(errors='replace')[-3000:]}")
    return Measured(seconds, sum(cpu.values()) / TICKS, peak * PAGE / 1e6, java, process.returncode)


def _group(leader: int) -> list[tuple[int, int, int, str]]:
    """(pid, CPU ticks, resident pages, name) of each process in the session that the leader started."""
    found = []
    for folder in Path("/proc").iterdir():
        if not folder.name.isdigit():
            continue
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(")")
            pages = int((folder / "statm").read_text().split()[1])
        except OSError:  # it ended between the listing and the look
            continue
        fields = tail.split()
        if int(fields[3]) == leader:
            found.append((int(folder.name), int(fields[11]) + int(fields[12]), pages, head.partition("(")[2]))
    return found


def weir(*arguments: str, lake: Path, landing: Path, expected: tuple[int, ...] = (0,)) -> Measured:
    return measure([sys.executable, "-m", "spark_jobs.cli", *arguments], expected, WEIR_LAKE=str(lake), WEIR_LANDING=str(landing))


def handwritten(script: str, lake: Path, landing: Path) -> Measured:
    command = [sys.executable, f"bench/handwritten/{script}.py", "--landing", str(landing), "--lake", str(lake)]
    return measure(command, PYTHONPATH=str(ROOT))


def report(name: str, ours: Measured, theirs: list[Measured], limit: float) -> None:
    seconds = sum(one.seconds for one in theirs)
    ratio = ours.seconds / seconds
    print(f"  Weir          {ours}")
    for one in theirs:
        print(f"  hand-written  {one}")
    print(f"  {name}: {ratio:.2f} times the hand-written job (aim: at most {limit})", flush=True)
