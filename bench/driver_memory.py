"""Does the driver keep anything of the rows that fail? Batches of more and more failing rows, on a cluster
with a small driver.

In `local[*]` one JVM is driver and executor, so its memory tells of both. Here the executor is another
process, and what the driver holds is counted: the objects of its heap that are alive after a full collection,
and the memory of the Python process.
"""

import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from bench.cluster import ENVIRON, standalone_cluster
from bench.measure import OUT, Measured, Process
from bench.project import run_project
from bench.readings import FAILING, readings_project, set_aside

HOME = OUT / "driver_memory"
SIZES = (250_000, 500_000, 1_000_000)
DRIVER_MEMORY = "512m"
"""Spark refuses less than 450 MB."""
PROFILE = """
master: %s
driver_memory: %s
big_load_from_mb: 0
spark: {spark.cores.max: 2, spark.executor.cores: 2, spark.executor.memory: 2g}
"""
SECONDS_BETWEEN_COLLECTIONS = 3.0  # each holds the driver up
TOTAL = re.compile(r"^Total +\d+ +(\d+)", re.MULTILINE)


@dataclass
class DriverMemory:
    """The most that the driver held whenever it was looked at: live objects of its heap, and memory of its
    Python process.
    """

    live_mb: list[float] = field(default_factory=list)
    python_mb: list[float] = field(default_factory=list)
    looked_at: float = 0.0

    def watch(self, processes: Sequence[Process]) -> None:
        """The run's processes: the first is Python's, and there is one JVM."""
        for process in processes:
            if process.is_leader:
                self.python_mb.append(process.kilobytes * 1024 / 1e6)
            elif process.name == "java" and time.monotonic() - self.looked_at > SECONDS_BETWEEN_COLLECTIONS:
                self.live_mb += live_heap_mb(process.pid)
                self.looked_at = time.monotonic()


def compare_drivers(sizes: Sequence[int] = SIZES) -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    print(f"failing rows in one batch, on a cluster, with a driver of {DRIVER_MEMORY}", flush=True)
    for rows in sizes:
        driver, measured = _run(rows)
        kept, with_both = set_aside(HOME / str(rows))
        heap = f"live heap of the driver at most {max(driver.live_mb):.0f} MB in {len(driver.live_mb)} looks"
        print(
            f"  {rows:>9,}  {measured.seconds:6.1f} s  {heap}, its Python {max(driver.python_mb):.0f} MB",
            flush=True,
        )
        print(
            f"             set aside: {kept:,}, with both reasons: {with_both:,} (aim: {rows:,})", flush=True
        )


def _run(rows: int) -> tuple[DriverMemory, Measured]:
    home, driver = HOME / str(rows), DriverMemory()
    readings_project(home, rows, *FAILING)
    with standalone_cluster(home, workers=1, cores=2, memory="3g") as cluster:
        (home / "conf/profiles/local.yml").write_text(
            PROFILE % (cluster.address, DRIVER_MEMORY), encoding="utf-8"
        )
        return driver, run_project(home, "meters", watch=driver.watch, **ENVIRON)


def live_heap_mb(pid: int) -> list[float]:
    """What is left of the heap after a full collection; nothing where the JVM does not answer yet, or any
    more.
    """
    said = subprocess.run(
        ["jcmd", str(pid), "GC.class_histogram"], capture_output=True, text=True, check=False
    ).stdout
    return [int(total) / 1e6 for total in TOTAL.findall(said)]


if __name__ == "__main__":
    compare_drivers()
