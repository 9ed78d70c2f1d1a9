"""The Spark session of a verification. It recomputes every table, so its settings follow the size of all
that these are made from.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.sensitive import without_hidden_plans
from spark_jobs.session.hosts import hosts_of
from spark_jobs.session.install import Installation
from spark_jobs.session.settings import Workload, spark_settings, storage_settings
from spark_jobs.session.start import spark_session

MEGABYTE = 1024 * 1024


@contextmanager
def start_session(
    project: Project, profile: Profile, pipeline: str, size: int, lease: int | None, log_file: Path
) -> Iterator[SparkSession]:
    """A session of the verification's own, which holds its lease."""
    installed, profile = (
        Installation(project.root),
        without_hidden_plans(profile, project.pipelines[pipeline], project.conf),
    )
    installed.check()
    workload = Workload.BIG if size > profile.big_load_from_mb * MEGABYTE else Workload.SMALL
    log4j, cores = project.conf / "log4j2.properties", os.cpu_count() or 1
    storage, more_jars = storage_settings(project.roots), installed.component_jars(project.components)
    with hosts_of(profile, installed, project.root) as hosts:
        settings = spark_settings(
            profile,
            workload,
            cores,
            installed.jars,
            installed.archive,
            log4j,
            log_file,
            more_jars=more_jars,
            storage=storage,
            hosts=hosts,
        )
        with spark_session(f"weir verify {pipeline}", settings, installed.java(), log_file, lease) as spark:
            yield spark
