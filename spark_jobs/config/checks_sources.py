"""Checks of the landing folders of a pipeline."""

from itertools import combinations
from pathlib import PurePosixPath

from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.regexes import judge_line_regex
from spark_jobs.config.report import Report
from spark_jobs.config.sources import Source

KEYS_OF_FORMATS = {"delimiter": "csv", "fields": "text", "row_tag": "xml", "lists": "xml"}


def check_sources(pipeline: Pipeline, report: Report) -> None:
    """A file belongs to one source: no folder within another, unless both name their files by different patterns."""
    for (name, source), (other_name, other) in combinations(pipeline.sources.items(), 2):
        if _overlap(source, other):
            message = f"the folder {other.path!r} and the folder {source.path!r} of source {name!r} contain the same files"
            hint = "give each source a folder of its own, or different patterns in one folder, as in orders-* and customers-*"
            report.add(("sources", other_name, "path"), other.path, message, hint)
    for name, source in pipeline.sources.items():
        _check_keys(name, source, report)
        if problem := judge_line_regex(source.fields) if source.fields and source.format == "text" else None:
            report.add(("sources", name, "fields"), source.fields, *problem)


def _check_keys(name: str, source: Source, report: Report) -> None:
    """Keys that belong to one format are refused elsewhere."""
    for key, belongs_to in KEYS_OF_FORMATS.items():
        if source.format != belongs_to and key in source.model_fields_set:
            message = f"'{key}' is incompatible with format: {source.format}"
            report.add(("sources", name, key), getattr(source, key), message, f"remove it, or use format: {belongs_to}")
    if source.format == "xml" and source.row_tag is None:
        hint = "add the name of the element that is one record, as in row_tag: order"
        report.add(("sources", name), None, "the key 'row_tag' is missing", hint)


def _overlap(one: Source, other: Source) -> bool:
    first, second = PurePosixPath(one.path), PurePosixPath(other.path)
    if not (first.is_relative_to(second) or second.is_relative_to(first)):
        return False
    return one.pattern == other.pattern or "*" in (one.pattern, other.pattern)
