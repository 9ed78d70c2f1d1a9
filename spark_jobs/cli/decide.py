"""`weir release` and `weir set-aside`: what a person decides about a batch that is held, with the reason."""

from typing import Literal

from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.run import known_profile, print_result
from spark_jobs.cli.whoami import known_as, whoami
from spark_jobs.config.errors import ConfigError
from spark_jobs.run.decide import decide
from spark_jobs.run.result import RunResult, Status


def decide_command(
    name: str, table: str, action: Literal["release", "set_aside"], reason: str, by: str | None, profile: str | None, as_json: bool
) -> int:
    try:
        project = load_checked(name)
        decided_by = whoami() if by is None else known_as(by)
        result = decide(project, name, known_profile(project, profile), table, action, decided_by, reason)
    except ConfigError as error:
        result = RunResult(name, Status.CONFIG_ERROR, str(error))
    print_result(result, as_json)
    return result.exit_code
