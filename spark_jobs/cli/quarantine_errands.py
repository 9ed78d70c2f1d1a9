"""`weir quarantine replay` and `discard`: rows go on to their table or are given up; of a bronze table, files
are taken in or left out.
"""

from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.quarantine_files import FilesErrand, Filters, files_command
from spark_jobs.cli.result_alone import result_alone
from spark_jobs.cli.run import known_profile, print_result, until_stopped
from spark_jobs.cli.selecting import check_rules, check_table, make_selection, row_tables
from spark_jobs.cli.whoami import known_reason, whoami
from spark_jobs.config.errors import UsageError
from spark_jobs.config.loading import Project
from spark_jobs.config.table_name import TableName
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.quarantine import count_rules
from spark_jobs.lake.selection import OPEN, Selection
from spark_jobs.run.decisions import do_errand, try_replay
from spark_jobs.run.order import Errand
from spark_jobs.run.result import RunResult, Status


def replay_command(
    name: str, table: str, filters: Filters, is_dry: bool, profile: str | None, as_json: bool
) -> int:
    if TableName(table).is_bronze:
        return files_command(name, table, filters, FilesErrand("replay", is_dry=is_dry), profile, as_json)
    return _run(name, table, filters, "replay", "", is_dry, profile, as_json)


def discard_command(
    name: str, table: str, filters: Filters, reason: str, is_dry: bool, profile: str | None, as_json: bool
) -> int:
    if TableName(table).is_bronze:
        return files_command(name, table, filters, FilesErrand("discard", reason, is_dry), profile, as_json)
    return _run(name, table, filters, "discard", reason, is_dry, profile, as_json)


def _run(
    name: str,
    table: str,
    filters: Filters,
    action: str,
    reason: str,
    is_dry: bool,
    profile: str | None,
    as_json: bool,
) -> int:
    def run() -> RunResult:
        project = load_checked(name)
        check_table(project.pipelines[name], table, row_tables(project.pipelines[name]))
        return _do(project, name, table, filters, action, reason, is_dry, profile)

    with result_alone(as_json):
        result = until_stopped(name, run)
    print_result(result, as_json)
    return result.exit_code


def _do(
    project: Project,
    name: str,
    table: str,
    filters: Filters,
    action: str,
    reason: str,
    is_dry: bool,
    profile: str | None,
) -> RunResult:
    lake = Lake(project.lake, name)
    selection = make_selection(*filters, OPEN)
    if action == "discard" and selection == Selection():
        message = "nothing says which rows are to be discarded"
        raise UsageError("discard", table, message, "add --rule, --file, --since or --until")
    if action == "discard":
        known_reason(reason)
    if not count_rules(lake, table, selection):
        check_rules(lake, [table], selection)
        return RunResult(name, Status.NOTHING_TO_DO, f"no open row in the quarantine of {table} is selected")
    errand = Errand(table, "replay" if action == "replay" else "discard", selection, whoami(), reason)
    if is_dry and action == "discard":
        rules = ", ".join(f"{count.rows:,} by {count.rule}" for count in count_rules(lake, table, selection))
        return RunResult(name, Status.OK, f"{table}: would be discarded: {rules}; this was a dry run")
    use = try_replay if is_dry else do_errand
    return use(project, name, known_profile(project, profile), errand)
