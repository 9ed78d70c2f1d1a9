"""What a file costs: the same rows in many small files and in a few, through three tables, each by a cold
process, in turns.

`python -m bench.growth_files --files 200 --few 2` is done in two minutes.
"""

import argparse
import shutil
import sys
from datetime import timedelta

from deltalake import DeltaTable

from bench.events import PROFILE, Asked, count_asked
from bench.measure import OUT, Measured
from bench.meters import PIPELINE, reading
from bench.project import run_project, write_project
from bench.spread import spread

ROWS_PER_FILE = 10
"""About 1 kB."""
SPAN = timedelta(days=5)
"""Of event time in all files."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--files", type=int, default=20_000, help="the many")
    parser.add_argument("--few", type=int, default=20, help="the few")
    parser.add_argument("--rounds", type=int, default=3, help="how often both are measured, in turns")
    arguments = parser.parse_args()
    compare(arguments.files, arguments.few, arguments.rounds)


def compare(files: int, few: int, rounds: int) -> None:
    rows = files * ROWS_PER_FILE
    print(f"{rows:,} rows in {files:,} files and in {few:,}", flush=True)
    found: dict[int, list[Measured]] = {files: [], few: []}
    for _ in range(rounds):
        for count, measured in found.items():
            one, asked = _load(count, rows)
            measured.append(one)
            print(
                f"  {count:7,} files {one}  {asked.executions} executions, {asked.jobs} jobs, {asked.tasks}"
                " tasks",
                flush=True,
            )
    for what in ("seconds", "cpu_seconds", "peak_mb"):
        many, less = (spread([getattr(one, what) for one in measured]) for measured in found.values())
        print(f"  {what}: {many} against {less}, {many.median / less.median:.2f} times", flush=True)
    extra = (
        spread([one.cpu_seconds for one in found[files]]).median
        - spread([one.cpu_seconds for one in found[few]]).median
    )
    print(f"  a file more: {extra / (files - few) * 1000:.2f} CPU ms", flush=True)


def _load(files: int, rows: int) -> tuple[Measured, Asked]:
    home = OUT / f"growth_files_{files}"
    shutil.rmtree(home, ignore_errors=True)
    write_project(home, {"conf/pipelines/meters.yml": PIPELINE, "conf/profiles/local.yml": PROFILE})
    folder = home / "landing" / "readings"
    folder.mkdir(parents=True)
    for number in range(files):
        lines = (
            reading(row, row * SPAN / rows)
            for row in range(rows * number // files, rows * (number + 1) // files)
        )
        (folder / f"{number:06d}.json").write_text("".join(lines), encoding="utf-8")
    measured = run_project(home, "meters")
    if (published := DeltaTable(home / "lake/meters/silver/readings").count()) != rows:
        sys.exit(f"{published:,} rows were published of {rows:,}")
    return measured, count_asked(home)


if __name__ == "__main__":
    main()
