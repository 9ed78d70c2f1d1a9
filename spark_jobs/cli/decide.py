"""`weir release`, `weir set-aside` and `weir hold`: what a person decides about a blocked batch, with
the reason.
"""

from spark_jobs.cli.ending import result_alone
from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.run import end_run, known_profile, until_stopped
from spark_jobs.cli.whoami import known_as, known_reason, whoami
from spark_jobs.run.decisions import Action, decide
from spark_jobs.run.result import RunResult


def decide_command(
    name: str,
    table: str,
    action: Action,
    reason: str,
    seen: str | None,
    by: str | None,
    profile: str | None,
    as_json: bool,
) -> int:
    def run() -> RunResult:
        project = load_checked(name)
        decided_by = whoami() if by is None else known_as(by)
        return decide(
            project,
            name,
            known_profile(project, profile),
            table,
            action,
            decided_by,
            known_reason(reason),
            seen=seen,
        )

    with result_alone(as_json):
        result = until_stopped(name, run)
    return end_run(result, as_json)
