"""`weir release`, `weir set-aside` and `weir hold`: what a person decides about a blocked batch, with
the reason.
"""

from spark_jobs.cli.ending import result_alone
from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.run import end_run, known_profile, until_stopped
from spark_jobs.cli.whoami import known_as, known_reason, whoami
from spark_jobs.run.decisions import Action, decide


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
    with result_alone(as_json), until_stopped(name) as ended:
        project = load_checked(name)
        decided_by = whoami() if by is None else known_as(by)
        ended.result = decide(
            project,
            name,
            known_profile(project, profile),
            table,
            action,
            decided_by,
            known_reason(reason),
            seen=seen,
        )
    return end_run(ended.result, as_json)
