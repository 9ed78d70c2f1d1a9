"""Turns a pipeline file into a DAG: is there work, the tables by pipeline, layer or table, what is held, the report."""

import os
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from airflow.sdk import DAG, AssetAny
from airflow.sdk.api.datamodels._generated import DagRunType
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.sdk.definitions.deadline import DeadlineAlert, DeadlineReference
from airflow.sdk.exceptions import AirflowException
from weir_assets import table_asset, table_assets
from weir_form import LAYERS, form
from weir_notices import WeirNotifier
from weir_operator import WeirOperator
from weir_pools import pool_of
from weir_tasks import REASON, CarryOut, Decide, HasWork, RebuildOrReplay, Report, RunTables

from spark_jobs.config import ConfigError, load_pipeline
from spark_jobs.config.names import parse_duration
from spark_jobs.config.pipeline import Pipeline, TableSchedule
from spark_jobs.config.rule_files import survey_rules

# One stage: tasks that may run once all tasks of the stage before are done. A task: its id and the tables it covers.
Stage = dict[str, list[str]]

START = datetime(2026, 1, 1, tzinfo=UTC)
PLAN_TIMEOUT = timedelta(minutes=10)
# No backfill: an increment takes what has landed, whatever interval it is started for.
RUN_TYPES = [kind for kind in DagRunType if kind is not DagRunType.BACKFILL]


def build_dags(root: Path, only: str | None = None) -> tuple[dict[str, DAG], list[str]]:
    """The DAGs of conf/pipelines by name, or `only` this one, and what is wrong with the files that have none and with expectation files.

    A pipeline keeps its DAG when only what is expected of its tables is broken: its next run says so and fails, which is louder than
    a DAG that is gone.
    """
    dags: dict[str, DAG] = {}
    pipelines: dict[str, Pipeline] = {}
    problems: list[str] = []
    for path in sorted((root / "conf" / "pipelines").glob("*.yml")):
        if only is not None and path.stem != only:
            continue
        try:
            pipelines[path.stem] = load_pipeline(path, root)
            if not pipelines[path.stem].relays:  # they never end, so that no task could run them
                dags[path.stem] = pipeline_dag(pipelines[path.stem], root)
        except ConfigError as error:
            problems.append(str(error))
        except AirflowException as error:
            problems.append(f"conf/pipelines/{path.name}: {error}")
    _, broken = survey_rules(root, pipelines, only)
    return dags, problems + [str(problem) for problem in broken]


def pipeline_dag(pipeline: Pipeline, root: Path) -> DAG:
    """The DAG of one pipeline."""
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
    has_work = HasWork(task_id="has_work", **{**common, "execution_timeout": PLAN_TIMEOUT})
    upstream: list[WeirOperator] = [RebuildOrReplay(task_id="rebuild_or_replay", **common)]
    has_work.set_downstream(upstream)
    runs: list[RunTables] = []
    for stage in stages(pipeline):
        tasks = [
            RunTables(task_id=name, tables=covered, is_whole=covered == tables, trigger_rule="none_failed", **common)
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
        notifiers=_notifier(pipeline, "a batch is held and waits for a decision"),
        trigger_rule="none_failed_min_one_success",
        execution_timeout=None,
        dag=dag,
    )
    carry_out = CarryOut(task_id="carry_out", tables=tables, decide_task="decide", **common)
    report = Report(task_id="report", inlets=table_assets(pipeline.name, tables), trigger_rule="none_failed", **common)
    decide.set_upstream(runs)
    decide.set_downstream(carry_out)
    carry_out.set_downstream(report)
    dag.validate()  # type: ignore[no-untyped-call]  # Airflow leaves it without annotations
    return dag


def stages(pipeline: Pipeline) -> list[Stage]:
    """The tasks in the order of the data."""
    tables = [f"{layer}.{name}" for layer, name, _ in pipeline.nodes()]
    if pipeline.tasks == "pipeline":
        return [{"run": tables}]
    if pipeline.tasks == "layer":
        layers = {layer: [table for table in tables if table.partition(".")[0] in parts] for layer, parts in LAYERS.items()}
        return [{layer: covered} for layer, covered in layers.items() if covered]
    return [stage for stage in _table_stages(pipeline) if stage]


def _table_stages(pipeline: Pipeline) -> list[Stage]:
    """One task per table. Gold tables by SQL or Python may read one another, and only the engine knows their order: one task for all."""
    windows = [name for name, table in pipeline.gold.items() if table.from_]
    derived = [f"gold.{name}" for name, table in pipeline.gold.items() if not table.from_]
    return [
        _one_each("bronze", pipeline.sources),
        _one_each("dimension", pipeline.dimensions),
        _one_each("silver", pipeline.silver),
        _one_each("gold", windows),
        {"gold": derived} if derived else {},
        _one_each("sink", pipeline.sinks),
    ]


def _one_each(layer: str, names: Iterable[str]) -> Stage:
    return {f"{layer}.{name}": [f"{layer}.{name}"] for name in names}


def _doc(pipeline: Pipeline) -> str:
    return "\n\n".join(filter(None, [pipeline.description, pipeline.doc, f"Defined in `conf/pipelines/{pipeline.name}.yml`."]))


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
    told = {"pipeline": pipeline.name, "what": f"a run is not done after {pipeline.deadline}", **_channels(pipeline)}
    return DeadlineAlert(DeadlineReference.DAGRUN_QUEUED_AT, parse_duration(pipeline.deadline), AsyncCallback(WeirNotifier, kwargs=told))
