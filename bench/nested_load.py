"""Nested JSON orders with two dimensions and hourly windows, beside hand-written hops in one session: the
first load in 100 files, then 1,000 rows in 5 files by a cold process.

`python -m bench.nested_load --orders 200000` is done in some minutes; `--sizes 4 8 16` loads so many MB
instead, under either settings.
"""

import argparse
import shutil
from pathlib import Path

from bench.measure import OUT, Measured, handwritten
from bench.nested import nested_project, write_dimensions, write_orders
from bench.project import run_project

BYTES_PER_ORDER = 280
MEGABYTE = 1024 * 1024
PROFILE = "master: local[*]\ndriver_memory: 2g\nbig_load_from_mb: {}\nparallel_tables: 3\nspark: {{}}\n"
SETTINGS = {"small-run": 1_000_000, "big-load": 0}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=2_000_000, help="of the first load")
    parser.add_argument(
        "--rounds", type=int, default=1, help="how often the pair is measured, in alternation"
    )
    parser.add_argument("--only", choices=("weir", "handwritten"), help="measure one of the two")
    parser.add_argument(
        "--sizes", type=int, nargs="+", metavar="MB", help="first loads of so many MB, by Weir alone"
    )
    parser.add_argument(
        "--both",
        action="store_true",
        help="with --sizes: under the small-run and under the big-load settings",
    )
    arguments = parser.parse_args()
    if arguments.sizes:
        compare_sizes(arguments.sizes, arguments.rounds, arguments.both)
    else:
        compare_jobs(arguments.orders, arguments.rounds, arguments.only)


def compare_jobs(orders: int, rounds: int, only: str | None) -> None:
    for number in range(rounds):
        home = _fresh("nested_load")
        landing, lake = home / "landing", home / "handwritten"
        write_dimensions(landing)
        size = write_orders(landing, "first", 0, orders, 100)
        print(f"round {number + 1}: {orders:,} nested orders, {size / 1e6:.0f} MB in 100 files", flush=True)
        _pair("first load", home, landing, lake, only)
        write_orders(landing, "second", orders, 1_000, 5)
        _pair("1,000 rows, cold", home, landing, lake, only)


def _pair(name: str, home: Path, landing: Path, lake: Path, only: str | None) -> None:
    theirs = handwritten("nested", lake, landing) if only != "weir" else None
    ours = run_project(home, "nested") if only != "handwritten" else None
    for who, measured in (("hand-written", theirs), ("Weir", ours)):
        if measured:
            print(f"  {name:<17} {who:<13} {measured}", flush=True)
    if ours and theirs:
        ratios = (
            ours.seconds / theirs.seconds,
            ours.cpu_seconds / theirs.cpu_seconds,
            ours.peak_mb / theirs.peak_mb,
        )
        print(
            "  {:<17} ratio           {:.2f} seconds, {:.2f} CPU s, {:.2f} memory".format(name, *ratios),
            flush=True,
        )


def compare_sizes(sizes: list[int], rounds: int, both: bool) -> None:
    """First loads without the hand-written job: where the two settings cross, and that time per row never
    rises with the size.
    """
    for _ in range(rounds):
        for size in sizes:
            for settings in SETTINGS if both else (None,):
                print(f"  {size:4d} MB  {settings or 'chosen':<10} {_load(size, settings)}", flush=True)


def _load(megabytes: int, settings: str | None) -> str:
    home, orders = _fresh("nested_sizes"), megabytes * MEGABYTE // BYTES_PER_ORDER
    if settings:
        (home / "conf/profiles/local.yml").write_text(PROFILE.format(SETTINGS[settings]), encoding="utf-8")
    write_dimensions(home / "landing")
    write_orders(home / "landing", "first", 0, orders, max(2, min(100, megabytes)))
    measured: Measured = run_project(home, "nested")
    return f"{measured}  {measured.seconds / orders * 1e6:7.1f} us a row"


def _fresh(name: str) -> Path:
    home = OUT / name
    shutil.rmtree(home, ignore_errors=True)
    nested_project(home)
    return home


if __name__ == "__main__":
    main()
