"""Loads conf/ and expectations/ into typed, frozen objects. One row of nothing is read: only YAML, so that
DAGs can do it at every parse.

Deeper checks, which need SQL or several files, are in checks/.
"""

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TypeVar

from spark_jobs.config.document import name_in_project, read_document
from spark_jobs.config.errors import ConfigError, Hinted, Problem, UsageError, did_you_mean
from spark_jobs.config.expectations import Rule
from spark_jobs.config.graph import pipelines_read
from spark_jobs.config.lakehouse import Lakehouse, Profile
from spark_jobs.config.names import check_name
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.root import LAKEHOUSE as LAKEHOUSE
from spark_jobs.config.root import find_root as find_root
from spark_jobs.config.rule_files import PipelineRules, survey_rules
from spark_jobs.config.validation import validate

T = TypeVar("T")
NO_PIPELINE = "conf/pipelines has no pipeline yet; docs/pipeline-file.md says how to write one"


@dataclass(frozen=True)
class Project:
    """A whole conf/ folder with its expectations. The roots are absolute paths or URIs.

    `rules` has an entry for every pipeline: its tables that have an expectation file, by full name, each with
    its rules.
    """

    root: Path
    conf: Path
    lakehouse: Lakehouse
    landing: str
    lake: str
    profiles: dict[str, Profile]
    pipelines: dict[str, Pipeline]
    rules: dict[str, dict[str, tuple[Rule, ...]]]
    reports: Path
    exports: Path

    @property
    def roots(self) -> tuple[str, str]:
        return self.landing, self.lake

    @property
    def components(self) -> frozenset[str]:
        """The jars that the storage of the roots needs."""
        return frozenset({"s3"} if any(root.startswith("s3a://") for root in self.roots) else ())

    def file_of(self, pipeline: str) -> Path:
        return pipeline_file(self.root, pipeline)


def load_project(
    root: Path | None = None, environ: Mapping[str, str] = os.environ, *, only: str | None = None
) -> Project:
    """The project, or ConfigError with every problem of its files.

    `only` names the one pipeline to load, whatever the others are like, but for those whose tables it reads.
    UsageError where there is no such pipeline, or no such profile as WEIR_PROFILE or --profile names.
    """
    project, problems = survey_project(root, environ, only=only)
    if problems or project is None:
        raise ConfigError(problems)
    asked = environ.get("WEIR_PROFILE")
    if asked and asked not in project.profiles:
        message = f"there is no profile {asked!r} in conf/profiles"
        raise UsageError("--profile or WEIR_PROFILE", asked, message, did_you_mean(asked, project.profiles))
    if only is not None and only not in project.pipelines:
        known = sorted(path.stem for path in (project.conf / "pipelines").glob("*.yml"))
        hint = did_you_mean(only, known) if known else NO_PIPELINE
        raise UsageError("PIPELINE", only, f"there is no pipeline {only!r}", hint)
    return project


def survey_project(
    root: Path | None = None, environ: Mapping[str, str] = os.environ, *, only: str | None = None
) -> tuple[Project | None, list[Problem]]:
    """What can be loaded, and the problems of what cannot; no project at all only where conf/lakehouse.yml is
    unusable.
    """
    root = (root or find_root(environ)).resolve()
    problems: list[Problem] = []
    lakehouse = _attempt(problems, lambda: load_lakehouse(root))
    profiles = _load_folder(root, "profiles", load_profile, problems, None)
    pipelines = _load_folder(root, "pipelines", load_pipeline, problems, only)
    problems += [
        problem
        for folder in ("profiles", *(["pipelines"] if only is None else []))
        for problem in misnamed_files(root, folder)
    ]
    _link(root, pipelines, problems, has_all=only is None)
    rules, mistakes = survey_rules(root, pipelines, only)
    _tell_tagging(root, pipelines, rules)
    problems += mistakes
    if lakehouse is None:
        return None, problems
    if environ.get("WEIR_PROFILE"):
        lakehouse = lakehouse.model_copy(update={"profile": environ["WEIR_PROFILE"]})
    profile = profiles.get(lakehouse.profile)
    landing = resolve_location(
        root, environ.get("WEIR_LANDING") or (profile and profile.landing) or lakehouse.landing
    )
    lake = resolve_location(root, environ.get("WEIR_LAKE") or (profile and profile.lake) or lakehouse.lake)
    reports = reports_folder(root, lakehouse, environ)
    exports = Path(resolve_location(root, environ.get("WEIR_EXPORTS") or lakehouse.exports))
    return (
        Project(root, root / "conf", lakehouse, landing, lake, profiles, pipelines, rules, reports, exports),
        problems,
    )


def load_lakehouse(root: Path) -> Lakehouse:
    """conf/lakehouse.yml alone; ConfigError where it cannot be used."""
    return validate(Lakehouse, read_document(root / LAKEHOUSE, LAKEHOUSE.as_posix()))


def reports_folder(root: Path, lakehouse: Lakehouse, environ: Mapping[str, str] = os.environ) -> Path:
    return Path(resolve_location(root, environ.get("WEIR_REPORTS") or lakehouse.reports))


def load_pipeline(path: Path, root: Path) -> Pipeline:
    """The pipeline of one file, which must bear its name; ConfigError for this file alone."""
    document = read_document(path, name_in_project(path, root))
    pipeline = validate(Pipeline, document)
    if pipeline.name != path.stem:
        hint = f"rename the file to {pipeline.name}.yml, or the pipeline to {path.stem}"
        message = f"the pipeline {pipeline.name!r} stands in a file called {path.name}"
        raise ConfigError(
            [Problem(document.file, document.line_of(["pipeline"]), "pipeline", pipeline.name, message, hint)]
        )
    return pipeline


def load_profile(path: Path, root: Path) -> Profile:
    return validate(Profile, read_document(path, name_in_project(path, root)))


def pipeline_file(root: Path, pipeline: str) -> Path:
    return root / "conf" / "pipelines" / f"{pipeline}.yml"


def resolve_location(root: Path, location: str) -> str:
    """An absolute path, or the URI as it is; a relative path starts at the project."""
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]*://", location):
        return location.rstrip("/")
    return os.path.normpath(root / Path(location).expanduser())


def _load_folder(
    root: Path, folder: str, load: Callable[[Path, Path], T], problems: list[Problem], only: str | None
) -> dict[str, T]:
    """The files of a folder by their names; what cannot be loaded becomes a problem and is left out."""
    paths = {path.stem: path for path in sorted((root / "conf" / folder).glob("*.yml"))}
    if only is not None:
        paths = {only: paths[only]} if only in paths else {}
    loaded = {name: _attempt(problems, partial(_load_file, path, root, load)) for name, path in paths.items()}
    return {name: value for name, value in loaded.items() if value is not None}


def misnamed_files(root: Path, folder: str) -> list[Problem]:
    """YAML files of conf/pipelines or conf/profiles that nobody reads: with another ending than .yml, or in a
    folder within.
    """
    found = []
    for path in sorted((root / "conf" / folder).rglob("*")):
        file = name_in_project(path, root)
        if path.suffix.lower() not in (".yml", ".yaml") or path.name.startswith(".") or path.is_dir():
            continue
        if path.parent != root / "conf" / folder:
            message = f"the file does not stand in conf/{folder} itself, and is not read"
            found.append(Problem(file, 1, "", path.name, message, f"move it to conf/{folder}"))
        elif path.suffix != ".yml":
            message = f"the file {path.name} does not end in .yml, and is not read"
            found.append(Problem(file, 1, "", path.name, message, f"rename it to {path.stem.lower()}.yml"))
    return found


def _link(root: Path, pipelines: dict[str, Pipeline], problems: list[Problem], *, has_all: bool) -> None:
    """Let every pipeline know those whose tables it reads. Where not all are loaded they are read for this
    alone.
    """
    known, waiting = dict(pipelines), list(pipelines.values())
    while waiting:
        pipeline = waiting.pop()
        for name in pipelines_read(pipeline, root / "conf"):
            path = pipeline_file(root, name)
            if name not in known and not has_all and path.is_file():
                loaded = _attempt(problems, lambda path=path: _load_file(path, root, load_pipeline))  # type: ignore[misc]
                if loaded is not None:
                    known[name] = loaded
                    waiting.append(loaded)
            if name in known:
                pipeline.link({name: known[name]})


def _tell_tagging(root: Path, pipelines: Mapping[str, Pipeline], rules: Mapping[str, PipelineRules]) -> None:
    """Let every pipeline know which rules tag its rows, also those that are read for their tables alone."""
    for name, pipeline in pipelines.items():
        pipeline.tag_by(rules[name])
        for other, upstream in pipeline.upstream.items():
            if other not in pipelines:
                upstream.tag_by(survey_rules(root, {other: upstream}, other)[0][other])


def _load_file(path: Path, root: Path, load: Callable[[Path, Path], T]) -> T:
    file = name_in_project(path, root)
    try:
        check_name(path.stem)
    except Hinted as wrong:
        raise ConfigError([Problem(file, 1, "", path.stem, wrong.message, wrong.hint)]) from wrong
    return load(path, root)


def _attempt(problems: list[Problem], load: Callable[[], T]) -> T | None:
    try:
        return load()
    except ConfigError as error:
        problems.extend(error.problems)
        return None
