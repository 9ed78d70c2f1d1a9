"""All looks of the doctor, in the order in which they depend on one another."""

import os
from collections.abc import Mapping
from datetime import datetime
from functools import partial
from pathlib import Path

from spark_jobs.config.errors import Problem
from spark_jobs.config.loading import Project
from spark_jobs.config.text import count
from spark_jobs.doctor import airflow, machine, places
from spark_jobs.doctor.finding import BAD, Finding, looked_at, ok
from spark_jobs.doctor.pipeline import look_at_pipeline
from spark_jobs.session.install import Installation


def diagnose(
    root: Path,
    project: Project | None,
    problems: list[Problem],
    only: str | None,
    now: datetime,
    environ: Mapping[str, str] = os.environ,
) -> list[Finding]:
    """Of this machine and the project in `root`, as far as it can be loaded; of one pipeline, or of all."""
    installed = Installation(root)
    components = _components(project, only)
    looks = (
        (machine.MACHINE, "python", partial(machine.look_at_packages, root)),
        (machine.MACHINE, "java", partial(machine.look_at_java, installed)),
        (machine.MACHINE, "jars", partial(machine.look_at_jars, installed, components)),
        (machine.MACHINE, "archive of classes", partial(machine.look_at_archive, installed)),
        (airflow.AIRFLOW, "environment", partial(machine.look_at_airflow_packages, root)),
        (airflow.AIRFLOW, "service", partial(airflow.look_at_airflow, root, environ)),
    )
    found = [finding for area, about, look in looks for finding in looked_at(area, about, look)]
    found.append(_configuration(project, problems))
    if project is None:
        return found
    found += looked_at(places.STORAGE, "roots", partial(places.look_at_places, project))
    if only is None:
        found += looked_at(places.STORAGE, "orphans", partial(places.look_at_orphans, project))
    for name in project.pipelines if only is None else [only]:
        found += look_at_pipeline(project, name, now)
    return found


def _components(project: Project | None, only: str | None) -> set[str]:
    if project is None:
        return set()
    chosen = [pipeline for name, pipeline in project.pipelines.items() if only in (None, name)]
    return {*project.components, *(component for pipeline in chosen for component in pipeline.components)}


def _configuration(project: Project | None, problems: list[Problem]) -> Finding:
    if problems:
        first = str(problems[0]).partition("\n")[0]
        more = f" (and {count(len(problems) - 1, 'more problem')})" if len(problems) > 1 else ""
        return Finding("project", "configuration", BAD, f"{first}{more}", "`weir check` names all of them")
    number = len(project.pipelines) if project else 0
    return ok("project", "configuration", f"{count(number, 'pipeline')}, no problem")
