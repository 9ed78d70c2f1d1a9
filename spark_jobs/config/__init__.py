"""What a project is: its files, read strictly. Imports neither pyspark nor sqlglot.

The names below are loaded when somebody asks for them: the models take a quarter of a second, and
`weir --help` needs none of them.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spark_jobs.config.errors import ConfigError, Problem
    from spark_jobs.config.loading import Project, load_pipeline, load_project
    from spark_jobs.config.pipeline import Pipeline

__all__ = ["ConfigError", "Pipeline", "Problem", "Project", "load_pipeline", "load_project"]

HOMES = {
    "ConfigError": "errors",
    "Problem": "errors",
    "Pipeline": "pipeline",
    "Project": "loading",
    "load_pipeline": "loading",
    "load_project": "loading",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{HOMES[name]}"), name)
