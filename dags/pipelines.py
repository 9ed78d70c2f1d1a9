"""One Airflow DAG per file in conf/pipelines. A file that cannot be used has none here; broken_pipelines.py
shows it as an import error.
"""

import os
from pathlib import Path

from airflow.sdk import get_parsing_context
from weir_dag import build_dags

ROOT = Path(os.environ.get("WEIR_HOME") or Path(__file__).resolve().parents[1])

# A task that is about to run needs its own DAG alone.
dags, _ = build_dags(ROOT, only=get_parsing_context().dag_id)
globals().update(dags)
