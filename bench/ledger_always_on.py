"""What an idle look costs when the ledger is old: `weir plan`, and the look of a standing stream, over
200,000 batches.

An always-on stream adds a few rows to the ledger with every increment, and looks every second. Run alone:
python -m bench.ledger_always_on
"""

import json
import resource
import shutil
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from deltalake import write_deltalake

from spark_jobs.config.loading import load_project
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import hold_lease
from spark_jobs.lake.ledger_schemas import SCHEMAS
from spark_jobs.operations.status import status_of
from spark_jobs.run.definitions import note_definitions
from spark_jobs.run.pipeline import run_increment
from spark_jobs.run.plan import make_plan
from spark_jobs.run.preview import preview_run

BATCHES, PER_FILE, LOOKS = 200_000, 20_000, 5
START = datetime(2026, 1, 1, tzinfo=UTC)
PIPELINE = """
pipeline: views
sources: {views: {format: json, path: views}}
silver: {views: {from: views, columns: {id: bigint, at: timestamp}, event_time: at}}
gold: {per_hour: {from: silver.views, window: {size: 1 hour}, measures: {n: count(*)}, watermark: 1 hour, emit: append}}
"""


def main() -> None:
    with TemporaryDirectory() as folder:
        root = Path(folder)
        for path, text in {
            "pipelines/views.yml": PIPELINE,
            "lakehouse.yml": "landing: landing\nlake: lake\nprofile: local\n",
        }.items():
            (root / "conf" / path).parent.mkdir(parents=True, exist_ok=True)
            (root / "conf" / path).write_text(text, encoding="utf-8")
        shutil.copytree(Path(__file__).parents[1] / "conf" / "profiles", root / "conf" / "profiles")
        (root / "landing" / "views").mkdir(parents=True)
        project = load_project(root, {})
        lake = Lake(project.lake, "views")
        _stand(root, lake)
        with hold_lease(lake.lease(), "views", "bench") as lease:
            found = {
                "weir plan": _seconds(lambda: preview_run(project, "views")),
                "a look of the stream": _seconds(
                    lambda: run_increment(project, "views", project.profiles["local"], lease)
                ),
                "weir status": _seconds(lambda: status_of(project, "views", datetime.now(UTC))),
            }
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        for name, (first, then) in found.items():
            print(f"{name}: {first:.2f} s the first time, then {then:.2f} s", file=sys.stderr)
        print(json.dumps({"batches": BATCHES, "seconds": found, "peak_mb": peak}))


def _seconds(look: Callable[[], object]) -> tuple[float, float]:
    """Of the first look of a process, and the median of those after it."""
    taken = []
    for _ in range(LOOKS):
        started = time.monotonic()
        look()
        taken.append(time.monotonic() - started)
    return taken[0], statistics.median(taken[1:])


def _stand(root: Path, lake: Lake) -> None:
    """A lake in which everything is read, after so many batches of its three tables."""
    project = load_project(root, {})
    plan = make_plan(project.pipelines["views"], project.conf, lake)
    plan.ledger.guard = lambda: None  # nobody else knows this lake
    for table in plan.tables:
        write_deltalake(lake.table(table), pa.table({"_line": [1]}))
    known, _ = note_definitions(plan, "run")
    for first in range(0, BATCHES, PER_FILE):
        batches = [_batch(number, list(plan.tables)) for number in range(first, first + PER_FILE)]
        for name in ("batches", "intents", "tables", "progress", "runs"):
            columns = set(SCHEMAS[name].names)
            rows = [{key: value for key, value in batch.items() if key in columns} for batch in batches]
            write_deltalake(
                lake.ledger(name), pa.Table.from_pylist(rows, schema=SCHEMAS[name]), mode="append"
            )
    for table in plan.tables:
        plan.ledger.write_table("run", table, 1.0, known.current_inputs(table), 0, 1, Counts())


def _batch(number: int, tables: list[str]) -> dict[str, object]:
    table, at = tables[number % len(tables)], START + timedelta(seconds=number)
    row: dict[str, object] = {
        "run_id": f"run-{number // 3:08}",
        "table": table,
        "step": "stream",
        "generation": 1,
        "batch": number // 3,
    }
    times = dict.fromkeys(("started_at", "ended_at", "begun_at", "at", "high"), at)
    inputs = json.dumps(
        {"silver.views": number, "definition": "0123456789abcdef", "watermark": [at.isoformat(), None]}
    )
    said = {
        "pipeline": "views",
        "event": "ended",
        "status": "ok",
        "inputs": inputs,
        "seconds": 1.0,
        "rows": 100,
        "chunk": number // 3,
    }
    return (
        row
        | times
        | said
        | Counts(rows_in=100, inserted=100).as_dict()
        | {
            "version": number // 3,
            "batches": 1,
        }
    )


if __name__ == "__main__":
    main()
