"""Does a row cost more in a bigger load? First loads of nested orders of several sizes, each by a cold
process, in turns.

`python -m bench.growth_rows --rows 2000 4000` is done in two minutes.
"""

import argparse
import shutil
from collections.abc import Sequence

from bench.measure import OUT, Measured
from bench.nested import nested_project, write_dimensions, write_orders
from bench.project import run_project
from bench.spread import spread

ROWS_PER_FILE = 20_000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rows", type=int, nargs="+", default=[2_000_000, 4_000_000, 8_000_000], help="of each load"
    )
    parser.add_argument("--rounds", type=int, default=3, help="how often all sizes are measured, in turns")
    arguments = parser.parse_args()
    compare(arguments.rows, arguments.rounds)


def compare(sizes: Sequence[int], rounds: int) -> None:
    found: dict[int, list[Measured]] = {rows: [] for rows in sizes}
    for _ in range(rounds):
        for rows, measured in found.items():
            measured.append(_load(rows))
            print(f"  {rows:10,} rows {measured[-1]}", flush=True)
    first = spread([one.cpu_seconds / sizes[0] for one in found[sizes[0]]]).median
    for rows, measured in found.items():
        seconds, cpu = (
            spread([getattr(one, what) / rows * 1e6 for one in measured])
            for what in ("seconds", "cpu_seconds")
        )
        peak = spread([one.peak_mb for one in measured]).median
        ratio = cpu.median / 1e6 / first
        print(
            f"  {rows:10,} rows: {seconds} us, {cpu} CPU us a row, {ratio:.2f} times the first size;"
            f" {peak:.0f} MB",
            flush=True,
        )


def _load(rows: int) -> Measured:
    home = OUT / "growth_rows"
    shutil.rmtree(home, ignore_errors=True)
    nested_project(home)
    write_dimensions(home / "landing")
    write_orders(home / "landing", "first", 0, rows, max(2, rows // ROWS_PER_FILE))
    return run_project(home, "nested")


if __name__ == "__main__":
    main()
