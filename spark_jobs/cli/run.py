"""`weir run`: the result as lines for a person, or as one JSON object on standard output."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from spark_jobs.cli.cluster import RunsOnCluster
from spark_jobs.cli.ending import end, result_alone
from spark_jobs.cli.loading import load_checked
from spark_jobs.config.checks.project import check_profile
from spark_jobs.config.errors import ConfigError, Problem, Refused, UsageError, did_you_mean
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.loading import LAKEHOUSE, Project
from spark_jobs.config.task_stages import LAYERS
from spark_jobs.config.text import count, plain
from spark_jobs.operations.metrics import exporter, samples_of
from spark_jobs.operations.status import status_of
from spark_jobs.run import stopping
from spark_jobs.run.pipeline import RunRequest, run_pipeline
from spark_jobs.run.result import RunResult, Status
from spark_jobs.run.stopping import say_stopped
from spark_jobs.session.hosts import is_driver_in_cluster
from spark_jobs.stream.trigger import AVAILABLE_NOW, Trigger, check_trigger


def run_command(
    name: str,
    select: tuple[str, ...],
    layer: str | None,
    files_per_batch: int | None,
    profile: str | None,
    as_json: bool,
) -> int:
    with result_alone(as_json), until_stopped(name) as ended:
        project = load_checked(name)
        check_trigger(project.pipelines[name], Trigger(AVAILABLE_NOW), where="weir run")
        chosen, wanted = known_profile(project, profile), _known_layer(layer)
        request = RunRequest(select, wanted, files_per_batch=files_per_batch)
        with exporter(name) as export:
            ended.result = run_pipeline(project, name, chosen, request)
            export(lambda: samples_of(status_of(project, name, datetime.now(UTC))))
    return end_run(ended.result, as_json)


class Ended:
    """What a command's work has come to."""

    result: RunResult


@contextmanager
def until_stopped(name: str) -> Iterator[Ended]:
    """Around the work of a command, which sets the result. It is set here where the configuration cannot be
    used, or where the work was stopped before it had begun.
    """
    ended = Ended()
    with stopping.listening():
        try:
            yield ended
        except Refused as error:
            ended.result = RunResult(name, Status(error.status), str(error))
        except KeyboardInterrupt:
            ended.result = RunResult(name, Status.STOPPED, say_stopped(str(stopping.asked_by())))
        except SystemExit:
            # of whatever was called: the command has no result, so it must not end as if it had one
            ended.result = RunResult(
                name,
                Status.FAILED,
                "the run was ended from within, by SystemExit; what is published stays: run again to resume",
            )


def known_profile(project: Project, profile: str | None) -> Profile:
    """The profile that the command is to use. RunsOnCluster where that has its driver in the cluster, and
    this is not that driver.
    """
    name = check_profile_name(project, profile)
    if problems := check_profile(project, name):
        raise ConfigError(problems)
    chosen = project.profiles[name]
    if chosen.deploy == "cluster" and not is_driver_in_cluster():
        raise RunsOnCluster(project, chosen)
    return chosen


def check_profile_name(project: Project, profile: str | None) -> str:
    """UsageError where there is no such profile; without one it is the project's own, and ConfigError where
    that is missing.
    """
    name = profile or project.lakehouse.profile
    if name in project.profiles:
        return name
    message, hint = f"there is no profile {name!r} in conf/profiles", did_you_mean(name, project.profiles)
    if profile is not None:
        raise UsageError("--profile", name, message, hint)
    raise ConfigError([Problem(LAKEHOUSE.as_posix(), 1, "profile", name, message, hint)])


def _known_layer(layer: str | None) -> str | None:
    if layer is not None and layer not in LAYERS:
        raise UsageError("--layer", layer, f"there is no layer {layer!r}", did_you_mean(layer, LAYERS))
    return layer


def end_run(result: RunResult, as_json: bool) -> int:
    return end(result.exit_code, _last_line(result), result.as_dict(), as_json=as_json)


def _last_line(result: RunResult) -> str:
    """The totals of a good run; otherwise what went wrong and what to do."""
    if result.status is Status.CONFIG_ERROR:
        return f"error: the configuration cannot be used\n{result.message}"
    if result.status in (Status.USAGE_ERROR, Status.LEASED, Status.FAILED, Status.BLOCKED):
        return f"error: {result.message}"
    if result.status is Status.STOPPED:
        return f"{result.pipeline}: {result.message}"
    if result.status is Status.NOTHING_TO_DO:
        warnings = [plain(f"warning: {warning}") for warning in result.warnings]
        return "\n".join(
            [*warnings, f"{result.pipeline}: nothing to do: {result.message} ({result.seconds:.1f} s)"]
        )
    if not result.tables:  # a decision that changes no table
        return f"{result.pipeline}: ok: {result.message}"
    totals = result.totals
    numbers = [f"{totals.quarantined:,} quarantined"]
    numbers += [f"{totals.parked:,} parked"] * (totals.parked > 0)
    numbers += [f"{totals.went_on:,} no longer quarantined or parked"] * (totals.went_on > 0)
    numbers += [f"{totals.late_kept:,} late and not counted"] * (totals.late_kept > 0)
    numbers += [f"{totals.late_repaired:,} late and counted"] * (totals.late_repaired > 0)
    numbers += [f"{count(totals.files_unreadable, 'file')} unreadable"] * (totals.files_unreadable > 0)
    numbers += [f"{count(totals.ties, 'key')} with ties"] * (totals.ties > 0)
    rows = (
        f"{count(totals.records, 'record')} read, {count(totals.published, 'silver row')} published,"
        f" {', '.join(numbers)}"
    )
    return f"{result.pipeline}: ok: {rows}, {result.message} in {result.seconds:.1f} s"
