"""What expectations cost: a load with 15 of them against the same load with none, and a batch of which every
row breaks its rules.

`python -m bench.quality [orders] [failing rows]`; with 0 failing rows the two loads alone.
"""

import shutil
import sys
from pathlib import Path

from bench.driver_memory import compare_drivers
from bench.measure import OUT, ROOT, Measured, weir
from bench.project import run_project, write_project
from bench.readings import FAILING, GOOD, readings_project, set_aside

HOME = OUT / "quality"
TABLE = "expectations/retail/silver.orders.yml"
EXPECTATIONS = ROOT / "bench" / "quality_orders.yml"


def main(orders: int = 2_000_000, failing: int = 1_000_000) -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    compare_loads(orders)
    if failing:
        compare_batches(failing)
        compare_drivers((failing // 4, failing // 2, failing))


def compare_loads(orders: int) -> None:
    """The retail pipeline, every table of it, once without expectations and once with 15 on silver.orders."""
    landing = OUT / f"landing-{orders}"
    if not landing.is_dir():
        print(f"writing {orders:,} sample orders", flush=True)
        weir("sample", "--orders", str(orders), lake=HOME, landing=landing)
    # and both find it in memory
    size = sum(len(file.read_bytes()) for file in Path(landing, "retail").rglob("*") if file.is_file())
    print(
        f"load of {orders:,} orders, {size / 1e6:.0f} MB, without and with 15 expectations on silver.orders",
        flush=True,
    )
    without = _load("without", {}, landing)
    judged = _load("with", {TABLE: EXPECTATIONS.read_text(encoding="utf-8")}, landing)
    print(f"  without       {without}\n  with          {judged}")
    print(
        f"  expectations: {judged.seconds / without.seconds:.2f} times the load without them (aim: at most"
        " 1.05)",
        flush=True,
    )


def compare_batches(rows: int) -> None:
    """One batch of good rows, and one of as many rows that all break two rules: peak memory of driver and
    JVM.
    """
    print(f"one batch of {rows:,} rows, all good and all failing", flush=True)
    good, failing = _batch("good", rows, *GOOD), _batch("failing", rows, *FAILING)
    print(f"  good          {good}\n  failing       {failing}")
    print(f"  memory: {failing.peak_mb / good.peak_mb:.2f} times the batch of good rows (aim: at most 1.1)")
    kept, with_both = set_aside(HOME / "failing")
    print(f"  set aside: {kept:,}, with both reasons: {with_both:,} (aim: {rows:,})", flush=True)


def _load(name: str, expectations: dict[str, str], landing: Path) -> Measured:
    home = HOME / name
    write_project(home, expectations)
    shutil.copytree(ROOT / "conf", home / "conf", dirs_exist_ok=True)
    return run_project(home, "retail", landing)


def _batch(name: str, rows: int, district: str, kwh: str) -> Measured:
    readings_project(HOME / name, rows, district, kwh)
    return run_project(HOME / name, "meters")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
