"""A DAG whose task starts the `weir` command, as those of pipelines do, and is tried again."""

import os
from datetime import timedelta

from airflow.sdk import DAG
from weir_maintenance import Maintain

dag = DAG(
    "loading",
    schedule=None,
    is_paused_upon_creation=False,
    default_args={"retries": 2, "retry_delay": timedelta(seconds=1)},
)
Maintain(task_id="load", pipeline="shop", root=os.environ["WEIR_HOME"], dag=dag)
