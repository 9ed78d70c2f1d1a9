"""Does an increment cost more on a lake that has seen many? Three tables, increments of one size, one warm
session.

The last increments are held against the first, behind those in which Java warms up; then increments of the
grown lake and of a new one take turns in the same session, which tells what grows with the lake from what
changes with the process.

`python -m bench.growth_increments --increments 12 --ends 3 --warm-up 2` is done in a minute.
"""

import argparse
import shutil
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from pathlib import Path

from deltalake import DeltaTable

from bench.measure import OUT
from bench.meters import PIPELINE, TABLES, reading
from bench.project import write_project
from bench.spread import spread
from bench.warm import Increment, WarmSession

SPAN = timedelta(minutes=30)
"""Of event time in one increment."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--increments", type=int, default=300, help="of the lake that grows")
    parser.add_argument(
        "--ends", type=int, default=20, help="how many of the first and of the last are compared"
    )
    parser.add_argument("--warm-up", type=int, default=20, help="increments before the first that count")
    parser.add_argument("--rows", type=int, default=200, help="of an increment")
    arguments = parser.parse_args()
    grow(arguments.increments, arguments.ends, arguments.warm_up, arguments.rows)


def grow(increments: int, ends: int, warm_up: int, rows: int) -> None:
    print(
        f"{increments} increments of {rows} rows through three tables, in one warm session, {warm_up} before"
        " them",
        flush=True,
    )
    session = WarmSession()
    try:
        old = _new_lake("growth")
        with session.increments(old, "meters") as run:
            for number in range(warm_up):
                _land_and_run(old, number, rows, run)
            made = list[Increment]()
            for number in range(increments):
                made.append(_land_and_run(old, warm_up + number, rows, run))
                if len(made) % ends == 0:
                    _tell(len(made), made[-ends:])
            _compare("the last against the first", made[-ends:], made[:ends])
            print(f"  the lake: {_describe(old)}", flush=True)
            new = _new_lake("growth_beside")
            with session.increments(new, "meters") as run_new:
                _take_turns(old, run, warm_up + increments, new, run_new, ends, rows)
    finally:
        session.end()


def _tell(count: int, part: Sequence[Increment]) -> None:
    cpu, executions, jobs = (
        spread([getattr(one, what) for one in part]) for what in ("cpu_seconds", "executions", "jobs")
    )
    print(
        f"  {count - len(part):4d} to {count - 1:4d}: CPU s {cpu}, executions {executions.median:.0f}, jobs"
        f" {jobs.median:.0f}",
        flush=True,
    )


def _take_turns(
    old: Path,
    run_old: Callable[[], Increment],
    first: int,
    new: Path,
    run_new: Callable[[], Increment],
    ends: int,
    rows: int,
) -> None:
    _land_and_run(new, 0, rows, run_new)  # makes the tables
    grown, fresh = list[Increment](), list[Increment]()
    for number in range(ends):
        grown.append(_land_and_run(old, first + number, rows, run_old))
        fresh.append(_land_and_run(new, 1 + number, rows, run_new))
    _compare("in turns with a new lake", grown, fresh)


def _compare(name: str, last: Sequence[Increment], first: Sequence[Increment]) -> None:
    for what in ("cpu_seconds", "seconds", "executions", "jobs"):
        now, before = (spread([getattr(one, what) for one in part]) for part in (last, first))
        print(f"  {name}: {what} {now} against {before}, {now.median / before.median:.2f} times", flush=True)


def _new_lake(name: str) -> Path:
    home = OUT / name
    shutil.rmtree(home, ignore_errors=True)
    write_project(home, {"conf/pipelines/meters.yml": PIPELINE})
    return home


def _land_and_run(home: Path, number: int, rows: int, run: Callable[[], Increment]) -> Increment:
    folder = home / "landing" / "readings"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{number:05d}.json").write_text("".join(_lines(number, rows)), encoding="utf-8")
    return run()


def _lines(increment: int, rows: int) -> Iterator[str]:
    """One reading in ten is a newer version of one of the increment before."""
    for row in range(rows):
        is_newer = row % 10 == 9 and increment > 0
        number = (increment - is_newer) * rows + row
        yield reading(number, number * SPAN / rows, version=1 + is_newer)


def _describe(home: Path) -> str:
    lake = home / "lake" / "meters"
    live = [f"{table} {len(DeltaTable(lake / table).file_uris())}" for table in TABLES]
    ledger = sum(1 for file in lake.rglob("*") if file.is_file() and "ledger" in str(file.relative_to(lake)))
    return (
        f"live files {', '.join(live)}; {sum(1 for _ in lake.rglob('*')):,} files and folders in all,"
        f" {ledger:,} of the ledger"
    )


if __name__ == "__main__":
    main()
