"""A pool with one slot for each pipeline, made when a run of its DAG begins: two of its tasks never run at
once, whatever started them.
"""

from typing import TYPE_CHECKING

from airflow.listeners import hookimpl
from airflow.plugins_manager import AirflowPlugin

if TYPE_CHECKING:
    from airflow.models.dagrun import DagRun

PREFIX = "weir_"


def pool_of(pipeline: str) -> str:
    return f"{PREFIX}{pipeline}"


class PoolMaker:
    """Told by the scheduler. The run's own session is used, so that the pool is there in the same instant as
    the run.
    """

    @hookimpl
    def on_dag_run_running(self, dag_run: "DagRun", msg: str) -> None:
        from airflow.models.pool import Pool
        from sqlalchemy.orm import object_session

        session = object_session(dag_run)
        dag = dag_run.dag
        if session is None or dag is None or "weir" not in (dag.tags or ()):
            return
        for name in {task.pool for task in dag.tasks if task.pool.startswith(PREFIX)}:
            if Pool.get_pool(name, session=session) is None:
                Pool.create_or_update_pool(
                    name,
                    1,
                    f"one task of the pipeline {name.removeprefix(PREFIX)} at a time",
                    False,
                    session=session,
                )


class WeirPools(AirflowPlugin):
    name = "weir_pools"
    listeners = [PoolMaker()]  # noqa: RUF012 - Airflow reads it from the class
