"""Lets the operator run the command with each exit code, and prints what came of it: the result, or the class and text of the exception."""

import json
import os
import sys
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException, AirflowFailException
from weir_operator import HELD, WeirOperator


def main() -> None:
    told = {name: run(name) for name in sys.argv[1:]} | {"held": run("exit_4", HELD)}
    os.environ["WEIR_COMMAND"] = "/there/is/no/weir"
    print(json.dumps(told | {"no command": run("exit_0")}))


def run(name: str, *also: int) -> dict[str, Any]:
    task = WeirOperator(task_id=name, pipeline=name, root=os.environ["WEIR_HOME"], lease_wait_seconds=60 * (name == "busy_once"))
    try:
        return {"result": task.weir(Context(), ["run", name, "--layer", "silver"], also)}
    except AirflowException as error:
        return {"raised": type(error).__name__, "retried": not isinstance(error, AirflowFailException), "text": str(error)}


main()
