"""A cold increment of 1,000 orders against the hand-written job as three spark-submits, and a run with
nothing new.
"""

import argparse
import shutil

from bench.measure import OUT, handwritten, report, weir


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--orders", type=int, default=10_000, help="of the first load; an increment has a tenth of them"
    )
    parser.add_argument(
        "--rounds", type=int, default=1, help="how many increments are measured, each by Weir and by hand"
    )
    arguments = parser.parse_args()
    compare(arguments.orders, arguments.rounds)


def compare(orders: int, rounds: int) -> None:
    folder, size = OUT / "increment", str(orders)
    shutil.rmtree(folder, ignore_errors=True)
    landing, ours, theirs = folder / "landing", folder / "weir", folder / "handwritten"
    weir("sample", "--orders", size, lake=ours, landing=landing)
    handwritten("all_layers", theirs, landing)
    weir("run", "retail", lake=ours, landing=landing)
    print(f"cold increments of {orders // 10:,} orders on a lake of {orders:,}", flush=True)
    for number in range(1, rounds + 1):
        weir("sample", "--orders", size, "--increment", str(number), lake=ours, landing=landing)
        three = [handwritten(script, theirs, landing) for script in ("bronze", "silver", "gold")]
        report("increment", weir("run", "retail", lake=ours, landing=landing), three, 0.4)
    nothing = weir("run", "retail", lake=ours, landing=landing, expected=(3,))
    print(
        f"a run with nothing new\n  Weir          {nothing}\n  started a JVM:"
        f" {'yes' if nothing.started_java else 'no'}",
        flush=True,
    )


if __name__ == "__main__":
    main()
