"""Turns a pipeline file into a DAG: prepare, the tables by pipeline, layer or table, decide about what is
blocked, finish.
"""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, AssetAny
from airflow.sdk.api.datamodels._generated import DagRunType
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from airflow.sdk.exceptions import AirflowException
from weir_assets import read_assets, table_asset
from weir_form import form
from weir_notices import WeirNotifier
from weir_operator import WeirOperator
from weir_pools import pool_of
from weir_tasks import REASON, Decide, Finish, Prepare, RunTables

from spark_jobs.config import ConfigError, load_pipeline
from spark_jobs.config.graph import rule_edges
from spark_jobs.config.loading import misnamed_files
from spark_jobs.config.names import parse_duration
from spark_jobs.config.pipeline import Pipeline, TableSchedule
from spark_jobs.config.rule_files import PipelineRules, survey_rules
from spark_jobs.config.task_stages import stages

START = datetime(2026, 1, 1, tzinfo=UTC)
# No backfill: an increment takes what has landed, whatever interval it is started for.
RUN_TYPES = [kind for kind in DagRunType if kind is not DagRunType.BACKFILL]


def build_dags(root: Path, only: str | None = None) -> tuple[dict[str, DAG], list[str]]:
    """The DAGs of conf/pipelines by name, or `only` this one, and what is wrong with the files that have none
    and with expectation files.

    A pipeline keeps its DAG when only what is expected of its tables is broken: its next run says so and
    fails, which is louder than a DAG that is gone.
    """
    dags: dict[str, DAG] = {}
    pipelines: dict[str, Pipeline] = {}
    problems = [] if only else [str(problem) for problem in misnamed_files(root, "pipelines")]
    for path in sorted((root / "conf" / "pipelines").glob("*.yml")):
        if only is not None and path.stem != only:
            continue
        try:
            pipelines[path.stem] = load_pipeline(path, root)
        except ConfigError as error:
            problems.append(str(error))
    rules, broken = survey_rules(root, pipelines, only)
    for name, pipeline in pipelines.items():
        try:
            if not pipeline.relays:  # they never end, so that no task could run them
                dags[name] = pipeline_dag(pipeline, root, rules[name])
        except AirflowException as error:
            problems.append(f"conf/pipelines/{name}.yml: {error}")
    return dags, problems + [str(problem) for problem in broken]


def pipeline_dag(pipeline: Pipeline, root: Path, rules: PipelineRules) -> DAG:
    """The DAG of one pipeline, whose tables are judged by these rules."""
    dag = DAG(
        pipeline.name,
        description=pipeline.description,
        doc_md=_doc(pipeline),
        schedule=_schedule(pipeline),
        start_date=START,
        catchup=False,
        max_active_runs=1,
        allowed_run_types=RUN_TYPES,
        tags=["weir", *pipeline.tags],
        params=form(pipeline),
        deadline=_deadline(pipeline),
        default_args={
            "owner": pipeline.owner,
            "pool": pool_of(pipeline.name),
            "retries": int(os.environ.get("WEIR_TASK_RETRIES") or pipeline.retries),
            "retry_delay": timedelta(seconds=int(os.environ.get("WEIR_RETRY_SECONDS") or 60)),
            "execution_timeout": parse_duration(pipeline.timeout),
            "on_failure_callback": _notifier(pipeline, "a task failed"),
        },
    )
    tables = [f"{layer}.{name}" for layer, name, _ in pipeline.nodes()]
    common: dict[str, Any] = {"pipeline": pipeline.name, "root": str(root), "dag": dag}
    upstream: list[WeirOperator] = [Prepare(task_id="prepare", tables=tables, **common)]
    runs: list[RunTables] = []
    for stage in stages(pipeline, rule_edges(rules)):
        tasks = [
            RunTables(
                task_id=name,
                tables=covered,
                is_whole=covered == tables,
                inlets=read_assets(pipeline, covered, root / "conf"),
                trigger_rule="none_failed",
                **common,
            )
            for name, covered in stage.items()
        ]
        for task in tasks:
            task.set_upstream(upstream)
        upstream = [*tasks]
        runs += tasks
    decide = Decide(
        task_id="decide",
        pipeline=pipeline.name,
        run_tasks=[task.task_id for task in runs],
        params={"reason": REASON},
        response_timeout=parse_duration(pipeline.decide_within),
        notifiers=_notifier(pipeline, "a batch is blocked and waits for a decision"),
        trigger_rule="none_failed_min_one_success",
        execution_timeout=None,
        dag=dag,
    )
    finish = Finish(task_id="finish", tables=tables, decide_task="decide", **common)
    decide.set_upstream(runs)
    decide.set_downstream(finish)
    dag.validate()  # type: ignore[no-untyped-call]  # Airflow leaves it without annotations
    return dag


def _doc(pipeline: Pipeline) -> str:
    return "\n\n".join(
        filter(
            None, [pipeline.description, pipeline.doc, f"Defined in `conf/pipelines/{pipeline.name}.yml`."]
        )
    )


def _schedule(pipeline: Pipeline) -> str | AssetAny | None:
    """Cron, any of the tables that the file names, or nothing."""
    if isinstance(pipeline.schedule, TableSchedule):
        return AssetAny(*(table_asset(name) for name in pipeline.schedule.on))
    return pipeline.schedule


def _notifier(pipeline: Pipeline, what: str) -> WeirNotifier:
    return WeirNotifier(pipeline=pipeline.name, what=what, **_channels(pipeline))


def _channels(pipeline: Pipeline) -> dict[str, Any]:
    notify = pipeline.notify
    return {"to_log": notify.log, "webhook": notify.webhook, "email": list(notify.email)}


def _deadline(pipeline: Pipeline) -> DeadlineAlert | None:
    """A run that is not done in time is told of while it still runs."""
    if pipeline.deadline is None:
        return None
    told = {
        "pipeline": pipeline.name,
        "what": f"a run is not done after {pipeline.deadline}",
        **_channels(pipeline),
    }
    return DeadlineAlert(
        DeadlineReference.DAGRUN_QUEUED_AT,
        parse_duration(pipeline.deadline),
        AsyncCallback(WeirNotifier, kwargs=told),
    )
