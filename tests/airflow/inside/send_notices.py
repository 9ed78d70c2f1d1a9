"""Sends the notices of a task that failed and of a deadline that was missed, as Airflow would, and prints
what a person would read.
"""

import asyncio
import json
from types import SimpleNamespace
from typing import Any, cast

from airflow.sdk import Context
from airflow.sdk.definitions.callback import AsyncCallback
from airflow.triggers.callback import CallbackTrigger
from weir_notices import WeirNotifier, make_notice
from weir_operator import WeirFailedForGood

CHANNELS: dict[str, Any] = {"webhook": "alarm", "email": ["team@example.com"]}
BLOCKED = {
    "table": "silver.orders",
    "rules": ["mean_amount"],
    "rows": 160,
    "message": "silver.orders: batch blocked, 160 rows not published",
}


def main() -> None:
    task = SimpleNamespace(
        task_id="run",
        run_id="manual__1",
        log_url="http://airflow.example/dags/retail/runs/manual__1/tasks/run",
    )
    failed = WeirFailedForGood(
        "run retail ended with 4: <b>held</b>", {"blocked": [BLOCKED], "report": "retail/r1.html"}
    )
    context = cast("Context", {"ti": task, "exception": failed})
    WeirNotifier(pipeline="retail", what="a task failed", **CHANNELS).notify(context)
    callback = AsyncCallback(
        WeirNotifier, kwargs={"pipeline": "retail", "what": "a run is not done after 1 hour", **CHANNELS}
    )
    missed = {
        **callback.kwargs,
        "context": {"dag_run": {"dag_run_id": "scheduled__2"}, "deadline": {"id": "1"}},
    }
    states = asyncio.run(pull(CallbackTrigger(callback.path, missed)))
    print(json.dumps({"text": make_notice("retail", "a task failed", context)["text"], "deadline": states}))


async def pull(trigger: CallbackTrigger) -> list[str]:
    """What the triggerer hears of it."""
    return [str(event.payload["state"]) async for event in trigger.run()]


main()
