"""Lets Airflow's API refuse a run of a pipeline whose form has keys that there are not, and one of the upkeep
with any: 400, with the nearest key.

Airflow checks the values of a form, and takes any further key (3.3). Runs that are started past the API are
refused by their first task.
"""

import os
from typing import Any

from weir_form import UPKEEP, say_formless, say_unknown

from spark_jobs.config.loading import find_root
from spark_jobs.config.names import NAME


def refuse_unknown_keys() -> None:
    """Called where only the API server comes by. It goes when a DAG can say that its params are all there
    are.
    """
    from airflow.models.dagrun import DagRun
    from sqlalchemy import event

    if not event.contains(DagRun, "init", check_conf):
        event.listen(DagRun, "init", check_conf)


def check_conf(target: Any, args: Any, known: dict[str, Any]) -> None:
    """Of a DAG run that is about to be made. Airflow answers a ValueError with 400 and its text."""
    conf, name = known.get("conf"), str(known.get("dag_id"))
    if isinstance(conf, dict) and (problem := _problem(name, conf)):
        raise ValueError(problem)


def _problem(dag_id: str, conf: dict[str, Any]) -> str | None:
    if dag_id == UPKEEP:
        return say_formless(conf)
    return say_unknown(conf) if is_pipeline(dag_id) else None


def is_pipeline(name: str) -> bool:
    return (
        bool(NAME.fullmatch(name))
        and (find_root(os.environ) / "conf" / "pipelines" / f"{name}.yml").is_file()
    )
