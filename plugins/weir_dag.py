"""Turns a pipeline file into a DAG: its tasks are the whole pipeline, its layers or its tables, as the file's `tasks:` says."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from airflow.sdk import DAG, Asset, AssetAny
from airflow.sdk.exceptions import AirflowException
from weir_operator import WeirOperator

from spark_jobs.config import ConfigError, load_pipeline
from spark_jobs.config.pipeline import Pipeline, TableSchedule
from spark_jobs.config.rule_files import survey_rules

# One stage: tasks that may run once all tasks of the stage before are done. A task: its id and the arguments of `weir run`.
Stage = dict[str, list[str]]

START = datetime(2026, 1, 1, tzinfo=UTC)
RETRY_DELAY = timedelta(minutes=1)


def build_dags(root: Path) -> tuple[dict[str, DAG], list[str]]:
    """The DAGs of conf/pipelines by name, and what is wrong with the files that have none and with expectation files.

    A pipeline keeps its DAG when only what is expected of its tables is broken: its next run says so and fails, which is louder than
    a DAG that is gone.
    """
    dags: dict[str, DAG] = {}
    pipelines: dict[str, Pipeline] = {}
    problems: list[str] = []
    for path in sorted((root / "conf" / "pipelines").glob("*.yml")):
        try:
            pipelines[path.stem] = load_pipeline(path, root)
            dags[path.stem] = pipeline_dag(pipelines[path.stem], root)
        except ConfigError as error:
            problems.append(str(error))
        except AirflowException as error:
            problems.append(f"conf/pipelines/{path.name}: {error}")
    _, broken = survey_rules(root, pipelines)
    return dags, problems + [str(problem) for problem in broken]


def pipeline_dag(pipeline: Pipeline, root: Path) -> DAG:
    """The DAG of one pipeline."""
    dag = DAG(
        pipeline.name,
        description=pipeline.description,
        doc_md=f"{pipeline.description}\n\nDefined in `conf/pipelines/{pipeline.name}.yml`.",
        schedule=_schedule(pipeline),
        start_date=START,
        catchup=False,
        max_active_runs=1,
        max_active_tasks=1,  # the tasks of a pipeline share its lease
        tags=["weir"],
        default_args={
            "owner": pipeline.owner,
            "retries": int(os.environ.get("WEIR_TASK_RETRIES", "2")),
            "retry_delay": RETRY_DELAY,
        },
    )
    upstream: list[WeirOperator] = []
    for stage in stages(pipeline):
        tasks = [
            WeirOperator(task_id=name, pipeline=pipeline.name, root=str(root), arguments=arguments, dag=dag)
            for name, arguments in stage.items()
        ]
        for task in tasks:
            task.set_upstream(upstream)
        upstream = tasks
    dag.validate()  # type: ignore[no-untyped-call]  # Airflow leaves it without annotations
    return dag


def _schedule(pipeline: Pipeline) -> str | AssetAny | None:
    """A cron expression, or any of the tables of other pipelines."""
    if isinstance(pipeline.schedule, TableSchedule):
        return AssetAny(*(Asset(table) for table in pipeline.schedule.on))
    return pipeline.schedule


def stages(pipeline: Pipeline) -> list[Stage]:
    """The tasks in the order of the data."""
    if pipeline.tasks == "pipeline":
        return [{"run": []}]
    if pipeline.tasks == "layer":
        filled = {"silver" if layer == "dimension" else layer for layer, _, _ in pipeline.tables()}
        return [{layer: ["--layer", layer]} for layer in ("bronze", "silver", "gold") if layer in filled]
    return [stage for stage in _table_stages(pipeline) if stage]


def _table_stages(pipeline: Pipeline) -> list[Stage]:
    """One task per table. Gold tables by SQL or Python may read one another, and only the engine knows their order: one task for all."""
    windows = [name for name, table in pipeline.gold.items() if table.from_]
    derived = [name for name, table in pipeline.gold.items() if not table.from_]
    return [
        _one_each("bronze", pipeline.sources),
        _one_each("dimension", pipeline.dimensions),
        _one_each("silver", pipeline.silver),
        _one_each("gold", windows),
        {"gold": [argument for name in derived for argument in ("--select", f"gold.{name}")]} if derived else {},
    ]


def _one_each(layer: str, names: Iterable[str]) -> Stage:
    return {f"{layer}.{name}": ["--select", f"{layer}.{name}"] for name in names}
