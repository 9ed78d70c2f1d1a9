"""`weir run`: the result as lines for a person, or as one JSON object on standard output."""

import json
import sys
from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from spark_jobs.cli.elsewhere import RunsElsewhere
from spark_jobs.cli.loading import load_checked
from spark_jobs.config.checks_profile import check_profile
from spark_jobs.config.errors import ConfigError, Problem, did_you_mean
from spark_jobs.config.lakehouse import Profile
from spark_jobs.config.loading import Project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.task_stages import LAYERS
from spark_jobs.config.text import plain, plain_lines
from spark_jobs.operations.metrics import samples_of
from spark_jobs.operations.status import status_of
from spark_jobs.operations.telemetry import exporter
from spark_jobs.run import stopping
from spark_jobs.run.pipeline import run_pipeline
from spark_jobs.run.result import RunResult, Status
from spark_jobs.run.stopping import say_stopped
from spark_jobs.run.trigger import AVAILABLE_NOW, Trigger, check_trigger
from spark_jobs.session.hosts import is_driver_in_cluster


def run_command(
    name: str, select: tuple[str, ...], layer: str | None, files_per_batch: int | None, profile: str | None, as_json: bool
) -> int:
    def run() -> RunResult:
        project = load_checked(name)
        check_trigger(project.pipelines[name], Trigger(AVAILABLE_NOW))
        chosen, wanted = known_profile(project, profile), _known_layer(project.pipelines[name], layer)
        with exporter(name) as export:
            result = run_pipeline(project, name, chosen, select, wanted, files_per_batch=files_per_batch)
            export(lambda: samples_of(status_of(project, name, datetime.now(UTC))))
        return result

    result = until_stopped(name, run)
    print_result(result, as_json)
    return result.exit_code


def until_stopped(name: str, run: Callable[[], RunResult]) -> RunResult:
    """What the command ends with: also where the configuration cannot be used, or where it was stopped before the work had begun."""
    with stopping.listening():
        try:
            return run()
        except ConfigError as error:
            return RunResult(name, Status.CONFIG_ERROR, str(error))
        except KeyboardInterrupt:
            return RunResult(name, Status.STOPPED, say_stopped(str(stopping.asked_by())))
        except SystemExit:  # of whatever was called: the command has no result, so it must not end as if it had one
            return RunResult(
                name, Status.FAILED, "the run was ended from within, by SystemExit; what is published stays: run again to go on"
            )


def known_profile(project: Project, profile: str | None) -> Profile:
    """The profile that the command is to use. RunsElsewhere where that has its driver in the cluster, and this is not that driver."""
    name = check_profile_name(project, profile)
    if problems := check_profile(project, name):
        raise ConfigError(problems)
    chosen = project.profiles[name]
    if chosen.deploy == "cluster" and not is_driver_in_cluster():
        raise RunsElsewhere(project, chosen)
    return chosen


def check_profile_name(project: Project, profile: str | None) -> str:
    """ConfigError where there is no such profile; without one it is the project's own."""
    name = profile or project.lakehouse.profile
    if name not in project.profiles:
        raise _unknown("conf/profiles", "profile", name, project.profiles)
    return name


def _known_layer(pipeline: Pipeline, layer: str | None) -> str | None:
    if layer is not None and layer not in LAYERS:
        raise _unknown(f"conf/pipelines/{pipeline.name}.yml", "layer", layer, LAYERS)
    return layer


def _unknown(file: str, what: str, value: str, allowed: Iterable[str]) -> ConfigError:
    return ConfigError([Problem(file, 1, f"--{what}", value, f"there is no {what} {value!r}", did_you_mean(value, allowed))])


def print_result(result: RunResult, as_json: bool) -> None:
    is_error = result.exit_code not in (0, 3)
    print(plain_lines(_last_line(result)), file=sys.stderr if as_json or is_error else sys.stdout)
    if as_json:
        print(json.dumps(result.as_dict()))


def _last_line(result: RunResult) -> str:
    """The totals of a good run; otherwise what went wrong and what to do."""
    if result.status is Status.CONFIG_ERROR:
        return f"error: the configuration cannot be used\n{result.message}"
    if result.status in (Status.LEASED, Status.FAILED, Status.BLOCKED):
        return f"error: {result.message}"
    if result.status is Status.STOPPED:
        return f"{result.pipeline}: {result.message}"
    if result.status is Status.NOTHING_TO_DO:
        warnings = [plain(f"warning: {warning}") for warning in result.warnings]
        return "\n".join([*warnings, f"{result.pipeline}: nothing to do: {result.message} ({result.seconds:.1f} s)"])
    read = sum(run.counts.inserted for run in result.tables if run.table.startswith("bronze."))
    published = sum(run.counts.published for run in result.tables if run.table.startswith("silver."))
    aside = {kind: sum(getattr(run.counts, kind) for run in result.tables) for kind in ("quarantined", "parked", "late", "ties")}
    numbers = [f"{aside['quarantined']:,} quarantined", *(f"{aside[kind]:+,} {kind}" for kind in ("parked", "late") if aside[kind])]
    numbers += [f"{aside['ties']:,} key{'' if aside['ties'] == 1 else 's'} with ties"] if aside["ties"] else []
    rows = f"{read:,} records read, {published:,} silver rows published, {', '.join(numbers)}"
    return f"{result.pipeline}: ok: {rows}, {result.message} in {result.seconds:.1f} s"
