"""One late row in a table of five million: which windows are repaired, and how many files of which table are
read for it.

The files come from Spark's own event log of the run: the metric `number of files read` of every scan.
"""

import shutil
from collections import defaultdict
from datetime import UTC, datetime, timedelta
from pathlib import Path

from deltalake import DeltaTable

from bench.events import EVENTS, PROFILE, read_events
from bench.measure import OUT
from bench.project import run_project, write_project

ROWS, DAYS = 5_000_000, 5
START = datetime(2024, 5, 1, tzinfo=UTC)
PIPELINE = """
pipeline: meters
sources: {readings: {format: json, path: readings}}
silver:
  readings:
    from: readings
    columns: {id: bigint, district: string, at: timestamp, kwh: "decimal(9,3)"}
    key: id
    event_time: at
gold:
  per_hour:
    from: silver.readings
    window: {size: 1 hour}
    group_by: district
    measures: {reading_count: count(*), kwh: sum(kwh)}
    watermark: 2 hours
"""


def main() -> None:
    home = OUT / "late_row"
    shutil.rmtree(home, ignore_errors=True)
    write_project(home, {"conf/pipelines/meters.yml": PIPELINE, "conf/profiles/local.yml": PROFILE})
    _write_readings(home / "landing" / "readings")
    print(f"one late row in a table of {ROWS:,}", flush=True)
    print(f"  load           {run_project(home, 'meters')}", flush=True)
    before = {
        table: len(DeltaTable(home / "lake/meters" / table).file_uris())
        for table in ("silver/readings", "gold/per_hour")
    }
    shutil.rmtree(home / EVENTS)
    late_at = START + timedelta(days=1, hours=10, minutes=10)
    (home / "landing/readings/late.json").write_text(_line(ROWS + 1, late_at), encoding="utf-8")
    print(f"  the late row   {run_project(home, 'meters')}", flush=True)
    for scan, (count, files) in sorted(_files_read(home).items()):
        size = f" (the table had {before[scan]} before)" if scan in before else ""
        print(f"  {scan:<28} {count} scans, at most {files} files in one{size}", flush=True)
    print(f"  windows replaced: {_windows_written(home)}", flush=True)


def _write_readings(folder: Path) -> None:
    folder.mkdir(parents=True)
    step = timedelta(days=DAYS) / ROWS
    for day in range(DAYS):
        numbers = range(day * ROWS // DAYS, (day + 1) * ROWS // DAYS)
        with open(folder / f"{day}.json", "w", encoding="utf-8") as file:
            file.writelines(_line(number, START + number * step) for number in numbers)


def _line(number: int, at: datetime) -> str:
    return f'{{"id":{number},"district":"d{number % 40}","at":"{at:%Y-%m-%dT%H:%M:%S.%fZ}","kwh":{number % 997 / 100}}}\n'


def _files_read(home: Path) -> dict[str, tuple[int, int]]:
    """Per table: how many scans of it the run made, and the most files that one of them read."""
    scans: dict[int, str] = {}
    read: dict[str, list[int]] = defaultdict(list)
    for event in read_events(home):
        if "sparkPlanInfo" in event:
            _collect_scans(event["sparkPlanInfo"], f"{home}/lake/meters/", scans)
        for metric, value in event.get("accumUpdates", []):
            if metric in scans:
                read[scans[metric]].append(value)
    return {table: (len(found), max(found)) for table, found in read.items()}


def _collect_scans(plan: dict[str, object], root: str, scans: dict[int, str]) -> None:
    location = str(plan.get("metadata", {}).get("Location", ""))  # type: ignore[attr-defined]
    if root in location:
        table = location.partition(root)[2].rstrip("]").partition("/_")[0]
        for metric in plan["metrics"]:  # type: ignore[attr-defined]
            if metric["name"] == "number of files read":
                scans[metric["accumulatorId"]] = table
    for child in plan["children"]:  # type: ignore[attr-defined]
        _collect_scans(child, root, scans)


def _windows_written(home: Path) -> list[str]:
    newest = (
        DeltaTable(home / "lake/meters/gold/per_hour")
        .to_pyarrow_table(columns=["window_start", "_processed_at", "_revision"])
        .to_pylist()
    )
    last = max(row["_processed_at"] for row in newest)
    return sorted(
        {
            f"{row['window_start']:%d %H:%M} (revision {row['_revision']})"
            for row in newest
            if row["_processed_at"] == last
        }
    )


if __name__ == "__main__":
    main()
