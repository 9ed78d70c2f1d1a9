"""Parses the DAG folder as the DAG processor does, stores the outcome, and prints what Airflow's database
then says.
"""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

from airflow.dag_processing.bundles.manager import DagBundlesManager
from airflow.dag_processing.dagbag import BundleDagBag, sync_bag_to_db
from airflow.models.asset import AssetActive, TaskInletAssetReference, TaskOutletAssetReference
from airflow.models.dag import DagModel
from airflow.models.dagcode import DagCode
from airflow.models.errors import ParseImportError
from airflow.sdk import DAG
from airflow.utils.session import create_session
from sqlalchemy import select


def main() -> None:
    folder = Path(os.environ["AIRFLOW__CORE__DAGS_FOLDER"])
    os.environ.pop("WEIR_TASK_RETRIES")  # as where nobody waits for a failure
    DagBundlesManager().sync_bundles_to_db()  # type: ignore[no-untyped-call]
    bag = BundleDagBag(dag_folder=folder, bundle_path=folder, bundle_name="dags-folder")
    sync_bag_to_db(bag, "dags-folder", None)
    with create_session() as session:
        models = session.scalars(select(DagModel)).all()
        told = {
            "dags": {dag_id: describe(dag) for dag_id, dag in bag.dags.items()},
            "in_service": sorted(
                model.dag_id for model in models if not model.is_stale and not model.has_import_errors
            ),
            "import_errors": {
                str(error.filename): error.stacktrace
                for error in session.scalars(select(ParseImportError)).all()
            },
            "producers": by_asset(session.scalars(select(TaskOutletAssetReference)).all()),
            "consumers": by_asset(session.scalars(select(TaskInletAssetReference)).all()),
            "paused": {model.dag_id: model.is_paused for model in models},
            "next_upkeep": str(
                next(model.next_dagrun_create_after for model in models if model.dag_id == "weir_maintenance")
            ),
            "assets": sorted(active.name for active in session.scalars(select(AssetActive)).all()),
            "code": {code.dag_id: code.source_code for code in session.scalars(select(DagCode)).all()},
            "loaded": sorted(
                {"pyspark", "delta", "deltalake", "great_expectations", "sqlglot"} & sys.modules.keys()
            ),
        }
    print(json.dumps(told))


def by_asset(references: Sequence[Any]) -> dict[str, list[str]]:
    """Of every asset the tasks that refer to it, as the UI shows them."""
    found: dict[str, list[str]] = {}
    for one in references:
        found.setdefault(one.asset.name, []).append(f"{one.dag_id}.{one.task_id}")
    return {name: sorted(tasks) for name, tasks in found.items()}


def describe(dag: DAG) -> dict[str, Any]:
    schedule, deadline = cast("Any", dag.schedule), cast("list[Any]", dag.deadline or [])
    return {
        "owner": dag.owner,
        "tags": sorted(dag.tags),
        "catchup": dag.catchup,
        "max_active_runs": dag.max_active_runs,
        "run_types": sorted(dag.allowed_run_types or []),
        "schedule": [asset.name for asset in schedule.objects]
        if hasattr(schedule, "objects")
        else getattr(schedule, "expression", schedule),
        "doc_md": dag.doc_md,
        "deadline": [alert.interval.total_seconds() for alert in deadline],
        "form": {
            name: param.schema for name, param in ((name, dag.params.get_param(name)) for name in dag.params)
        },
        "said": {name: dag.params.get_param(name).description for name in dag.params},
        "retries": {task.task_id: task.retries for task in dag.tasks},
        "pools": sorted({task.pool for task in dag.tasks}),
        "timeouts": sorted({str(task.execution_timeout) for task in dag.tasks}),
        "rules": {task.task_id: str(task.trigger_rule) for task in dag.tasks},
        "tasks": {
            task.task_id: [getattr(task, "tables", None), sorted(task.upstream_task_ids)]
            for task in dag.tasks
        },
    }


main()
