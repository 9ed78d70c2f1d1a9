"""`weir quarantine show`: quarantined rows with every reason and their record, for a person, a program or a
spreadsheet.
"""

import csv
import json
from collections.abc import Iterable
from pathlib import Path

from spark_jobs.cli.ending import fail, refuse
from spark_jobs.cli.quarantine import MOST
from spark_jobs.cli.quarantine_list import LINE_LENGTH, Options, headline
from spark_jobs.cli.selecting import check_rules, check_table, make_selection, row_tables
from spark_jobs.config.errors import Refused, UsageError
from spark_jobs.config.loading import load_project
from spark_jobs.config.text import count, plain, safe_cell
from spark_jobs.lake.layout import Lake
from spark_jobs.quality.quarantined import QuarantinedRow, describe_reason, read_quarantined

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
