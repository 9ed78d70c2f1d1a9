"""The Spark side of a run: its settings by the size of the work, its session, and what the steps share."""

import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from spark_jobs.config import Project
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake.ledger import Ledger
from spark_jobs.run.context import RunContext
from spark_jobs.run.execute import Execution
from spark_jobs.run.plan import Plan
from spark_jobs.session.install import Installation
from spark_jobs.session.settings import PER_BATCH, Workload, spark_settings
from spark_jobs.session.start import spark_session

log = logging.getLogger("weir.run")
MEGABYTE = 1024 * 1024


@contextmanager
def start_run(project: Project, pipeline: Pipeline, profile: Profile, plan: Plan, ledger: Ledger, run_id: str, lease: int, log_file: Path, execution: Execution) -> Iterator[RunContext]:  # fmt: skip
    """A context with a session that fits the work."""
    installed = Installation(project.root)
    is_big = plan.due_bytes(execution.consumed) > profile.big_load_from_mb * MEGABYTE
    workload = Workload.BIG if is_big else Workload.SMALL
    cores = os.cpu_count() or 1
    settings = spark_settings(profile, workload, cores, installed.jars, installed.archive, project.conf / "log4j2.properties", log_file)
    with spark_session(f"weir {pipeline.name} {run_id}", settings, installed.java(), log_file, lease) as spark:
        yield RunContext(
            pipeline=pipeline,
            conf=project.conf,
            landing=project.landing,
            lake=plan.lake,
            ledger=ledger,
            run_id=run_id,
            spark=spark,
            batch_settings={name: settings[name] for name in PER_BATCH},
            on_batch=execution.on_batch,
            on_failure=lambda table, error: _keep_trace(log_file, table, error),
        )


def _keep_trace(log_file: Path, table: str, error: Exception) -> None:
    """The whole story of a failure goes to the log; the terminal gets its cause."""
    import traceback

    with open(log_file, "a", encoding="utf-8") as file:
        file.write(f"\n{table} failed:\n{''.join(traceback.format_exception(error))}\n")
