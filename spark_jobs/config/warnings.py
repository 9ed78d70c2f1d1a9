"""What `weir check` warns of: a configuration that works, and may not do what its author expects. It is no mistake, and stops nothing."""

from spark_jobs.config.errors import Problem
from spark_jobs.config.loading import Project, pipeline_file
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.report import Report
from spark_jobs.config.sources import FileSource


def warn_of_project(project: Project) -> list[Problem]:
    """Every warning, by file and line."""
    reports = [Report(pipeline_file(project.root, pipeline.name), project.root) for pipeline in project.pipelines.values()]
    for pipeline, report in zip(project.pipelines.values(), reports, strict=True):
        _warn_of_ties(pipeline, report)
        _warn_of_moved_keys(pipeline, report)
    found = [problem for report in reports for problem in report.problems]
    return sorted(found, key=lambda problem: (problem.file, problem.line))


def _warn_of_ties(pipeline: Pipeline, report: Report) -> None:
    """A rewritten file has the event times of the first: nothing says that its rows are newer."""
    for name, silver in pipeline.silver.items():
        source = pipeline.sources.get(silver.from_)
        takes_changes = isinstance(source, FileSource) and source.changed == "take"
        if takes_changes and silver.key and silver.sequence_by is None and "ties" not in silver.model_fields_set:
            message = (
                f"the source {silver.from_!r} takes changed files, but nothing tells a new version of a key from an old one with the same "
                f"{silver.sequence_column}: between the two a hash decides"
            )
            hint = "add sequence_by: <a column that grows with every version>, or ties: newest_arrival, or ties: hash if that is meant"
            report.add(("silver", name, "key"), silver.key, message, hint)


def _warn_of_moved_keys(pipeline: Pipeline, report: Report) -> None:
    """An update that changes the key of a row has its old key in the old image alone: unless that deletes, the row is there twice."""
    for name, silver in pipeline.silver.items():
        source = pipeline.sources.get(silver.from_)
        if source is None or not source.is_change_feed or not silver.key or not silver.delete_when:
            continue
        if not any(image in silver.delete_when for image in ("update_preimage", "update_postimage")):
            message = "a row whose key its owner changes stays under its old key as well: delete_when does not say what an update took away"
            hint = "write delete_when: <the column from _change_type> IN ('delete', 'update_preimage'), and no where that leaves these out"
            report.add(("silver", name, "delete_when"), silver.delete_when, message, hint)
