"""A cold increment of 1,000 orders against the hand-written job as three spark-submits, and a run with nothing new."""

import shutil

from bench.measure import OUT, handwritten, report, weir

ORDERS = "10000"


def main() -> None:
    folder = OUT / "increment"
    shutil.rmtree(folder, ignore_errors=True)
    landing, ours, theirs = folder / "landing", folder / "weir", folder / "handwritten"
    weir("sample", "--orders", ORDERS, lake=ours, landing=landing)
    handwritten("all_layers", theirs, landing)
    weir("run", "retail", lake=ours, landing=landing)
    weir("sample", "--orders", ORDERS, "--increment", "1", lake=ours, landing=landing)
    print("cold increment of 1,000 orders on a lake of 10,000", flush=True)
    three = [handwritten(script, theirs, landing) for script in ("bronze", "silver", "gold")]
    report("increment", weir("run", "retail", lake=ours, landing=landing), three, 0.6)
    nothing = weir("run", "retail", lake=ours, landing=landing, expected=(3,))
    print(f"a run with nothing new\n  Weir          {nothing}\n  started a JVM: {'yes' if nothing.started_java else 'no'}", flush=True)


if __name__ == "__main__":
    main()
