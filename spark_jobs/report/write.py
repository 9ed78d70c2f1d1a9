"""The files of reports: one per run, a pipeline's runs (as a page and as JSON), and the list of pipelines.
Each is replaced whole.
"""

import os
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from spark_jobs import __version__
from spark_jobs.config.loading import Project
from spark_jobs.config.names import NAME
from spark_jobs.lake.layout import Lake
from spark_jobs.report.collect import collect_report
from spark_jobs.report.facts import Report
from spark_jobs.report.index import RUNS_FILE, RunLine, list_runs, read_newest, render_runs
from spark_jobs.report.render import render_index, render_run
from spark_jobs.report.runs import RUN_ID, run_ids

INDEX = "index.html"
MADE_BY = f"weir {__version__}"


def write_report(project: Project, pipeline_name: str, run_id: str) -> Path:
    """Make the report of a run and the lists again, and say where it is. UnknownRun where the ledger does not
    have the run.
    """
    return write_collected(project, collect_report(project, pipeline_name, run_id, datetime.now(UTC)))


def write_collected(project: Project, report: Report) -> Path:
    """Write the report, remove the oldest ones of its pipeline, and make the lists again."""
    folder = project.reports / report.pipeline
    path = folder / f"{report.run.run_id}.html"
    _replace(path, render_run(report))
    lake = Lake(project.lake, report.pipeline)
    remove_oldest(folder, lake, project.lakehouse.keep_reports, keep=path)
    lines = list_runs(
        lake, [file.stem for file in report_files(folder, lake)], run_ids(lake)[-1], report.current
    )
    _write_as_its_own(project, folder, report, lines)
    caption = f"The newest {len(lines)} reports; the newest first" if len(lines) > 1 else "Its report"
    _replace(
        folder / INDEX,
        render_index(report.pipeline, caption, lines, report.made_at, MADE_BY, is_one_pipeline=True),
    )
    _replace(folder / RUNS_FILE, render_runs(report, lines))
    _write_front(project, report.made_at, {report.pipeline: lines})
    return path


def _write_as_its_own(project: Project, folder: Path, report: Report, lines: Sequence[RunLine]) -> None:
    """Write the page again that was the newest one until now, where it spoke of what was so then and the list
    no longer does: both are about its own run now.
    """
    told = {line.run_id: line.outcome for line in _newest_in(folder)}
    for line in lines:
        if line.run_id != report.run.run_id and told.get(line.run_id, line.outcome) != line.outcome:
            own = collect_report(project, report.pipeline, line.run_id, report.made_at)
            _replace(folder / line.link, render_run(own))


def report_files(folder: Path, lake: Lake) -> list[Path]:
    """The reports of runs in a folder, the oldest first, in the order of the ledger: their names bear times
    of a clock. Those of runs that it does not know come before all others. Files of other names are not ours.
    """
    place = {run_id: number for number, run_id in enumerate(run_ids(lake))}
    files = folder.glob("*.html") if folder.is_dir() else []
    ours = (
        file for file in files if RUN_ID.fullmatch(file.stem) and file.is_file() and not file.is_symlink()
    )
    return sorted(ours, key=lambda file: (place.get(file.stem, -1), file.name))


def remove_oldest(folder: Path, lake: Lake, count: int, keep: Path) -> None:
    """Keep so many reports; the one just made stays, however old its run."""
    others = [file for file in report_files(folder, lake) if file != keep]
    for file in others[: max(0, len(others) + 1 - count)]:
        file.unlink(missing_ok=True)


def _write_front(project: Project, made_at: datetime, known: Mapping[str, Sequence[RunLine]]) -> None:
    """The list of pipelines: every folder that holds reports, whichever pipelines are loaded now. Of those
    that are not `known`, what their own list says, which was written with all that the ledger has.
    """
    folders = [
        path for path in sorted(project.reports.iterdir()) if NAME.fullmatch(path.name) and path.is_dir()
    ]
    found = [(folder.name, known.get(folder.name) or _listed(project, folder)) for folder in folders]
    lines = [replace(lines[0], name=name, link=f"{name}/{INDEX}") for name, lines in found if lines]
    title = "Data quality"
    _replace(
        project.reports / INDEX,
        render_index(title, "The newest run of each", lines, made_at, MADE_BY, is_one_pipeline=False),
    )


def _listed(project: Project, folder: Path) -> Sequence[RunLine]:
    """The newest line of a pipeline's own list; from its ledger where that list is missing, or of another
    version.
    """
    lake = Lake(project.lake, folder.name)
    return _newest_in(folder) or list_runs(lake, [file.stem for file in report_files(folder, lake)[-1:]])


def _newest_in(folder: Path) -> list[RunLine]:
    """The newest line of the list as it was written last; none where that is missing, or of another
    version.
    """
    try:
        return [read_newest((folder / RUNS_FILE).read_text(encoding="utf-8"))]
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return []


def _replace(path: Path, text: str) -> None:
    """Readers see the old file or the new one. Who may read it is for the umask of the process to say."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.parent / f".{path.stem}.{secrets.token_hex(8)}.tmp"
    try:
        with open(fresh, "x", encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
        os.replace(fresh, path)
    except BaseException:
        fresh.unlink(missing_ok=True)
        raise
