"""A DAG whose task starts the `weir` command, as those of pipelines do, without a retry."""

import os

from airflow.sdk import DAG
from weir_maintenance import Maintain

dag = DAG(
    "loading",
    schedule=None,
    is_paused_upon_creation=False,
    default_args={"retries": 0},
)
Maintain(task_id="load", pipeline="shop", root=os.environ["WEIR_HOME"], dag=dag)
