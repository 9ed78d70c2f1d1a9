"""What `weir check` warns of: a configuration that works, and may not do what its author expects. It is no
mistake, and stops nothing.
"""

from collections.abc import Iterator
from pathlib import Path

from spark_jobs.config.checks.columns import NOT_OF_THE_RECORD
from spark_jobs.config.document import name_in_project
from spark_jobs.config.errors import Problem
from spark_jobs.config.loading import Project, pipeline_file
from spark_jobs.config.names import NEWEST_ARRIVAL
from spark_jobs.config.path_template import is_part
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.rule_files import FOLDER
from spark_jobs.config.silver import Dimension, Silver
from spark_jobs.config.sources import BRONZE_FIELDS, MESSAGE_FIELDS, FileSource
from spark_jobs.config.validation import Report

NOTES = (".md", ".txt", ".rst")
"""What people keep beside files for people."""

COMMIT = "_commit_version"
"""The field of a change feed by which its changes have their order."""


def warn_of_project(project: Project) -> list[Problem]:
    """Every warning, by file and line."""
    reports = [
        Report(pipeline_file(project.root, pipeline.name), project.root)
        for pipeline in project.pipelines.values()
    ]
    for pipeline, report in zip(project.pipelines.values(), reports, strict=True):
        _warn_of_ties(pipeline, report)
        _warn_of_moved_keys(pipeline, report)
        _warn_of_other_orders(pipeline, report)
        _warn_of_own_names(pipeline, report)
    found = [
        *_warn_of_unread_files(project.root),
        *(problem for report in reports for problem in report.problems),
    ]
    return sorted(found, key=lambda problem: (problem.file, problem.line))


def _warn_of_unread_files(root: Path) -> list[Problem]:
    """Files beside those that are read: a pipeline or a rule in a file of another name would be one that
    nobody knows of.
    """
    folders = (root / "conf" / "pipelines", root / "conf" / "profiles", root / FOLDER)
    beside = [
        path
        for folder in folders
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.startswith(".")
    ]
    unread = [path for path in beside if path.suffix.lower() not in (".yml", ".yaml", *NOTES)]
    hint = "give it a name that ends in .yml if it is to be read; else keep it elsewhere"
    return [
        Problem(name_in_project(path, root), 1, "", path.name, f"the file {path.name} is not read", hint)
        for path in unread
    ]


def _warn_of_ties(pipeline: Pipeline, report: Report) -> None:
    """A rewritten file has the event times of the first: nothing says that its rows are newer."""
    for name, silver in pipeline.silver.items():
        source = pipeline.sources.get(silver.from_)
        takes_changes = isinstance(source, FileSource) and source.changed == "take"
        if (
            takes_changes
            and silver.key
            and silver.sequence_by is None
            and "ties" not in silver.model_fields_set
        ):
            message = (
                f"the source {silver.from_!r} takes changed files, but nothing tells a new version of a key"
                f" from an old one with the same {', '.join(silver.sequence)}: between the two a hash decides"
            )
            hint = (
                "add sequence_by: <a column that grows with every version>, or ties: newest_arrival, or ties:"
                " hash if that is meant"
            )
            report.add(("silver", name, "key"), silver.key, message, hint)


def _deleting(pipeline: Pipeline) -> Iterator[tuple[str, str, Silver | Dimension]]:
    """Layer and name of the tables that take deletes from a feed of changes."""
    for layer, tables in (("dimensions", pipeline.dimensions), ("silver", pipeline.silver)):
        for name, table in tables.items():
            source = pipeline.sources.get(table.from_)
            if source is not None and source.is_change_feed and table.key and table.delete_when:
                yield layer, name, table


def _warn_of_moved_keys(pipeline: Pipeline, report: Report) -> None:
    """An update that changes the key of a row has its old key in the old image alone: unless that deletes,
    the row is there twice.
    """
    for layer, name, table in _deleting(pipeline):
        delete_when = str(table.delete_when)
        if not any(image in delete_when for image in ("update_preimage", "update_postimage")):
            message = (
                "a row whose key its owner changes stays under its old key as well: delete_when does not say"
                " what an update took away"
            )
            hint = (
                "write delete_when: <the column from _change_type> IN ('delete', 'update_preimage'), and no"
                " where that leaves these out"
            )
            report.add((layer, name, "delete_when"), delete_when, message, hint)


def _warn_of_other_orders(pipeline: Pipeline, report: Report) -> None:
    """An old image has the times of the row that went: by them it may be newer than the row that took its
    place, and in a history it takes the place of that row's version.
    """
    for layer, name, table in _deleting(pipeline):
        sequence = next(iter(table.sequence), "")
        column = table.columns.get(sequence)
        if column is None or (column.from_ or sequence) == COMMIT:
            continue
        message = (
            f"changes are ordered by {sequence!r} before their commits: a row in which its owner sets"
            " that back ends as deleted"
        )
        hint = (
            f"write sequence_by: <the column from {COMMIT}>, unless {sequence!r} grows with every change"
            " of a key"
        )
        if isinstance(table, Dimension) and table.history == "scd2":
            message = (
                f"a deleted row has the {sequence!r} of its last version, and takes that version's place in"
                " history"
            )
            hint = f"write sequence_by: {NEWEST_ARRIVAL}, and the version is closed when the change arrives"
        place = "sequence_by" if table.sequence_by else "event_time"
        report.add((layer, name, place), sequence, message, hint)


def _warn_of_own_names(pipeline: Pipeline, report: Report) -> None:
    """A record may have a field that is called like a column of bronze, but most that write `from: _file`
    mean the column.
    """
    for layer, tables in (("dimensions", pipeline.dimensions), ("silver", pipeline.silver)):
        for name, table in tables.items():
            source = pipeline.sources.get(table.from_)
            if source is None or source.record_format in ("csv", "text"):
                continue
            known = BRONZE_FIELDS | MESSAGE_FIELDS
            others = {name for name in known - source.own_fields if not source.origin_of(name)}
            for column, taken in table.columns.items():
                is_own = taken.from_ in others or is_part(taken.from_ or "")
                if taken.has_path and is_own and not source.origin_of(taken.from_):
                    message = (
                        f"'from: {taken.from_}' takes a field of the record of that name, not what Weir knows"
                        " of the record"
                    )
                    report.add(
                        (layer, name, "columns", column, "from"), taken.from_, message, NOT_OF_THE_RECORD
                    )
