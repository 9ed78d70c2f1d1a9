"""Checks of the landing folders of a pipeline."""

from itertools import combinations
from pathlib import PurePosixPath

from spark_jobs.config.pipeline import Pipeline, Source
from spark_jobs.config.report import Report


def check_sources(pipeline: Pipeline, report: Report) -> None:
    """A file belongs to one source: no folder within another, unless both name their files by different patterns."""
    for (name, source), (other_name, other) in combinations(pipeline.sources.items(), 2):
        if _overlap(source, other):
            message = f"the folder {other.path!r} and the folder {source.path!r} of source {name!r} contain the same files"
            hint = "give each source a folder of its own, or different patterns in one folder, as in orders-* and customers-*"
            report.add(("sources", other_name, "path"), other.path, message, hint)
    for name, source in pipeline.sources.items():
        if source.format != "csv" and "delimiter" in source.model_fields_set:
            hint = "remove it, or use format: csv"
            report.add(("sources", name, "delimiter"), source.delimiter, f"'delimiter' is incompatible with format: {source.format}", hint)


def _overlap(one: Source, other: Source) -> bool:
    first, second = PurePosixPath(one.path), PurePosixPath(other.path)
    if not (first.is_relative_to(second) or second.is_relative_to(first)):
        return False
    return one.pattern == other.pattern or "*" in (one.pattern, other.pattern)
