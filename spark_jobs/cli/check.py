"""`weir check`: every problem of the configuration, with its file and line."""

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from spark_jobs.config.checks import check_folder
from spark_jobs.config.errors import Problem
from spark_jobs.config.loading import survey_project
from spark_jobs.config.text import plain_lines


def check_command(as_json: bool) -> int:
    problems = every_problem()
    if as_json:
        print(json.dumps({"problems": [asdict(problem) | {"value": str(problem.value)} for problem in problems]}))
    elif problems:
        print("\n".join(plain_lines(problem) for problem in problems), file=sys.stderr)
        print(f"error: {len(problems)} problem{'s' if len(problems) > 1 else ''} in the configuration", file=sys.stderr)
    else:
        print("conf/ is in order")
    return 2 if problems else 0


def every_problem(root: Path | None = None, environ: Mapping[str, str] = os.environ) -> list[Problem]:
    """What the files say wrongly, and what Great Expectations has against their rules. Of one place only the first is told."""
    problems = check_folder(root, environ)
    project, _ = survey_project(root, environ)
    if project is None or not any(project.rules.values()):
        return problems
    from spark_jobs.quality.check import check_rules  # it imports GX, which takes seconds

    places = {(problem.file, problem.where) for problem in problems}
    more = [problem for problem in check_rules(project) if (problem.file, problem.where) not in places]
    return sorted([*problems, *more], key=lambda problem: (problem.file, problem.line))
