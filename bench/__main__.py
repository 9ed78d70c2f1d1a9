"""`make bench`: the benchmarks one after the other; `python -m bench NAME …`: one of them, with its arguments
(`--help` where it has some).

They want a quiet machine; compare ratios, not seconds.
"""

import runpy
import sys
from pathlib import Path

ALL = (
    "parse",
    "looks",
    "increment",
    "warm_increment",
    "questions",
    "full_load",
    "nested_load",
    "beside_duckdb",
    "late_row",
    "quality",
    "state",
    "kafka",
    "latency",
    "small_files",
)
BY_NAME = (
    "growth_increments",
    "growth_files",
    "growth_rows",
    "ledger_year",
    "ledger_always_on",
    "driver_memory",
)
"""Not for every time: some take an hour, some are a part of another."""

name, arguments = (sys.argv[1], sys.argv[2:]) if len(sys.argv) > 1 else (None, [])
if name is not None and name not in ALL + BY_NAME:
    sys.exit(
        f"there is no benchmark {name!r} in {Path(__file__).parent}; there are"
        f" {', '.join(sorted(ALL + BY_NAME))}"
    )
for module in ALL if name is None else (name,):
    sys.argv = [module, *arguments]
    runpy.run_module(f"bench.{module}", run_name="__main__", alter_sys=True)
