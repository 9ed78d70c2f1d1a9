"""Whether a profile fits the lake: a driver inside a cluster finds no folder of this machine, and no lock of its operating system."""

from spark_jobs.config.errors import Problem
from spark_jobs.config.loading import Project
from spark_jobs.config.report import Report
from spark_jobs.config.sinks import FileSink

SHARED = "or, where the folder is at the same path on every host and its file system keeps locks between hosts: shared_folders: true"


def check_profile(project: Project, name: str) -> list[Problem]:
    """The problems of the profile that runs are to use; those of others concern nobody."""
    profile = project.profiles.get(name)
    if profile is None or profile.deploy == "client" or profile.shared_folders:
        return []
    report = Report(project.conf / "profiles" / f"{name}.yml", project.root)
    for what, place in (("lake", project.lake), ("landing zone", project.landing)):
        if "://" not in place:
            message = f"a driver in the cluster cannot reach the {what} {place}, a folder of this machine"
            report.add(("deploy",), profile.deploy, message, f"put it on S3, write deploy: client, {SHARED}")
    for pipeline in project.pipelines.values():
        for sink, declared in pipeline.sinks.items():
            if isinstance(declared, FileSink):
                message = f"the sink {sink!r} of {pipeline.name} writes files, and a driver in the cluster cannot reach {project.exports}"
                report.add(("deploy",), profile.deploy, message, f"write deploy: client, {SHARED}")
    return report.problems
