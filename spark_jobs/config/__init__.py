"""What a project is: its files, read strictly. Imports neither pyspark nor sqlglot."""

from spark_jobs.config.errors import ConfigError, Problem
from spark_jobs.config.loading import Project, load_pipeline, load_project
from spark_jobs.config.pipeline import Pipeline

__all__ = ["ConfigError", "Pipeline", "Problem", "Project", "load_pipeline", "load_project"]
