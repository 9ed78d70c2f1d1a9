"""The first load of 2,000,000 sample orders (about 500 MB) against a hand-written PySpark + Delta job of the
same tables in one session.
"""

import shutil
import sys
from pathlib import Path

from bench.measure import OUT, handwritten, report, weir


def main(orders: int = 2_000_000) -> None:
    landing, lakes = OUT / f"landing-{orders}", OUT / "full_load"
    if not landing.is_dir():
        print(f"writing {orders:,} sample orders", flush=True)
        weir("sample", "--orders", str(orders), lake=lakes, landing=landing)
    shutil.rmtree(lakes, ignore_errors=True)
    size = sum(file.stat().st_size for file in Path(landing, "retail").rglob("*") if file.is_file())
    print(f"full load of {orders:,} orders, {size / 1e6:.0f} MB", flush=True)
    theirs = handwritten("all_layers", lakes / "handwritten", landing)
    ours = weir("run", "retail", lake=lakes / "weir", landing=landing)
    report("full load", ours, [theirs], 1.5)
    print(f"  peak memory of Weir: {ours.peak_mb:.0f} MB (aim: at most 4000)")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
