"""Sends the notices of a task that failed and of a deadline that was missed, as Airflow would, and prints what a person would read."""

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import structlog
from airflow.sdk import Context
from airflow.sdk.definitions.callback import SyncCallback
from airflow.sdk.execution_time.callback_supervisor import execute_callback
from weir_notices import WeirNotifier, make_notice
from weir_operator import WeirFailedForGood

CHANNELS: dict[str, Any] = {"webhook": "alarm", "email": ["team@example.com"]}
HELD = {"table": "silver.orders", "rules": ["mean_amount"], "rows": 160, "message": "silver.orders: 160 rows are held"}


def main() -> None:
    task = SimpleNamespace(task_id="run", run_id="manual__1", log_url="http://airflow.example/dags/retail/runs/manual__1/tasks/run")
    failed = WeirFailedForGood("run retail ended with 4: <b>held</b>", {"held": [HELD], "report": "retail/r1.html"})
    context = cast("Context", {"ti": task, "exception": failed})
    WeirNotifier(pipeline="retail", what="a task failed", **CHANNELS).notify(context)
    callback = SyncCallback(WeirNotifier, kwargs={"pipeline": "retail", "what": "a run is not done after 1 hour", **CHANNELS})
    missed = {**callback.kwargs, "context": {"dag_run": {"dag_run_id": "scheduled__2"}, "deadline": {"id": "1"}}}
    done, problem = execute_callback(callback.path, missed, Path("pipelines.py"), None, structlog.get_logger())
    print(json.dumps({"text": make_notice("retail", "a task failed", context)["text"], "deadline": [done, problem]}))


main()
