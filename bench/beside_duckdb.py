"""Nested orders in Weir and in DuckDB on the same machine: a first load, then 1,000 rows more, each by a cold
process, in turns.

DuckDB reads all landed files each time and replaces its tables: nothing is quarantined, counted or kept as it
arrived. The bench ends with an error unless both have the same gold table.

`python -m bench.beside_duckdb --orders 2000` is done in two minutes.
"""

import argparse
import shutil
import sys
from pathlib import Path
from typing import Any

from deltalake import DeltaTable

from bench.measure import OUT, Measured, handwritten
from bench.nested import nested_project, write_dimensions, write_orders
from bench.project import run_project
from bench.spread import spread

GOLD = "gold/revenue_per_hour"
LOAD, MORE = "first load", "1,000 rows more"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--orders", type=int, default=200_000, help="of the first load")
    parser.add_argument("--rounds", type=int, default=3, help="how often both are measured, in turns")
    arguments = parser.parse_args()
    compare(arguments.orders, arguments.rounds)


def compare(orders: int, rounds: int) -> None:
    found: dict[str, list[tuple[Measured, Measured]]] = {LOAD: [], MORE: []}
    for number in range(rounds):
        home = OUT / "beside_duckdb"
        shutil.rmtree(home, ignore_errors=True)
        nested_project(home)
        write_dimensions(home / "landing")
        size = write_orders(home / "landing", "first", 0, orders, 100)
        print(f"round {number + 1}: {orders:,} nested orders, {size / 1e6:.0f} MB in 100 files", flush=True)
        found[LOAD].append(_pair(home, LOAD))
        write_orders(home / "landing", "second", orders, 1_000, 5)
        found[MORE].append(_pair(home, MORE))
        _check_same(home)
    for name, pairs in found.items():
        for what in ("seconds", "cpu_seconds", "peak_mb"):
            ours, theirs = (spread([getattr(one, what) for one in side]) for side in zip(*pairs, strict=True))
            print(
                f"{name}, {what}: Weir {ours}, DuckDB {theirs}, {ours.median / theirs.median:.1f} times",
                flush=True,
            )


def _pair(home: Path, name: str) -> tuple[Measured, Measured]:
    theirs = handwritten("duckdb_nested", home / "duckdb", home / "landing")
    ours = run_project(home, "nested")
    print(f"  {name:<16} DuckDB  {theirs}\n  {name:<16} Weir    {ours}", flush=True)
    return ours, theirs


def _check_same(home: Path) -> None:
    ours, theirs = _gold(home / "lake" / "nested"), _gold(home / "duckdb")
    if ours != theirs:
        sys.exit(f"{GOLD} differs: {len(ours):,} rows by Weir, {len(theirs):,} by DuckDB")


def _gold(lake: Path) -> list[tuple[Any, ...]]:
    """Sorted; the times are UTC in both, and only Weir's say so."""
    rows = (
        DeltaTable(lake / GOLD)
        .to_pyarrow_table(columns=["window_start", "city", "order_count", "revenue"])
        .to_pylist()
    )
    return sorted(
        (row["window_start"].replace(tzinfo=None), row["city"], row["order_count"], row["revenue"])
        for row in rows
    )


if __name__ == "__main__":
    main()
