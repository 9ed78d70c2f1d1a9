"""What runs and rebuilds leave behind beside the tables, and that nobody needs any more: found here, and removed by `weir maintain`."""

import shutil
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from spark_jobs.config import Project
from spark_jobs.config.names import parse_duration
from spark_jobs.run.plan import Plan


def old_checkpoints(plan: Plan) -> list[Path]:
    """The checkpoints of generations that a rebuild has replaced, or that a rebuild which was cut has begun."""
    folders = [folder for table in plan.definitions for folder in Path(plan.lake.checkpoints, table).glob("g*")]
    live = {Path(plan.lake.checkpoint(table, plan.generation(table))) for table in plan.definitions}
    return sorted(folder for folder in folders if folder.name[1:].isdecimal() and folder not in live)


def rebuilt_beside(plan: Plan) -> list[Path]:
    """What a rebuild that was cut before it replaced anything has built: the next one starts over."""
    stage = Path(plan.lake.stage)
    return [stage] if stage.is_dir() else []


def old_logs(project: Project, pipeline: str, now: datetime) -> list[Path]:
    """Spark's logs of runs that nobody has written to for as long as `keep_logs` says."""
    folder = project.root / "logs" / pipeline
    before = (now - parse_duration(project.lakehouse.keep_logs)).timestamp()
    files = folder.glob("*.log") if folder.is_dir() else []
    return sorted(file for file in files if file.is_file() and not file.is_symlink() and file.stat().st_mtime < before)


def old_reports(project: Project, pipeline: str) -> list[Path]:
    """Reports beyond `keep_reports`. The newest stays in any case."""
    from spark_jobs.report.write import report_files

    return report_files(project.reports / pipeline)[: -max(1, project.lakehouse.keep_reports)]


def remove(paths: Iterable[Path]) -> None:
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)


def list_reports_again(project: Project, pipeline: str) -> None:
    """The newest report is made again, and with it the lists, which name the reports that are there."""
    from spark_jobs.report.write import report_files, write_report

    write_report(project, pipeline, report_files(project.reports / pipeline)[-1].stem)
