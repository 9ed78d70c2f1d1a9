"""`weir quarantine list`: the rules that set rows aside, the rows of one table, and the files that were not
taken. `weir quarantine show`: quarantined rows with every reason and their record, for a person, a
program or a spreadsheet.
"""

import csv
import json
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from spark_jobs.cli.ending import fail, refuse
from spark_jobs.cli.quarantine import MOST
from spark_jobs.cli.selecting import check_rules, check_table, make_selection, row_tables
from spark_jobs.config.errors import Refused, UsageError
from spark_jobs.config.graph import table_names
from spark_jobs.config.loading import Project, load_project
from spark_jobs.config.sensitive import sensitive_paths
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count, plain, safe_cell
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import refuse_writes
from spark_jobs.lake.quarantine import RuleCount, count_rules
from spark_jobs.lake.selection import DISCARDED, OPEN, Selection
from spark_jobs.landing.feed import make_feed
from spark_jobs.landing.skipped import UNREADABLE, FileAside, files_set_aside
from spark_jobs.quality.masking import mask_problem
from spark_jobs.quality.quarantined import QuarantinedRow, describe_reason, read_quarantined

Options = tuple[list[str] | None, list[str] | None, str | None, str | None, str]
"""--rule, --file, --since, --until, --state as they were typed."""
LINE_LENGTH = 400
CELL_LENGTH = 80


def list_command(name: str, table: str | None, options: Options, limit: int, as_json: bool) -> int:
    try:
        project = load_project(only=name)
        pipeline, lake = project.pipelines[name], Lake(project.lake, name)
        selection = make_selection(*options)
        tables = row_tables(pipeline)
        if table is not None:
            check_table(
                pipeline, table, [known for known in table_names(pipeline) if not TableName(known).is_gold]
            )
        if table in tables:
            rows, total = read_quarantined(pipeline, lake, table, selection, limit)
            if not total:
                check_rules(lake, [table], selection)
            return _tell_rows(name, table, rows, total, as_json)
        counts = (
            [found for known in tables for found in count_rules(lake, known, selection)]
            if table is None
            else []
        )
        files = list(selected_files(project, name, table, selection))
        if not counts and not files and table is None:
            check_rules(lake, tables, selection)
    except Refused as error:
        return refuse(error, as_json=as_json, pipeline=name)
    return _tell_summary(name, counts, files, limit, as_json)


def headline(table: str, total: int) -> str:
    if not total:
        return f"{table}: nothing is quarantined here"
    return f"{table}: {count(total, 'quarantined row')}{', the newest first' if total > 1 else ''}"


def selected_files(
    project: Project, name: str, table: str | None, selection: Selection
) -> Iterable[FileAside]:
    """The selected files of all sources, or of one. Their rule is why they were not taken, their day the one
    of that decision.
    """
    pipeline, lake = project.pipelines[name], Lake(project.lake, name)
    for source, definition in pipeline.sources.items():
        if table in (None, f"bronze.{source}"):
            for file in files_set_aside(make_feed(lake, project.landing, source, definition, refuse_writes)):
                state = OPEN if file.is_open else DISCARDED
                is_in_time = selection.covers(file.arrived_at)
                if (
                    state in selection.states
                    and selection.matches_file(file.path)
                    and selection.matches_rule(file.verdict)
                    and is_in_time
                ):
                    yield (
                        file
                        if file.verdict != UNREADABLE
                        else _masked(file, bool(sensitive_paths(pipeline, source)))
                    )


def _tell_rows(name: str, table: str, rows: tuple[QuarantinedRow, ...], total: int, as_json: bool) -> int:
    if as_json:
        print(
            json.dumps(
                {"pipeline": name, "table": table, "total": total, "rows": [row.as_dict() for row in rows]}
            )
        )
        return 0
    print(headline(table, total))
    for row in rows:
        line = f"{row.first_seen_at:%Y-%m-%d %H:%M:%S}  {row.state:<9}  {row.place}  {row.describe()}"
        print(f"  {plain(line, LINE_LENGTH)}")
    _tell_more(total - len(rows), "more row")
    if rows:
        print(f"with their records: `weir quarantine show {name} {table}`")
    return 0


def _tell_summary(
    name: str, counts: list[RuleCount], files: list[FileAside], limit: int, as_json: bool
) -> int:
    if as_json:
        print(
            json.dumps(
                {"pipeline": name, "rules": list(map(_as_dict, counts)), "files": list(map(_as_dict, files))}
            )
        )
        return 0
    if not counts and not files:
        print(f"{name}: nothing is quarantined here")
    if counts:
        _print_counts(name, counts)
    for file in files[:limit]:
        print(plain(f"file {file.verdict}: {file.path!r}: {file.reason}"))
        if f"`{file.command}`" not in file.reason:
            when = ", once a good copy is in its place" if file.verdict == UNREADABLE else ""
            print(plain(f"  take it in{when}: {file.command}"))
    _tell_more(len(files) - limit, "more file")
    return 0


def _print_counts(name: str, counts: list[RuleCount]) -> None:
    console = Console(highlight=False, width=None if Console().is_terminal else 200)
    printed = Table(title=f"{name}: quarantined rows by rule", title_justify="left", box=None, pad_edge=False)
    for heading in ("table", "rule", "rows", "state", "first seen", "newest", "example file"):
        printed.add_column(heading, justify="right" if heading == "rows" else "left", overflow="fold")
    for found in counts:
        times = (f"{at:%Y-%m-%d %H:%M}" for at in (found.first_seen_at, found.newest_at))
        rule, file = (plain(text, CELL_LENGTH) for text in (found.rule, found.example_file))
        cells = (found.table, rule, f"{found.rows:,}", plain(found.state), *times, file)
        printed.add_row(*map(Text, cells))
    console.print(printed)
    console.print("a row with several reasons counts for each of their rules")
    console.print(
        f"the rows of one table: `weir quarantine list {name} {counts[0].table}`",
        markup=False,
        soft_wrap=True,
    )


def _tell_more(more: int, what: str) -> None:
    if more > 0:
        print(f"and {count(more, what)}: `--limit` shows more of them, `--json` gives them to programs")


def _masked(file: FileAside, is_sensitive: bool) -> FileAside:
    return replace(file, reason=mask_problem(file.reason, {()} if is_sensitive else ()))


def _as_dict(entry: RuleCount | FileAside) -> dict[str, Any]:
    return {
        key: value.isoformat() if hasattr(value, "isoformat") else value for key, value in vars(entry).items()
    }


# `weir quarantine show`: quarantined rows with every reason and their record, for a person, a program or a
# spreadsheet.


SHOWN = 20
RECORD_LENGTH = 2_000
CELLS = (
    "table",
    "file",
    "line",
    "element",
    "state",
    "attempts",
    "first_seen_at",
    "set_aside_at",
    "rules",
    "reasons",
    "record",
)


def show_command(
    name: str, table: str, options: Options, limit: int | None, as_json: bool, csv_file: Path | None
) -> int:
    try:
        if as_json and csv_file:
            raise UsageError(
                "--csv", str(csv_file), "--json is incompatible with --csv", "choose one of the two"
            )
        project = load_project(only=name)
        pipeline, lake = project.pipelines[name], Lake(project.lake, name)
        selection = make_selection(*options)
        check_table(pipeline, table, row_tables(pipeline))
        rows, total = read_quarantined(
            pipeline, lake, table, selection, limit or (MOST if csv_file else SHOWN)
        )
        if not total:
            check_rules(lake, [table], selection)
    except Refused as error:
        return refuse(error, as_json=as_json, pipeline=name)
    if as_json:
        print(
            json.dumps(
                {"pipeline": name, "table": table, "total": total, "rows": [row.as_dict() for row in rows]}
            )
        )
        return 0
    if csv_file:
        try:
            write_csv(csv_file, rows)
        except OSError as error:
            return fail(f"--csv: {str(csv_file)!r} cannot be written: {error.strerror or error}", 2)
        print(plain(f"{len(rows):,} of {count(total, 'row is', 'rows are')} in {csv_file}"))
        return 0
    _print(table, rows, total)
    return 0


def write_csv(file: Path, rows: Iterable[QuarantinedRow]) -> None:
    """Every cell is quoted and on one line, none is a formula; with the mark by which spreadsheets know
    UTF-8.
    """
    with open(file, "w", encoding="utf-8-sig", newline="") as out:
        writer = csv.writer(out, quoting=csv.QUOTE_ALL)
        writer.writerow(CELLS)
        for row in rows:
            cells = row.as_dict() | {"reasons": row.describe()}
            writer.writerow(safe_cell(cells[name]) for name in CELLS)


def _print(table: str, rows: tuple[QuarantinedRow, ...], total: int) -> None:
    print(headline(table, total))
    for row in rows:
        attempts = f", replayed {count(row.attempts, 'time')} in vain" if row.attempts else ""
        rules = f", judged by rules {row.rules}" if row.rules else ""
        print(plain(row.place, LINE_LENGTH))
        print(plain(f"  {row.state}, first seen {row.first_seen_at:%Y-%m-%d %H:%M:%S}{attempts}{rules}"))
        print("\n".join(plain(f"  {describe_reason(reason)}", LINE_LENGTH) for reason in row.reasons))
        print(
            f"  {plain(row.record, RECORD_LENGTH)}"
            if row.record is not None
            else "  (its record is not kept)"
        )
    if total > len(rows):
        print(
            f"and {count(total - len(rows), 'more row')}: `--limit` shows more of them, `--csv` writes them"
            " to a file"
        )
