"""`weir account`: what became of every row, as a table for a person or as one JSON object."""

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from spark_jobs.cli.ending import refuse, say_if_empty
from spark_jobs.config.errors import Refused
from spark_jobs.config.loading import load_project
from spark_jobs.config.table_name import TableName
from spark_jobs.config.text import count, plain
from spark_jobs.lake.counts import CLASSES
from spark_jobs.landing.skipped import UNREADABLE
from spark_jobs.report.account import account_of

NOT_TAKEN_SHOWN = 5


def account_command(name: str | None, as_json: bool) -> int:
    try:
        project = load_project(only=name)
    except Refused as error:
        return refuse(error, as_json=as_json, pipeline=name)
    say_if_empty(project)
    accounts = [account_of(project, pipeline) for pipeline in project.pipelines]
    if as_json:
        print(json.dumps(accounts[0] if name else {"pipelines": accounts}))
    else:
        for account in accounts:
            _print(account, project.landing)
    return 1 if any(table["missing"] for account in accounts for table in account["tables"]) else 0


def _print(account: dict[str, Any], landing: str) -> None:
    console = Console(highlight=False, width=None if Console().is_terminal else 160)
    tables, name = account["tables"], account["pipeline"]
    if not any(table["batches"] for table in tables):
        console.print(
            f"{name}: no row has entered yet; `weir run {name}` takes in what has landed in {landing}",
            markup=False,
            soft_wrap=True,
        )
        return
    _print_tables(console, name, tables)
    _print_sources(console, account)
    _print_files(console, name, account["files_not_taken"])
    _print_drift(console, name, account["drift"])
    for message in account["evidence"]:
        console.print(plain(f"evidence: {message}"), markup=False, soft_wrap=True, style="bold red")
    console.print(f"tables: {account['lake']}", markup=False, soft_wrap=True)


def _print_tables(console: Console, name: str, tables: list[dict[str, Any]]) -> None:
    shown = [
        number for number in (*CLASSES, "late", "corrected", "ties") if any(table[number] for table in tables)
    ]
    printed = Table(title=f"{name}: what became of every row", title_justify="left", box=None, pad_edge=False)
    printed.add_column("table")
    for heading in ("rows in", *shown, "balance"):
        printed.add_column(heading, justify="right")
    for table in tables:
        is_gold = TableName(table["table"]).is_gold
        balance = f"{table['missing']:+,} missing" if table["missing"] else "" if is_gold else "ok"
        numbers = (f"{table[number]:,}" if table[number] else "·" for number in ("rows_in", *shown))
        printed.add_row(table["table"], *numbers, balance, style="bold red" if table["missing"] else None)
    console.print(printed)
    if any(TableName(table["table"]).is_sink for table in tables):
        console.print(
            "sinks: the changes that came; superseded are those that another one of the same batch has"
            " overtaken"
        )
    console.print(f"rows in = {' + '.join(CLASSES)}")
    if any(table["ties"] for table in tables):
        console.print(
            "ties: keys of which several versions had the same sequence and different content; they are no"
            " rows"
        )
    if any(table["late"] for table in tables):
        console.print(
            "late: rows that came after a window of theirs was closed; they count in it, or with `late: keep`"
            " stand beside the table"
        )
    console.print(
        "gold: the changed silver rows that came, the rows written for them, the late ones; bronze"
        " quarantines files that cannot be read"
    )


def _print_sources(console: Console, account: dict[str, Any]) -> None:
    for source, partitions in account["offsets"].items():
        ranges = ", ".join(
            f"{path} from {first:,} to before {end:,}" for path, (first, end) in partitions.items()
        )
        console.print(plain(f"read of {source}: {ranges or 'nothing'}"), markup=False, soft_wrap=True)
    for source, verdicts in account["files"].items():
        if source in account["offsets"]:
            continue
        said = ", ".join(f"{number:,} {verdict}" for verdict, number in verdicts.items()) or "none"
        number = account["files_empty"].get(source)
        empty = f" ({number:,} of them without a byte)" if number else ""
        console.print(f"files of {source}: {said}{empty}", markup=False)


def _print_drift(console: Console, name: str, fields: list[str]) -> None:
    for field in fields[:NOT_TAKEN_SHOWN]:
        console.print(plain(f"drift: {field}"), markup=False, soft_wrap=True)
    if len(fields) > NOT_TAKEN_SHOWN:
        more = count(len(fields) - NOT_TAKEN_SHOWN, "more field")
        console.print(
            f"and {more} that came or went: `weir account {name} --json` names them all", soft_wrap=True
        )


def _print_files(console: Console, name: str, files: list[dict[str, str]]) -> None:
    """Landed files that brought no record, the unreadable ones first."""
    shown = sorted(files, key=lambda file: file["verdict"] != UNREADABLE)[:NOT_TAKEN_SHOWN]
    for file in shown:
        console.print(
            plain(f"{file['verdict']}: {file['path']!r}: {file['reason']}"), markup=False, soft_wrap=True
        )
    if len(files) > len(shown):
        more = count(len(files) - len(shown), "more file that was not read", "more files that were not read")
        console.print(
            f"and {more}: `weir quarantine list {name}` lists them, `weir account {name} --json` names"
            " them all",
            soft_wrap=True,
        )
