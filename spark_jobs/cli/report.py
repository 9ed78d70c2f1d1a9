"""`weir report`: makes the data-quality report of a run again, and says where it is; or gives all of it as
one JSON object.
"""

import json
import sys
import webbrowser
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from spark_jobs.cli.ending import refuse, say_if_empty
from spark_jobs.config.errors import Refused, UsageError, did_you_mean
from spark_jobs.config.loading import Project, load_project
from spark_jobs.lake.layout import Lake
from spark_jobs.report.collect import UnknownRun, collect_report
from spark_jobs.report.render import as_json
from spark_jobs.report.runs import run_ids
from spark_jobs.report.text import title_of
from spark_jobs.report.write import INDEX, write_collected

NEWEST_SHOWN = 5


def report_command(name: str | None, run_id: str | None, is_opened: bool, is_json: bool) -> int:
    try:
        if name is None and run_id is not None:
            raise UsageError(
                "--run", run_id, "a run is one of a pipeline", "write `weir report PIPELINE --run RUN_ID`"
            )
        project = load_project(only=name)
        made = [_make(project, pipeline, run_id) for pipeline in project.pipelines]
    except Refused as error:
        return refuse(error, as_json=is_json, pipeline=name)
    except UnknownRun as error:
        newest = error.known[: -NEWEST_SHOWN - 1 : -1]
        hint = (
            did_you_mean(error.run_id, newest)
            if newest
            else f"nothing has run yet: `weir run {error.pipeline}`"
        )
        return refuse(UsageError("--run", error.run_id, str(error), hint), as_json=is_json, pipeline=name)
    say_if_empty(project)
    if is_json:
        print(json.dumps(made[0] if name else {"pipelines": made}))
    _tell(project, name, made, is_json, is_opened)
    return 0


def _make(project: Project, name: str, run_id: str | None) -> dict[str, Any]:
    """The report of the given run, else of the newest; without a run where there is none."""
    newest = run_ids(Lake(project.lake, name))
    if run_id is None and not newest:
        return {"pipeline": name, "run": None, "path": None}
    report = collect_report(project, name, run_id or newest[-1], datetime.now(UTC))
    return {**as_json(report), "path": str(write_collected(project, report))}


def _tell(
    project: Project, name: str | None, made: list[dict[str, Any]], is_json: bool, is_opened: bool
) -> None:
    """A line per pipeline and the page to open; on standard error where standard output is JSON."""
    out = sys.stderr if is_json else sys.stdout
    for one in made:
        print(_line(one), file=out)
    written = [one["path"] for one in made if one["path"]]
    page = written[0] if name and written else str(project.reports / INDEX) if written else None
    if page:
        print(page, file=out)
    if page and is_opened and not webbrowser.open(Path(page).as_uri()):
        print("no browser was found: open the file yourself", file=sys.stderr)


def _line(one: dict[str, Any]) -> str:
    if one["run"] is None:
        return (
            f"{one['pipeline']}: nothing has run yet; `weir run {one['pipeline']}` takes in what has landed"
        )
    verdict = one["verdict"]
    return f"{one['pipeline']}: {title_of(verdict['outcome']).lower()}: {verdict['why']}"
