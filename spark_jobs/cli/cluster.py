"""Commands whose driver runs inside a cluster: any that takes a profile with `deploy: cluster` is handed on
as it was typed.
"""

import sys
from typing import TYPE_CHECKING

from spark_jobs.cli.ending import fail
from spark_jobs.config.text import plain_lines

if TYPE_CHECKING:
    from spark_jobs.config.lakehouse import Profile
    from spark_jobs.config.loading import Project


class RunsOnCluster(BaseException):
    """The command is to be run by a driver in the cluster. Not an error: no handler of
    errors is to stop it.
    """

    def __init__(self, project: "Project", profile: "Profile") -> None:
        self.project, self.profile = project, profile


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def submit_command(elsewhere: RunsOnCluster, arguments: list[str]) -> int:
    """Print what the driver has printed, make the reports that it could not leave here, and end as it did."""
    from spark_jobs.cli.whoami import whoami
    from spark_jobs.failure import first_line
    from spark_jobs.report.write import write_report
    from spark_jobs.run import stopping
    from spark_jobs.run.submit import DriverLost, submit
    from spark_jobs.session.install import NotInstalled
    from spark_jobs.session.java import JavaMissing

    project = elsewhere.project
    [pipeline] = project.pipelines
    with stopping.listening():
        try:
            result = submit(project, pipeline, elsewhere.profile, arguments, whoami(), _say)
        except (DriverLost, JavaMissing, NotInstalled) as error:
            return fail(str(error), 1)
        except KeyboardInterrupt:
            return fail(stopping.say_stopped(str(stopping.asked_by())), 6)
    sys.stderr.write(plain_lines(result.stderr))
    sys.stdout.write(plain_lines(result.stdout))
    for run_id in result.runs if project.lakehouse.keep_reports else ():
        try:
            write_report(project, pipeline, run_id)
        except Exception as error:  # noqa: BLE001 - the run has ended as it has; `weir report` makes the page again
            print(
                f"warning: the report could not be written: {first_line(error)}; `weir report {pipeline}`"
                " tries again",
                file=sys.stderr,
            )
    return result.exit_code
