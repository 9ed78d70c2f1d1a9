"""Lets the operator run the command with each exit code, and prints what came of it: the result, or the class and text of the exception."""

import json
import os
import sys
from typing import Any

from airflow.sdk import Context
from airflow.sdk.exceptions import AirflowException
from weir_operator import WeirOperator


def main() -> None:
    told = {name: run(name) for name in sys.argv[1:]}
    os.environ["WEIR_COMMAND"] = "/there/is/no/weir"
    print(json.dumps(told | {"no command": run("exit_0")}))


def run(name: str) -> dict[str, Any]:
    task = WeirOperator(task_id=name, pipeline=name, root=os.environ["WEIR_HOME"], arguments=["--layer", "silver"])
    try:
        return {"result": task.execute(Context())}
    except AirflowException as error:
        return {"raised": type(error).__name__, "text": str(error)}


main()
