"""Shows the pipeline and expectation files that cannot be used as an import error of this file. It holds no DAG.

Airflow keeps import errors by DAG file and takes every DAG of such a file out of service. Raising here, and not in pipelines.py,
leaves the DAGs of the other pipelines alone.
"""

import os
from pathlib import Path

from weir_dag import build_dags


class BrokenPipelines(Exception):
    """Pipeline files without a DAG and expectation files that cannot be used, each with its file, line and what to do."""


ROOT = Path(os.environ.get("WEIR_HOME") or Path(__file__).resolve().parents[1])

_, problems = build_dags(ROOT)
if problems:
    raise BrokenPipelines("\n".join(problems))
