"""The project that a command works on, with the one pipeline that it names."""

from spark_jobs.config.checks.project import check_pipeline, check_roots
from spark_jobs.config.errors import ConfigError
from spark_jobs.config.loading import Project, load_project


def load_checked(name: str) -> Project:
    """The project with this one pipeline; ConfigError with every problem of it."""
    project = load_project(only=name)
    problems = check_roots(project) + check_pipeline(
        project.pipelines[name], project.conf, project.rules[name]
    )
    if problems:
        raise ConfigError(problems)
    return project
