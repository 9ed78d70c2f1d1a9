"""Increments of the retail sample, nine tables and all their rules: in a warm session, as `weir stream` makes
them, and each by a cold process of its own. Two lakes over the same files, in turns.

`python -m bench.warm_increment --orders 400 --increments 2 --warm-up 1` is done in some minutes.
"""

import argparse
import shutil
from collections.abc import Sequence

from bench.measure import OUT, ROOT, Measured, weir
from bench.project import write_project
from bench.spread import spread
from bench.warm import Increment, WarmSession
from spark_jobs.sample.write import write_sample


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--orders", type=int, default=2_000, help="of the first load; an increment has a tenth of them"
    )
    parser.add_argument("--increments", type=int, default=5, help="that are measured")
    parser.add_argument("--warm-up", type=int, default=3, help="increments of the warm session before them")
    arguments = parser.parse_args()
    compare(arguments.orders, arguments.increments, arguments.warm_up)


def compare(orders: int, increments: int, warm_up: int) -> None:
    home = OUT / "warm_increment"
    shutil.rmtree(home, ignore_errors=True)
    write_project(home, {})
    for name in ("conf", "expectations"):
        shutil.copytree(ROOT / name, home / name, dirs_exist_ok=True)
    landing, session = home / "landing", WarmSession()
    warm, cold = list[Increment](), list[Measured]()
    print(
        f"retail: a load of {orders:,} orders, {warm_up} increments to warm up, then {increments} warm and"
        " cold in turns",
        flush=True,
    )
    try:
        with session.increments(home, "retail") as run:
            for number in range(warm_up + 1):
                write_sample(landing, orders, increment=number)
                run()
            weir("run", "retail", lake=home / "cold", landing=landing)
            for number in range(warm_up + 1, warm_up + 1 + increments):
                write_sample(landing, orders, increment=number)
                warm.append(run())
                cold.append(weir("run", "retail", lake=home / "cold", landing=landing))
                print(f"  warm {warm[-1]}\n  cold {cold[-1]}", flush=True)
    finally:
        session.end()
    _compare(warm, cold)


def _compare(warm: Sequence[Increment], cold: Sequence[Measured]) -> None:
    for what in ("seconds", "cpu_seconds"):
        ours, theirs = (spread([getattr(one, what) for one in side]) for side in (warm, cold))
        print(
            f"  {what}: warm {ours}, cold {theirs}, {ours.median / theirs.median:.2f} times (aim: at most"
            " 0.2)",
            flush=True,
        )


if __name__ == "__main__":
    main()
