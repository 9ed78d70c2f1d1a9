"""Shows the pipeline and expectation files that cannot be used as an import error of this file. It holds no
DAG.

Airflow keeps import errors by DAG file and takes every DAG of such a file out of service. Raising here, and
not in pipelines.py, leaves the DAGs of the other pipelines alone.
"""

import os
from pathlib import Path

from weir_check import find_problems
from weir_dag import build_dags
from weir_operator import weir_command


class BrokenPipelines(Exception):
    """Pipeline files without a DAG, and files of which `weir check` says that they cannot be used, each with
    its line and what to do.
    """


ROOT = Path(os.environ.get("WEIR_HOME") or Path(__file__).resolve().parents[1])
HOME = os.environ.get("AIRFLOW_HOME")

found = find_problems(ROOT, weir_command(ROOT), Path(HOME, "weir_check.json") if HOME else None)
_, without_dag = build_dags(ROOT)
problems = [
    *found,
    *(
        problem
        for problem in without_dag
        if not set(problem.splitlines()) <= set("\n".join(found).splitlines())
    ),
]
if problems:
    raise BrokenPipelines("\n".join(problems))
