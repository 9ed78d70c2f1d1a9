"""Loads expectations/<pipeline>/<layer>.<table>.yml: the rules of each table, and the problems of the files
that cannot be used.

Reads YAML alone, so that DAGs can do it at every parse. What the rules say is checked in checks/rules.py and
quality/check.py.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from spark_jobs.config.document import name_in_project, read_document
from spark_jobs.config.errors import ConfigError, Problem, did_you_mean
from spark_jobs.config.expectations import Expectations, Rule, make_rules
from spark_jobs.config.graph import pipeline_names
from spark_jobs.config.names import shorten
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.table_name import TableName
from spark_jobs.config.validation import validate

FOLDER = "expectations"
BELONGS = "a file belongs to one table: expectations/<pipeline>/<layer>.<table>.yml"

PipelineRules = dict[str, tuple[Rule, ...]]


def survey_rules(
    root: Path, pipelines: Mapping[str, Pipeline], only: str | None = None
) -> tuple[dict[str, PipelineRules], list[Problem]]:
    """The rules of the loaded pipelines, an entry for each, and what is wrong with files; `only` names the
    one pipeline to look at.
    """
    rules: dict[str, PipelineRules] = {name: {} for name in pipelines}
    problems: list[Problem] = []
    for path in _files(root, only):
        try:
            table, found = _load_file(path, root, pipelines)
        except ConfigError as error:
            problems += error.problems
            continue
        rules.setdefault(path.parent.name, {})[table] = found
    return {name: rules[name] for name in pipelines}, problems


def rules_file(root: Path, pipeline: str, table: str) -> Path:
    return root / FOLDER / pipeline / f"{table}.yml"


def _files(root: Path, only: str | None) -> Iterator[Path]:
    """All YAML files, wherever they stand: one in a wrong place would otherwise be a rule that nobody
    applies. The folder of a pipeline may be a link; one further in, or a folder called like a file, is a
    problem of its own.
    """
    folder = root / FOLDER if only is None else root / FOLDER / only
    linked = [path for path in folder.glob("*") if _is_linked_folder(path) and only is None]
    paths = {path for top in (folder, *linked) for path in top.rglob("*")} - set(linked)
    yield from sorted(
        path for path in paths if path.suffix.lower() in (".yml", ".yaml") or _is_linked_folder(path)
    )


def _is_linked_folder(path: Path) -> bool:
    """What a search of a folder does not go into."""
    return path.is_symlink() and path.is_dir()


def _load_file(path: Path, root: Path, pipelines: Mapping[str, Pipeline]) -> tuple[str, tuple[Rule, ...]]:
    """The table's full name and its rules; ConfigError for this file alone."""
    file = name_in_project(path, root)
    place = _misplaced(path, root, file, pipelines)
    if place is not None:
        raise ConfigError([place])
    return path.stem, make_rules(validate(Expectations, read_document(path, file)))


def _misplaced(path: Path, root: Path, file: str, pipelines: Mapping[str, Pipeline]) -> Problem | None:
    """What is wrong with where the file stands and what it is called."""
    parts = path.relative_to(root / FOLDER).parts
    if len(parts) != 2:
        return Problem(file, 1, "", path.name, "the file does not stand in the folder of a pipeline", BELONGS)
    if path.suffix != ".yml":
        return Problem(
            file,
            1,
            "",
            path.name,
            f"the file {path.name} does not end in .yml, and is not read",
            f"rename it to {path.stem.lower()}.yml",
        )
    pipeline, table = parts[0], path.stem
    names = pipeline_names(root / "conf")
    if pipeline not in names:
        return Problem(
            file,
            1,
            "",
            pipeline,
            f"there is no pipeline {shorten(pipeline)} for this folder",
            did_you_mean(pipeline, names),
        )
    if TableName(table).layer == "bronze":
        return Problem(
            file,
            1,
            "",
            table,
            "bronze holds records as they arrived, which nothing is expected of",
            "judge the table made from it",
        )
    if pipeline not in pipelines:
        return None  # its own file has problems, and its tables cannot be told
    tables = [f"{layer}.{name}" for layer, name, _ in pipelines[pipeline].tables() if layer != "bronze"]
    if table not in tables:
        message = f"the pipeline {pipeline!r} has no table {shorten(table)}"
        return Problem(
            file,
            1,
            "",
            table,
            message,
            f"{did_you_mean(table, tables)}; the file is called <layer>.<table>.yml",
        )
    return None
