"""The Spark session of a run, with the settings that fit the size of its work."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from importlib import import_module
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.run import stopping
from spark_jobs.run.order import RunOrder
from spark_jobs.session.hosts import hosts_of
from spark_jobs.session.install import RECORD, Installation
from spark_jobs.session.settings import Workload, spark_settings, storage_settings
from spark_jobs.session.start import spark_session

MEGABYTE = 1024 * 1024


def is_big(order: RunOrder, consumed: dict[str, dict[str, Any]]) -> bool:
    """Whether the run has so much to read that the settings for small runs would slow it down."""
    return order.plan.due_bytes(consumed) > order.profile.big_load_from_mb * MEGABYTE


@contextmanager
def start_session(order: RunOrder, consumed: dict[str, dict[str, Any]]) -> Iterator[SparkSession]:
    """A session of the run's own, which holds the run's lease."""
    with session_for(order, Workload.BIG if is_big(order, consumed) else Workload.SMALL) as spark:
        yield spark


@contextmanager
def session_for(order: RunOrder, workload: Workload) -> Iterator[SparkSession]:
    installed = Installation(order.project.root)
    installed.check()
    more_jars = installed.component_jars(order.plan.pipeline.components | order.project.components)
    stopping.begin_work()
    stopping.check()
    name, lease = f"weir {order.plan.pipeline.name} {order.run_id}", order.lease.descriptor
    with hosts_of(order.profile, installed, order.project.root) as hosts:
        settings = spark_settings(
            order.profile,
            workload,
            os.cpu_count() or 1,
            installed.jars,
            installed.archive,
            order.project.conf / "log4j2.properties",
            order.log_file,
            os.environ.get(RECORD),
            more_jars,
            storage_settings(order.project.roots),
            hosts,
        )
        has_rules = bool(order.project.rules.get(order.plan.pipeline.name))
        with spark_session(
            name, settings, installed.java(), order.log_file, lease, partial(_load, has_rules=has_rules)
        ) as spark:
            yield spark


def _load(*, has_rules: bool) -> None:
    """Load what the run needs next. What is in the way is said where it is needed."""
    with suppress(ImportError):
        import_module("spark_jobs.run.execute")
        if has_rules:
            import_module("spark_jobs.quality.evaluate")  # with Great Expectations: seconds
