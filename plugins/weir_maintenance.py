"""The DAG of upkeep: one `weir maintain` per pipeline, in the pool of that pipeline, so that it never meets a
run of it.
"""

from datetime import timedelta
from pathlib import Path

from airflow.sdk import DAG, Context, CronTriggerTimetable
from weir_dag import RUN_TYPES
from weir_operator import Result, WeirOperator
from weir_pools import pool_of

from spark_jobs.config.loading import load_lakehouse
from spark_jobs.config.names import NAME

NAME_OF_DAG = "weir_maintenance"
DOC = """Compacts small files, removes files that no reader and no run needs any more, and limits the number
of reports and logs.

`maintenance:` in `conf/lakehouse.yml` says when; nobody has to switch this DAG on. The log of each task has
the figures of every table, before and after.
"""


class Maintain(WeirOperator):
    """The upkeep of one pipeline."""

    def execute(self, context: Context) -> Result:
        return self.weir(context, ["maintain", self.pipeline])


def maintenance_dag(root: Path) -> DAG:
    names = sorted(
        path.stem for path in (root / "conf" / "pipelines").glob("*.yml") if NAME.fullmatch(path.stem)
    )
    dag = DAG(
        NAME_OF_DAG,
        description="Upkeep of all tables.",
        doc_md=DOC,
        schedule=_at_its_next_time(load_lakehouse(root).maintenance),
        start_date=None,  # with one, the first run would be that of the last time, at once
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


def _at_its_next_time(cron: str | None) -> CronTriggerTimetable | None:
    """A plain expression would begin with the last time, where a tenth of the day has not passed since."""
    return CronTriggerTimetable(cron, timezone="UTC", run_immediately=timedelta(0)) if cron else None
