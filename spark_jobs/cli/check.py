"""`weir check`: every problem of the configuration, and what it warns of, with its file and line."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from spark_jobs.cli.ending import say_if_empty
from spark_jobs.config.checks.project import check_survey
from spark_jobs.config.errors import Problem
from spark_jobs.config.loading import Project, survey_project
from spark_jobs.config.plain_rules import are_plain
from spark_jobs.config.text import count, plain, plain_lines
from spark_jobs.config.warnings import warn_of_project


def check_command(as_json: bool) -> int:
    project, problems = survey_project()
    problems, warnings = _every_problem(project, problems), warn_of_project(project) if project else []
    if as_json:
        print(json.dumps({"problems": _as_dicts(problems), "warnings": _as_dicts(warnings)}))
        return 2 if problems else 0
    for warning in warnings:
        print(f"warning: {plain_lines(warning)}", file=sys.stderr)
    if problems:
        print("\n".join(plain_lines(problem) for problem in problems), file=sys.stderr)
        print(f"error: {count(len(problems), 'problem')} in the configuration", file=sys.stderr)
    else:
        print(f"{_shown(project)} is in order")
        if project:
            say_if_empty(project)
    return 2 if problems else 0


def _shown(project: Project | None) -> str:
    """The folder that was checked; with its path where it is not the one that a person stands in."""
    if project is None or Path.cwd().is_relative_to(project.root):
        return "conf/"
    return plain(f"{project.conf}/")


def _as_dicts(problems: list[Problem]) -> list[dict[str, object]]:
    return [asdict(problem) | {"value": str(problem.value)} for problem in problems]


def every_problem(root: Path | None = None, environ: Mapping[str, str] = os.environ) -> list[Problem]:
    """What the files say wrongly, and what Great Expectations has against their rules. Of one place only the
    first is told.
    """
    return _every_problem(*survey_project(root, environ))


def _every_problem(project: Project | None, found: list[Problem]) -> list[Problem]:
    problems = check_survey(project, found)
    if project is None or are_plain(
        rule for tables in project.rules.values() for rules in tables.values() for rule in rules
    ):
        return problems
    from spark_jobs.quality.check import check_rules  # it imports GX, which takes seconds

    places = {(problem.file, problem.where) for problem in problems}
    more = [problem for problem in check_rules(project) if (problem.file, problem.where) not in places]
    return sorted([*problems, *more], key=lambda problem: (problem.file, problem.line))
