"""Makes records of DAG runs as the API does, with the plugin as the API server has it, and prints what is
said of each form.
"""

import json
import sys

from airflow import plugins_manager
from airflow.models.dagrun import DagRun


def main() -> None:
    plugins_manager.get_fastapi_plugins()
    print(json.dumps([say(*json.loads(argument)) for argument in sys.argv[1:]]))


def say(dag_id: str, conf: dict[str, object]) -> str:
    try:
        DagRun(dag_id=dag_id, run_id="manual__1", run_type="manual", conf=conf)
    except ValueError as error:  # which the API answers with 400 and this text
        return str(error)
    return "taken"


main()
