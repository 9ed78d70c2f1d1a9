"""`weir quarantine replay` and `discard`: rows go on to their table or are given up; of a bronze table, files are taken in or left out."""

from collections.abc import Sequence

from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.quarantine_files import discard_files_command
from spark_jobs.cli.run import known_profile, print_result
from spark_jobs.cli.selecting import check_rules, check_table, make_selection, row_tables
from spark_jobs.cli.take import take_command
from spark_jobs.cli.whoami import whoami
from spark_jobs.config.errors import ConfigError, Problem
from spark_jobs.config.loading import Project
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.quarantine import count_rules
from spark_jobs.lake.selection import OPEN, Selection
from spark_jobs.run.order import Errand
from spark_jobs.run.replaying import do_errand, try_replay
from spark_jobs.run.result import RunResult, Status

Filters = tuple[list[str] | None, list[str] | None, str | None, str | None]
"""--rule, --file, --since, --until as they were typed."""


def replay_command(name: str, table: str, filters: Filters, is_dry: bool, profile: str | None, as_json: bool) -> int:
    if table.startswith("bronze."):
        return _take_files(name, table, filters[1] or (), as_json)
    return _run(name, table, filters, "replay", "", is_dry, profile, as_json)


def discard_command(name: str, table: str, filters: Filters, reason: str, is_dry: bool, profile: str | None, as_json: bool) -> int:
    if table.startswith("bronze."):
        return discard_files_command(name, table, filters[1] or (), reason, as_json)
    return _run(name, table, filters, "discard", reason, is_dry, profile, as_json)


def _take_files(name: str, table: str, paths: Sequence[str], as_json: bool) -> int:
    """Of a bronze table files are set aside: each is named, and taken in by the next run."""
    from spark_jobs.cli.app import fail

    if not paths:
        return fail(f"name the files with --file; `weir quarantine list {name} {table}` shows them", 2)
    return max(take_command(name, table.partition(".")[2], path, as_json) for path in paths)


def _run(name: str, table: str, filters: Filters, action: str, reason: str, is_dry: bool, profile: str | None, as_json: bool) -> int:
    try:
        project = load_checked(name)
        check_table(project.pipelines[name], table, row_tables(project.pipelines[name]))
        result = _do(project, name, table, filters, action, reason, is_dry, profile)
    except ConfigError as error:
        result = RunResult(name, Status.CONFIG_ERROR, str(error))
    print_result(result, as_json)
    return result.exit_code


def _do(
    project: Project, name: str, table: str, filters: Filters, action: str, reason: str, is_dry: bool, profile: str | None
) -> RunResult:
    pipeline, lake = project.pipelines[name], Lake(project.lake, name)
    selection = make_selection(pipeline, *filters, OPEN)
    if action == "discard" and selection == Selection():
        message = "nothing says which rows are to be discarded"
        raise ConfigError([Problem(f"conf/pipelines/{name}.yml", 1, "discard", table, message, "add --rule, --file, --since or --until")])
    if not count_rules(lake, table, selection):
        check_rules(pipeline, lake, [table], selection)
        return RunResult(name, Status.NOTHING_TO_DO, f"no open row in the quarantine of {table} is selected")
    errand = Errand(table, "replay" if action == "replay" else "discard", selection, whoami(), reason)
    if is_dry and action == "discard":
        rules = ", ".join(f"{count.rows:,} by {count.rule}" for count in count_rules(lake, table, selection))
        return RunResult(name, Status.OK, f"{table}: would be discarded: {rules}; this was a dry run")
    use = try_replay if is_dry else do_errand
    return use(project, name, known_profile(project, profile), errand)
