"""`weir rebuild`: tables rebuilt from bronze, compared with those that stand, and put in their place."""

from spark_jobs.cli.ending import GOOD, end, result_alone
from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.run import known_profile
from spark_jobs.config.errors import Refused, UsageError
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.loading import Project
from spark_jobs.run import stopping
from spark_jobs.run.finish_swap import Rebuild
from spark_jobs.run.rebuild import rebuild_tables, standing_tables
from spark_jobs.run.result import Status


def rebuild_command(
    name: str, tables: tuple[str, ...], is_all: bool, is_dry: bool, profile: str | None, as_json: bool
) -> int:
    with result_alone(as_json), stopping.listening():
        try:
            project = load_checked(name)
            chosen = known_profile(project, profile)
            rebuild = _rebuild_all if is_all else rebuild_tables
            result = rebuild(project, name, chosen, tables, is_dry)
        except Refused as error:
            result = Rebuild(name, Status(error.status), error.said)
        except KeyboardInterrupt:
            result = Rebuild(name, Status.STOPPED, stopping.say_stopped(str(stopping.asked_by())))
    is_error = result.exit_code not in GOOD
    said = "error: " if is_error and result.status is not Status.STOPPED else f"{name}: "
    took = f" ({result.seconds:.1f} s)" if result.seconds else ""
    return end(result.exit_code, f"{said}{result.message}{took}", result.as_dict(), as_json=as_json)


def _rebuild_all(
    project: Project, name: str, profile: Profile, tables: tuple[str, ...], is_dry: bool
) -> Rebuild:
    if tables:
        message, hint = "--all and names of tables contradict one another", "give either --all or the names"
        raise UsageError("--all", " ".join(tables), message, hint)
    standing = standing_tables(project, name)
    if not standing:
        return Rebuild(name, Status.NOTHING_TO_DO, f"no table exists yet; `weir run {name}` makes them")
    return rebuild_tables(project, name, profile, standing, is_dry)
