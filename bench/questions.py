"""Increments of the retail sample in one warm session: seconds, CPU seconds, and what they ask of Spark, by
the place that asks.

A small batch costs what its questions cost. tests/run/test_questions.py holds their number; this tells where
they come from.
"""

import json
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaMember  # type: ignore[import-untyped]
from pyspark import SparkContext
from pyspark.sql import SparkSession

from bench.measure import OUT, ROOT, cpu_seconds
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.loading import load_project
from spark_jobs.run.order import RunOrder
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.sample.write import write_sample
from spark_jobs.session.install import Installation
from spark_jobs.session.settings import Workload, spark_settings
from spark_jobs.session.start import spark_session

ORDERS, INCREMENTS, SHOWN = 2000, 4, 25
PROFILE = Profile.model_validate({"master": "local[2]", "event_log": True})
ASKING = (
    "collectToPython",
    "collectAsArrowToPython",
    "count",
    "isEmpty",
    "save",
    "execute",
    "localCheckpoint",
    "persist",
    "load",
    "start",
)
"""Calls of the JVM that may begin an execution."""


def main() -> None:
    folder = OUT / "questions"
    shutil.rmtree(folder, ignore_errors=True)
    for name in ("conf", "expectations"):
        shutil.copytree(ROOT / name, folder / name)
    log = folder / "logs" / "retail" / "spark.log"
    installed = Installation(ROOT)
    log4j = ROOT / "conf" / "log4j2.properties"
    settings = spark_settings(PROFILE, Workload.STANDING, 2, installed.jars, installed.archive, log4j, log)
    settings |= {"spark.eventLog.compress": "false", "spark.eventLog.rolling.enabled": "false"}
    print(
        f"retail in one warm session: a load of {ORDERS:,} orders, then {INCREMENTS} increments", flush=True
    )
    with spark_session("weir bench", settings, installed.java(), log) as spark, _places():
        spans = [_run(folder, spark, number) for number in range(INCREMENTS + 1)]
    events = [
        json.loads(line)
        for file in (folder / "logs" / "spark-events").iterdir()
        for line in file.read_text().splitlines()
    ]
    asked = [event for event in events if event["Event"].endswith("SparkListenerSQLExecutionStart")]
    jobs = [event for event in events if event["Event"] == "SparkListenerJobStart"]
    for number, (begin, end) in enumerate(spans):
        executions = sum(begin <= event["time"] <= end for event in asked)
        print(
            f"  {number}: {executions} executions,"
            f" {sum(begin <= event['Submission Time'] <= end for event in jobs)} jobs"
        )
    print("  the last one, by place:")
    for place, count in Counter(
        _place(event) for event in asked if event["time"] >= spans[-1][0]
    ).most_common(SHOWN):
        print(f"  {count:4} {place}", flush=True)


def _run(folder: Path, spark: SparkSession, number: int) -> tuple[float, float]:
    """One increment; gives its beginning and end as Spark counts time."""
    write_sample(folder / "landing", ORDERS, increment=number)

    @contextmanager
    def start(_order: RunOrder, _consumed: Mapping[str, Any]) -> Iterator[SparkSession]:
        yield spark

    processes = ["self", str(spark._jvm.java.lang.ProcessHandle.current().pid())]  # type: ignore[union-attr]
    begin, before = time.time(), sum(map(cpu_seconds, processes))
    result = run_pipeline(load_project(folder, {}), "retail", PROFILE, start=start)
    end, cpu = time.time(), sum(map(cpu_seconds, processes)) - before
    if result.exit_code:
        sys.exit(result.message)
    print(f"  {number}: {end - begin:6.1f} s  {cpu:6.1f} CPU s", flush=True)
    return begin * 1000, end * 1000


@contextmanager
def _places() -> Iterator[None]:
    """Spark's event log says from where in Weir each question was asked, instead of from where in PySpark."""
    call = JavaMember.__call__

    def noted(member: Any, *arguments: Any) -> Any:
        context = SparkContext._active_spark_context
        if member.name in ASKING and context is not None:
            frames = [
                f"{Path(frame.filename).stem}.{frame.name}"
                for frame in traceback.extract_stack()
                if "/spark_jobs/" in frame.filename
            ]
            context._jsc.setLocalProperty(
                "callSite.long", " < ".join(reversed(frames[-3:])) or "outside of Weir"
            )
        return call(member, *arguments)

    JavaMember.__call__ = noted
    try:
        yield
    finally:
        JavaMember.__call__ = call


def _place(event: Mapping[str, Any]) -> str:
    """Streams ask from threads of their own."""
    return str(event["details"]).partition("\n")[0] or "a stream"


if __name__ == "__main__":
    main()
