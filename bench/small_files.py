"""The small-files problem: files and reading time of a silver table after 50 small increments, without and
with Weir's compaction.
"""

import shutil
import statistics
import time
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from deltalake import DeltaTable
from pyspark.sql import SparkSession

from bench.measure import OUT, ROOT
from bench.project import write_project
from spark_jobs.config import load_project
from spark_jobs.lake.tables import read
from spark_jobs.run import context
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.session.install import Installation
from spark_jobs.session.settings import Workload, spark_settings
from spark_jobs.session.start import spark_session

INCREMENTS, ROWS, READS = 50, 200, 7
PIPELINE = """
pipeline: meters
sources: {readings: {format: json, path: readings}}
silver:
  readings:
    from: readings
    columns: {id: bigint, kwh: "decimal(9,3)"}
"""


def main() -> None:
    installed = Installation(ROOT)
    home = OUT / "small_files"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    log4j, log = ROOT / "conf" / "log4j2.properties", home / "spark.log"
    profile = load_project(ROOT, {}).profiles["local"]
    settings = spark_settings(profile, Workload.SMALL, 2, installed.jars, installed.archive, log4j, log)
    print(f"{INCREMENTS} increments of {ROWS} rows", flush=True)
    with spark_session("small files", settings, installed.java(), log) as spark:
        for name, every in (("without compaction", 10**9), ("with compaction", context.COMPACT_EVERY)):
            context.COMPACT_EVERY = every
            _measure(spark, home / name.replace(" ", "_"), name)


def _measure(spark: SparkSession, home: Path, name: str) -> None:
    write_project(home, {"conf/pipelines/meters.yml": PIPELINE})
    project = load_project(home, {})
    profile = project.profiles["local"]
    started = time.monotonic()
    for number in range(INCREMENTS):
        lines = (f'{{"id": {number * ROWS + row}, "kwh": {row / 7:.3f}}}\n' for row in range(ROWS))
        file = home / "landing" / "readings" / f"{number}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("".join(lines), encoding="utf-8")
        result = run_pipeline(project, "meters", profile, start=_shared(spark))
        if result.exit_code:
            raise SystemExit(result.message)
    seconds = time.monotonic() - started
    table = home / "lake" / "meters" / "silver" / "readings"
    by_spark = [_time(lambda: read(spark, str(table)).agg({"kwh": "sum"}).collect()) for _ in range(READS)]
    by_reader = [_time(lambda: DeltaTable(table).to_pyarrow_table()) for _ in range(READS)]
    files = {
        layer: len(DeltaTable(home / "lake" / "meters" / layer / "readings").file_uris())
        for layer in ("bronze", "silver")
    }
    print(
        f"  {name:<19} {seconds:6.1f} s to write; files: bronze {files['bronze']}, silver {files['silver']}",
        flush=True,
    )
    print(
        f"  {'':<19} a sum over silver: Spark {statistics.median(by_spark):.3f} s, delta-rs"
        f" {statistics.median(by_reader):.3f} s (medians)"
    )


def _time(work: Any) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started


def _shared(spark: SparkSession) -> Any:
    @contextmanager
    def start(*_: Any) -> Any:
        yield spark

    return start


if __name__ == "__main__":
    main()
