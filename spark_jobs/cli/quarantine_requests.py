"""`weir quarantine replay` and `discard`: rows go on to their table or are given up; of a bronze table,
landed files that were not taken are taken in or left out.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from spark_jobs.cli.ending import GOOD, end, result_alone
from spark_jobs.cli.loading import load_checked
from spark_jobs.cli.quarantine_list import selected_files
from spark_jobs.cli.run import check_profile_name, end_run, known_profile, until_stopped
from spark_jobs.cli.selecting import check_rules, check_table, make_selection, row_tables
from spark_jobs.cli.take import notes_about
from spark_jobs.cli.whoami import known_reason, whoami
from spark_jobs.config.errors import Refused, UsageError
from spark_jobs.config.loading import Project, load_project
from spark_jobs.config.sources import FileSource
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import LeaseHeld, LeaseLost, hold_lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.quarantine import count_rules
from spark_jobs.lake.selection import OPEN, Selection
from spark_jobs.landing.feed import Feed, make_feed
from spark_jobs.landing.skipped import NotDiscardable, check_discardable, discard_files
from spark_jobs.landing.taking import NotTakeable, prepare_file, take_prepared
from spark_jobs.run.decisions import apply_request, try_replay
from spark_jobs.run.order import QuarantineRequest
from spark_jobs.run.result import RunResult, Status

Filters = tuple[list[str] | None, list[str] | None, str | None, str | None]
"""--rule, --file, --since, --until as they were typed."""
NAMED = 5
NOTHING_TO_DO = 3


@dataclass(frozen=True)
class FilesRequest:
    """What a person wants done with the selected files of one source; tried only, where it is dry."""

    action: str
    reason: str = ""
    is_dry: bool = False

    @property
    def done(self) -> str:
        return {"replay": "taken in", "discard": "discarded"}[self.action]

    @property
    def next_step(self) -> str:
        return {
            "replay": "the next run reads what it takes in",
            "discard": "`weir take` still takes them in",
        }[self.action]


def replay_command(
    name: str, table: str, filters: Filters, is_dry: bool, profile: str | None, as_json: bool
) -> int:
    if TableName(table).is_bronze:
        return files_command(name, table, filters, FilesRequest("replay", is_dry=is_dry), profile, as_json)
    return _run(name, table, filters, "replay", "", is_dry, profile, as_json)


def discard_command(
    name: str, table: str, filters: Filters, reason: str, is_dry: bool, profile: str | None, as_json: bool
) -> int:
    if TableName(table).is_bronze:
        return files_command(name, table, filters, FilesRequest("discard", reason, is_dry), profile, as_json)
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
    with result_alone(as_json), until_stopped(name) as ended:
        project = load_checked(name)
        check_table(project.pipelines[name], table, row_tables(project.pipelines[name]))
        ended.result = _do(project, name, table, filters, action, reason, is_dry, profile)
    return end_run(ended.result, as_json)


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
    quarantine_request = QuarantineRequest(
        table, "replay" if action == "replay" else "discard", selection, whoami(), reason
    )
    if is_dry and action == "discard":
        rules = ", ".join(f"{count.rows:,} by {count.rule}" for count in count_rules(lake, table, selection))
        return RunResult(name, Status.OK, f"{table}: would be discarded: {rules}; this was a dry run")
    use = try_replay if is_dry else apply_request
    return use(project, name, known_profile(project, profile), quarantine_request)


# Landed files that were not taken: of a bronze table `weir quarantine replay` takes the selected ones in,
# `discard` leaves them out.


def files_command(
    name: str,
    table: str,
    filters: Filters,
    quarantine_request: FilesRequest,
    profile: str | None,
    as_json: bool,
) -> int:
    """Exit codes: 0, 2 for what cannot be taken in or discarded, 3 where no file is selected, 5 where another
    process has the pipeline.
    """
    files, chunk, code, status = list(filters[1] or ()), None, 0, "ok"
    try:
        project = load_project(only=name)
        check_profile_name(project, profile)
        source, files = (
            _source(project, name, table),
            _select(project, name, table, filters, quarantine_request),
        )
        if not files:
            code, status = NOTHING_TO_DO, "nothing_to_do"
            message = f"no file of {table} is selected; `weir quarantine list {name} {table}` names them"
        else:
            lake = Lake(project.lake, name)
            with hold_lease(lake.lease(), name, f"weir quarantine {quarantine_request.action}") as lease:
                feed = make_feed(
                    lake, project.landing, source, project.pipelines[name].sources[source], lease.check
                )
                chunk, notes = _do_files(project, feed, files, quarantine_request)
            message = "\n".join([_say(table, files, quarantine_request), *notes])
    except Refused as error:
        code, status, message = 2, error.status, error.said
    except (NotDiscardable, NotTakeable) as error:
        code, status, message = 2, UsageError.status, str(error)
    except (LeaseHeld, LeaseLost) as held:
        code, status, message = 5, "leased", str(held)
    result = {"pipeline": name, "table": table, "files": files, "status": status, "exit_code": code}
    result |= {"message": message, "chunk": chunk, "is_dry_run": quarantine_request.is_dry}
    return end(code, message if code in GOOD else f"error: {message}", result, as_json=as_json)


def _source(project: Project, name: str, table: str) -> str:
    pipeline = project.pipelines[name]
    check_table(pipeline, table, [f"bronze.{source}" for source in pipeline.sources])
    source = TableName(table).name
    if not isinstance(pipeline.sources[source], FileSource):
        place = pipeline.sources[source].place(project.landing)
        raise UsageError("TABLE", table, f"{source} reads no files but {place}", "no file of it is set aside")
    return source


def _select(
    project: Project, name: str, table: str, filters: Filters, quarantine_request: FilesRequest
) -> list[str]:
    """The paths that all options select, as `weir quarantine list` does. A path that is given alone is named
    whatever became of it: then it is said why it cannot be taken in or discarded.
    """
    selection = make_selection(*filters, OPEN)
    if selection == Selection():
        hint = f"add --file, --rule, --since or --until; `weir quarantine list {name} {table}` names them"
        raise UsageError("--file", "", "no file is named", hint)
    if quarantine_request.action == "discard":
        known_reason(quarantine_request.reason)
    found = [file.path for file in selected_files(project, name, table, selection)]
    is_by_file_alone = selection == Selection(files=selection.files)
    unmatched = [path for path in selection.files if not set(path) & set("*?") and path not in found]
    if unmatched and not is_by_file_alone:
        message = f"{unmatched[0]!r} is not among the files that --rule, --since and --until select"
        raise UsageError(
            "--file",
            unmatched[0],
            message,
            f"`weir quarantine list {name} {table}` names them with their rules",
        )
    return list(dict.fromkeys([*found, *unmatched]))


def _do_files(
    project: Project, feed: Feed, paths: Sequence[str], quarantine_request: FilesRequest
) -> tuple[int | None, list[str]]:
    """All or none of them: gives the last chunk, and what a person should know. Dry, everything is asked and
    nothing is written.
    """
    now = datetime.now(UTC)
    if quarantine_request.action == "discard":
        check_discardable(feed, paths)
        return None if quarantine_request.is_dry else discard_files(
            feed, paths, now, whoami(), quarantine_request.reason
        ), []
    consumed = Ledger(Lake(project.lake, feed.pipeline)).consumed_inputs().get(feed.table, {}).get("arrivals")
    prepared = [prepare_file(feed, path, whoami(), consumed) for path in paths]
    notes = [
        note for file in prepared for note in notes_about(file, project.pipelines[feed.pipeline], feed.name)
    ]
    return None if quarantine_request.is_dry else max(
        take_prepared(feed, file, now).chunk for file in prepared
    ), list(dict.fromkeys(notes))


def _say(table: str, files: Sequence[str], quarantine_request: FilesRequest) -> str:
    what = f"{count(len(files), 'file')} of {table}"
    named = ", ".join(map(repr, files[:NAMED])) + (
        f" and {len(files) - NAMED:,} more" if len(files) > NAMED else ""
    )
    if quarantine_request.is_dry:
        return f"{what} would be {quarantine_request.done}: {named}; this was a dry run"
    return f"{what} {quarantine_request.done}: {named}; {quarantine_request.next_step}"
