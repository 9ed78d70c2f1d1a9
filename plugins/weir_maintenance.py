"""The DAG of upkeep: one `weir maintain` per pipeline, in the pool of that pipeline, so that it never meets a
run of it.
"""

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, Context, CronTriggerTimetable
from weir_dag import RUN_TYPES
from weir_form import UPKEEP, say_formless
from weir_operator import Result, WeirFailedForGood, WeirOperator
from weir_pools import pool_of

from spark_jobs.config.loading import load_lakehouse
from spark_jobs.config.names import NAME

LATE_BY = timedelta(minutes=5)
"""A time that came so shortly before is made up for: this file is read again each half minute, and perhaps
before the scheduler looks.
"""
DOC = """Compacts small files, removes files that no reader and no run needs any more, and limits the number
of reports and logs.

`maintenance:` in `conf/lakehouse.yml` says when; nobody has to switch this DAG on. The log of each task has
the figures of every table, before and after.
"""


class Maintain(WeirOperator):
    """The upkeep of one pipeline."""

    def execute(self, context: Context) -> Result:
        dag_run = context.get("dag_run")
        if problem := say_formless((dag_run and dag_run.conf) or {}):
            raise WeirFailedForGood(problem)
        return self.weir(context, ["maintain", self.pipeline])


def maintenance_dag(root: Path) -> DAG:
    names = sorted(
        path.stem for path in (root / "conf" / "pipelines").glob("*.yml") if NAME.fullmatch(path.stem)
    )
    dag = DAG(
        UPKEEP,
        description="Upkeep of all tables.",
        doc_md=DOC,
        schedule=_at(load_lakehouse(root).maintenance),
        start_date=None,  # so that its first run is at the next time, not at once for the last one
        catchup=False,
        is_paused_upon_creation=False,  # it loads nothing, and a lake without it grows for ever
        max_active_runs=1,
        allowed_run_types=RUN_TYPES,
        tags=["weir", "upkeep"],
        default_args={"owner": "weir", "retries": 1, "execution_timeout": timedelta(hours=6)},
    )
    for name in names:
        Maintain(task_id=name, pipeline=name, root=str(root), pool=pool_of(name), dag=dag)
    return dag


def _at(cron: str | None) -> CronTriggerTimetable | None:
    """Of a cron expression alone Airflow (3.3) makes a schedule whose first run is for the last time, where a
    tenth of the gap to the next one has not passed since, whatever `run_immediately=False` promises: a first
    `make up` in the morning would look after all tables at once.
    """
    return CronTriggerTimetable(cron, timezone="UTC", run_immediately=LATE_BY) if cron else None
