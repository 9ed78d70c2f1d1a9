"""`weir account`: what became of every row, summed over all batches of the ledger, and whether the sums balance."""

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from spark_jobs.config.errors import ConfigError
from spark_jobs.config.graph import table_names
from spark_jobs.config.loading import Project, load_project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.config.text import plain
from spark_jobs.lake.counts import CLASSES, Counts
from spark_jobs.lake.delta_log import count_rows, table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.registrar import files_not_taken, read_arrivals

NOT_TAKEN_SHOWN = 5
REENRICH = "reenrich"


def account_command(name: str | None, as_json: bool) -> int:
    from spark_jobs.cli.app import fail

    try:
        project = load_project(only=name)
    except ConfigError as error:
        return fail(str(error), 2)
    accounts = [account_of(project, pipeline) for pipeline in project.pipelines]
    if as_json:
        print(json.dumps(accounts[0] if name else {"pipelines": accounts}))
    else:
        for account in accounts:
            _print(account, project.landing)
    return 1 if any(table["missing"] for account in accounts for table in account["tables"]) else 0


def account_of(project: Project, name: str) -> dict[str, Any]:
    """The tables of one pipeline, and its files that were not taken."""
    lake = Lake(project.lake, name)
    pipeline = project.pipelines[name]
    return {
        "pipeline": name,
        "lake": f"{project.lake}/{name}",
        "tables": sum_up(pipeline, lake),
        "files": count_files(pipeline, lake),
        "files_not_taken": [
            {"path": path, "reason": reason} for source in pipeline.sources for path, reason in files_not_taken(lake.arrivals(source))
        ],
        "drift": [f"{row['source']}: {row['field']!r} {row['kind']} in {row['file']!r}" for row in Ledger(lake).rows("drift")],
        "evidence": [row["message"] for row in Ledger(lake).rows("evidence", ["message"])],
    }


def sum_up(pipeline: Pipeline, lake: Lake) -> list[dict[str, Any]]:
    """One entry per table: its counts, the rows corrected by late dimension rows, and the rows not accounted for.

    Missing are rows that entered and are in no class, and those that the ledger has but neither the table nor what was set aside from it.
    """
    ledger = Ledger(lake)
    definitions, accounts = ledger.live_definitions(), []
    for table in table_names(pipeline):
        mine = ledger.batches(table, definitions[table].generation) if table in definitions else []
        counts = sum((Counts.of_row(row) for row in mine if not row["step"].startswith(REENRICH)), Counts())
        corrected = sum(row["updated"] for row in mine if row["step"].startswith(REENRICH))
        numbers = {**counts.as_dict(), "corrected": corrected, "missing": _missing(table, counts, lake)}
        accounts.append({"table": table, "version": table_version(lake.table(table)), "batches": len(mine), **numbers})
    return accounts


def count_files(pipeline: Pipeline, lake: Lake) -> dict[str, dict[str, int]]:
    """Per source, the landed files by what was decided about them."""
    found: dict[str, dict[str, int]] = {}
    for source in pipeline.sources:
        verdicts = [row["verdict"] for row in read_arrivals(lake.arrivals(source), ["verdict"])]
        found[source] = {verdict: verdicts.count(verdict) for verdict in sorted(set(verdicts))}
    return found


def _missing(table: str, counts: Counts, lake: Lake) -> int:
    if table.startswith("gold."):
        return 0
    sides = {} if table.startswith("bronze.") else {f"quarantine.{table}": counts.quarantined, f"parked.{table}": counts.parked}
    gaps = [number - count_rows(lake.table(place)) for place, number in {table: counts.grown, **sides}.items()]
    return counts.missing or next((gap for gap in gaps if gap), 0)


def _print(account: dict[str, Any], landing: str) -> None:
    console = Console(highlight=False, width=None if Console().is_terminal else 160)
    tables, name = account["tables"], account["pipeline"]
    if not any(table["batches"] for table in tables):
        console.print(
            f"{name}: no row has entered yet; `weir run {name}` takes in what has landed in {landing}", markup=False, soft_wrap=True
        )
        return
    shown = [number for number in (*CLASSES, "late", "corrected") if any(table[number] for table in tables)]
    printed = Table(title=f"{name}: what became of every row", title_justify="left", box=None, pad_edge=False)
    printed.add_column("table")
    for heading in ("rows in", *shown, "balance"):
        printed.add_column(heading, justify="right")
    for table in tables:
        is_gold = table["table"].startswith("gold.")
        balance = f"{table['missing']:+,} missing" if table["missing"] else "" if is_gold else "ok"
        numbers = (f"{table[number]:,}" if table[number] else "·" for number in ("rows_in", *shown))
        printed.add_row(table["table"], *numbers, balance, style="bold red" if table["missing"] else None)
    console.print(printed)
    console.print(f"rows in = {' + '.join(CLASSES)}")
    console.print(
        "gold: the changed silver rows that came, the rows written for them, the late ones; bronze quarantines files that cannot be read"
    )
    for source, verdicts in account["files"].items():
        console.print(
            f"files of {source}: {', '.join(f'{count:,} {verdict}' for verdict, count in verdicts.items()) or 'none'}", markup=False
        )
    _print_files(console, account["files_not_taken"])
    for drift in account["drift"][:NOT_TAKEN_SHOWN]:
        console.print(plain(f"drift: {drift}"), markup=False, soft_wrap=True)
    for message in account["evidence"]:
        console.print(plain(f"evidence: {message}"), markup=False, soft_wrap=True, style="bold red")
    console.print(f"tables: {account['lake']}", markup=False, soft_wrap=True)


def _print_files(console: Console, files: list[dict[str, str]]) -> None:
    for file in files[:NOT_TAKEN_SHOWN]:
        console.print(plain(f"not taken: {file['path']!r}: {file['reason']}"), markup=False, soft_wrap=True)
    if len(files) > NOT_TAKEN_SHOWN:
        console.print(f"and {len(files) - NOT_TAKEN_SHOWN} more files that were not taken: `weir account --json` names them all")
