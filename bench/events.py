"""Counts of a run from Spark's event log: a count does not depend on what else the machine does."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

PROFILE = """
master: local[*]
driver_memory: 2g
event_log: true
spark: {spark.eventLog.compress: false}
"""
"""The profile of a project whose runs leave a log that can be read."""
EVENTS = "logs/spark-events"


class Asked(NamedTuple):
    executions: int
    jobs: int
    tasks: int


def read_events(home: Path) -> Iterator[dict[str, Any]]:
    for log in sorted((home / EVENTS).rglob("events_*")):
        for line in log.read_text(encoding="utf-8").splitlines():
            yield json.loads(line)


def count_asked(home: Path) -> Asked:
    """Of all runs of the project whose logs are there."""
    names = [event["Event"] for event in read_events(home)]
    starts = sum(name.endswith("SparkListenerSQLExecutionStart") for name in names)
    return Asked(starts, names.count("SparkListenerJobStart"), names.count("SparkListenerTaskEnd"))
