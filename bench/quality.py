"""What expectations cost: a load with 15 of them against the same load with none, and a batch of which every row breaks its rules.

`python -m bench.quality [orders] [failing rows]`
"""

import shutil
import sys
from pathlib import Path

import pyarrow.compute as pc
from deltalake import DeltaTable

from bench.measure import OUT, ROOT, Measured, weir
from bench.project import run_project, write_project

HOME = OUT / "quality"
TABLE = "expectations/retail/silver.orders.yml"
EXPECTATIONS = ROOT / "bench" / "quality_orders.yml"
READINGS = """
pipeline: meters
sources: {readings: {format: json, path: readings}}
silver:
  readings:
    from: readings
    columns: {id: bigint, district: string, at: timestamp, kwh: "decimal(9,3)"}
    key: id
    event_time: at
"""
READING_RULES = """
expectations:
  kwh_in_range:
    {type: expect_column_values_to_be_between, kwargs: {column: kwh, min_value: 0}, on_fail: quarantine, reason: Nobody gives power back.}
  known_district:
    {type: expect_column_values_to_match_regex, kwargs: {column: district, regex: "^d[0-9]+$"}, on_fail: quarantine, reason: As on the map.}
"""
GOOD, FAILING = ("d{}", "{}"), ("x{}", "-1{}")
LINES_PER_FILE = 250_000


def main(orders: int = 2_000_000, failing: int = 1_000_000) -> None:
    shutil.rmtree(HOME, ignore_errors=True)
    compare_loads(orders)
    compare_batches(failing)


def compare_loads(orders: int) -> None:
    """The retail pipeline, every table of it, once without expectations and once with 15 on silver.orders."""
    landing = OUT / f"landing-{orders}"
    if not landing.is_dir():
        print(f"writing {orders:,} sample orders", flush=True)
        weir("sample", "--orders", str(orders), lake=HOME, landing=landing)
    size = sum(len(file.read_bytes()) for file in Path(landing, "retail").rglob("*") if file.is_file())  # and both find it in memory
    print(f"load of {orders:,} orders, {size / 1e6:.0f} MB, without and with 15 expectations on silver.orders", flush=True)
    without = _load("without", {}, landing)
    judged = _load("with", {TABLE: EXPECTATIONS.read_text(encoding="utf-8")}, landing)
    print(f"  without       {without}\n  with          {judged}")
    print(f"  expectations: {judged.seconds / without.seconds:.2f} times the load without them (aim: at most 1.2)", flush=True)


def compare_batches(rows: int) -> None:
    """One batch of good rows, and one of as many rows that all break two rules: peak memory of driver and JVM."""
    print(f"one batch of {rows:,} rows, all good and all failing", flush=True)
    good, failing = _batch("good", rows, *GOOD), _batch("failing", rows, *FAILING)
    print(f"  good          {good}\n  failing       {failing}")
    print(f"  memory: {failing.peak_mb / good.peak_mb:.2f} times the batch of good rows (aim: at most 1.1)")
    reasons = DeltaTable(HOME / "failing/lake/meters/quarantine/silver.readings").to_pyarrow_table(columns=["reasons"]).column("reasons")
    with_both = pc.sum(pc.equal(pc.list_value_length(reasons), 2)).as_py()
    print(f"  set aside: {len(reasons):,}, with both reasons: {with_both:,} (aim: {rows:,})", flush=True)


def _load(name: str, expectations: dict[str, str], landing: Path) -> Measured:
    home = HOME / name
    write_project(home, expectations)
    shutil.copytree(ROOT / "conf", home / "conf", dirs_exist_ok=True)
    return run_project(home, "retail", landing)


def _batch(name: str, rows: int, district: str, kwh: str) -> Measured:
    home = HOME / name
    write_project(home, {"conf/pipelines/meters.yml": READINGS, "expectations/meters/silver.readings.yml": READING_RULES})
    folder = home / "landing" / "readings"
    folder.mkdir(parents=True)
    for start in range(0, rows, LINES_PER_FILE):
        numbers = range(start, min(start + LINES_PER_FILE, rows))
        with open(folder / f"{start}.json", "w", encoding="utf-8") as file:
            file.writelines(_line(number, district.format(number % 40), kwh.format(number % 997)) for number in numbers)
    return run_project(home, "meters")


def _line(number: int, district: str, kwh: str) -> str:
    at = f"2024-05-{number % 28 + 1:02d}T{number % 24:02d}:00:00Z"
    return f'{{"id":{number},"district":"{district}","at":"{at}","kwh":{kwh}}}\n'


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
