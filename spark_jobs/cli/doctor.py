"""`weir doctor`: what stands in the way of a run, or soon will, and what to do about it."""

import json
import sys
from datetime import UTC, datetime

from rich.console import Console
from rich.text import Text

from spark_jobs.cli.ending import refuse
from spark_jobs.config.checks.project import check_survey
from spark_jobs.config.errors import Refused
from spark_jobs.config.loading import find_root, load_project, survey_project
from spark_jobs.config.text import count, plain, plain_lines
from spark_jobs.doctor.diagnosis import diagnose
from spark_jobs.doctor.finding import BAD, OK, WARNING, Finding
from spark_jobs.failure import first_line

MARKS = {OK: ("✓", "green"), WARNING: ("!", "yellow"), BAD: ("✗", "bold red")}


def doctor_command(pipeline: str | None, is_fixing: bool, as_json: bool) -> int:
    try:
        found = _look(pipeline)
    except Refused as error:
        return refuse(error, as_json=as_json, pipeline=pipeline)
    fixed = _fix(found) if is_fixing else []
    if fixed:
        found = _look(pipeline)
    bad = sum(finding.state == BAD for finding in found)
    code, status = (1, "bad") if bad else (0, "ok")
    if as_json:
        findings = [finding.as_dict() for finding in found]
        print(json.dumps({"status": status, "exit_code": code, "fixed": fixed, "findings": findings}))
    else:
        _print(found, fixed)
    return code


def _look(pipeline: str | None) -> list[Finding]:
    """A configuration with problems is one of the findings; a wrong name on the command line is refused."""
    project, problems = survey_project()
    if not problems or (pipeline is not None and (project is None or pipeline not in project.pipelines)):
        load_project(only=pipeline)
    return diagnose(find_root(), project, check_survey(project, problems), pipeline, datetime.now(UTC))


def _fix(found: list[Finding]) -> list[str]:
    """Each thing once, also where several findings ask for it."""
    fixes = {finding.fix.what: finding.fix for finding in found if finding.fix}
    done = []
    for what, fix in fixes.items():
        try:
            why_not = fix.do()
        except Exception as error:  # noqa: BLE001 - the finding stays, with its remedy
            why_not = first_line(error)
        if why_not is None:
            done.append(what)
        else:
            print(plain_lines(f"not fixed ({what}): {why_not}"), file=sys.stderr)
    return done


def _print(found: list[Finding], fixed: list[str]) -> None:
    console = Console(highlight=False, soft_wrap=True)
    for what in fixed:
        console.print(Text(plain(f"fixed: {what}")))
    area = None
    for finding in found:
        if finding.area != area:
            area = finding.area
            console.print(Text(plain(area), style="bold"))
        mark, style = MARKS[finding.state]
        console.print(Text(f"  {mark} ", style=style) + Text(plain(f"{finding.about}: {finding.message}")))
        if finding.remedy:
            console.print(Text(plain(f"      {finding.remedy}"), style="cyan"))
    bad, warnings = (sum(finding.state == state for finding in found) for state in (BAD, WARNING))
    fixable = sum(finding.fix is not None for finding in found)
    more = f"; `weir doctor --fix` fixes {fixable} of them" if fixable and not fixed else ""
    said = (
        f"{count(bad, 'problem')}, {count(warnings, 'warning')}{more}" if bad or warnings else "all is well"
    )
    console.print(Text(said, style="bold"))
