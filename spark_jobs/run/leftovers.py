"""What stands beside the tables of a pipeline and is no longer needed: old checkpoints, rebuilds, logs and
reports.
"""

from datetime import datetime

from spark_jobs.config import Project
from spark_jobs.config.names import parse_duration
from spark_jobs.lake import storage
from spark_jobs.lake.layout import Lake
from spark_jobs.run.plan import Plan

# What runs and rebuilds leave behind beside the tables, and that nobody needs any more: found here, and
# removed by `weir maintain`.


def old_checkpoints(plan: Plan) -> list[str]:
    """The checkpoints of generations that a rebuild has replaced, or that a rebuild which
    was cut has begun.
    """
    found = []
    for table in plan.definitions:
        folder, live = f"{plan.lake.checkpoints}/{table}", plan.lake.checkpoint(table, plan.generation(table))
        generations = [
            name for name in storage.names_in(folder) if name.startswith("g") and name[1:].isdecimal()
        ]
        found += [f"{folder}/{name}" for name in generations if f"{folder}/{name}" != live]
    return sorted(place for place in found if storage.is_folder(place))


def rebuilt_beside(plan: Plan) -> list[str]:
    """What a rebuild that was cut before it replaced anything has built: the next one starts over."""
    return [plan.lake.stage] if storage.is_folder(plan.lake.stage) else []


def old_logs(project: Project, pipeline: str, now: datetime) -> list[str]:
    """Spark's logs of runs that nobody has written to for as long as `keep_logs` says."""
    folder = project.root / "logs" / pipeline
    before = (now - parse_duration(project.lakehouse.keep_logs)).timestamp()
    files = folder.glob("*.log") if folder.is_dir() else []
    return sorted(
        str(file)
        for file in files
        if file.is_file() and not file.is_symlink() and file.stat().st_mtime < before
    )


def old_reports(project: Project, pipeline: str) -> list[str]:
    """Reports beyond `keep_reports`. The newest stays in any case."""
    from spark_jobs.report.write import report_files

    files = report_files(project.reports / pipeline, Lake(project.lake, pipeline))
    return [str(file) for file in files[: -max(1, project.lakehouse.keep_reports)]]


def list_reports_again(project: Project, pipeline: str) -> None:
    """The newest report is made again, and with it the lists, which name the reports that are there."""
    from spark_jobs.report.write import report_files, write_report

    write_report(
        project, pipeline, report_files(project.reports / pipeline, Lake(project.lake, pipeline))[-1].stem
    )
