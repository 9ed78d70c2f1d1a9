"""Gives every answer to the question about a blocked batch, as Airflow hands them to the task, and prints what
comes of each.
"""

import json
import os
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import patch

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException
from weir_operator import WeirFailedForGood
from weir_tasks import ASKED, REASON, RELEASE, SET_ASIDE, STOP, Decide, Finish, body

BLOCKED = {
    "table": "silver.readings",
    "rules": ["usual_volume"],
    "rows": 3,
    "message": "silver.readings: batch blocked, 3 rows not published",
    "seen": "0a1b2c",
}
FINDING = {
    "rule": "usual_volume",
    "found": "3 of 9 rows, 33.3%",
    "reason": "A day has *many* readings <b>each</b>.",
}
STOPPED = {**BLOCKED, "findings": [FINDING], "stopped": {"by": "ada", "reason": "the grid looks into it"}}
LATER = {**BLOCKED, "seen": "ffffff"}
UNSEEN = {name: value for name, value in BLOCKED.items() if name != "seen"}


def main() -> None:
    told = {choice: answer(choice, {"reason": " a sale "}) for choice in (RELEASE, SET_ASIDE, STOP)}
    told |= {
        "no reason": answer(RELEASE, {"reason": "  "}),
        "no form": answer(RELEASE, {}),
        "nobody": ask({"error_type": "timeout", "error": ""}),
        "not asked": answer(RELEASE, {"reason": "a sale"}, asked=None),
    }
    carried_out = {choice: carry_out(told[choice]["result"]) for choice in (SET_ASIDE, STOP)}
    carried_out["not seen"] = carry_out({**told[RELEASE]["result"], "blocked": [BLOCKED, UNSEEN]})
    carried_out["nothing"] = carry_out(None)
    older = {**told[RELEASE]["result"]}
    carried_out["older"] = carry_out({"held": older.pop("blocked"), **older})
    carried_out["over"] = carry_out(told[RELEASE]["result"], "over")
    asked = {kind: begin(held, kind) for kind in ("scheduled", "manual") for held in ([STOPPED],)}
    asked |= {"older": begin([BLOCKED], "scheduled", "held")}
    asked |= {"nothing": begin([], "scheduled"), "another": begin([STOPPED, BLOCKED], "scheduled")}
    print(json.dumps(told | {"carried out": carried_out, "asked": asked, "body": body("shop", [STOPPED])}))


def answer(choice: str, form: dict[str, str], asked: Any = (BLOCKED,)) -> dict[str, Any]:
    at, user = datetime(2026, 1, 1, tzinfo=UTC), {"id": "1", "name": "ada"}
    return ask(
        {"chosen_options": [choice], "params_input": form, "responded_at": at, "responded_by_user": user},
        asked,
    )


def ask(event: dict[str, Any], asked: Any = (BLOCKED,)) -> dict[str, Any]:
    task = Decide(
        task_id="decide",
        pipeline="shop",
        run_tasks=["run"],
        params={"reason": REASON},
        response_timeout=timedelta(days=1),
    )
    try:
        return {"result": task.execute_complete(context({"blocked": [LATER]}, asked), event)}
    except AirflowException as error:
        return {"is_final": isinstance(error, WeirFailedForGood), "text": str(error)}


def begin(held: list[dict[str, Any]], kind: str, key: str = "blocked") -> str:
    """What becomes of the question in a run of this kind."""
    task = Decide(
        task_id="decide",
        pipeline="shop",
        run_tasks=["run"],
        params={"reason": REASON},
        response_timeout=timedelta(days=1),
    )
    known = {**context({key: held}), "dag_run": SimpleNamespace(run_type=kind)}
    with patch.object(HITLOperator, "execute", lambda self, context: f"asked: {self.subject}"):
        try:
            return str(task.execute(cast("Context", known)))
        except WeirFailedForGood as error:
            return str(error)


def carry_out(decision: Any, pipeline: str = "shop") -> Any:
    task = Finish(
        task_id="finish",
        pipeline=pipeline,
        root=os.environ["WEIR_HOME"],
        tables=["silver.readings"],
        decide_task="decide",
    )
    try:
        return [result["arguments"] for result in task.execute(context(decision))["results"]]
    except WeirFailedForGood as error:
        return {"text": str(error), "blocked": (error.result or {}).get("blocked")}


def context(value: Any, asked: Any = None) -> Context:
    """A task instance whose upstream tasks returned the value, and which has asked about batches."""

    def pull(task_ids: str, key: str = "return_value") -> Any:
        return asked if key == ASKED else value

    told = SimpleNamespace(
        xcom_pull=pull,
        xcom_push=lambda key, value: None,
        dag_id="shop",
        run_id="r",
        task_id="t",
        try_number=1,
    )
    return cast("Context", {"ti": told, "params": {}})


main()
