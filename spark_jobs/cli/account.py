"""`weir account`: what became of every row, summed over all batches of the ledger, and whether the sums balance."""

import json
from typing import Any

from rich.console import Console
from rich.table import Table

from spark_jobs.config.errors import ConfigError
from spark_jobs.config.graph import table_names
from spark_jobs.config.loading import load_project
from spark_jobs.config.pipeline import Pipeline
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.delta_log import table_version
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.landing.registrar import REFUSED, read_arrivals

REFUSED_SHOWN = 5
CLASSES = [name for name in Counts().as_dict() if name != "rows_in"]


def account_command(name: str, as_json: bool) -> int:
    from spark_jobs.cli.app import fail

    try:
        project = load_project(only=name)
    except ConfigError as error:
        return fail(str(error), 2)
    lake = Lake(project.lake, name)
    accounts = sum_up(project.pipelines[name], lake)
    refused = refused_files(project.pipelines[name], lake)
    if as_json:
        print(json.dumps({"pipeline": name, "lake": f"{project.lake}/{name}", "tables": accounts, "refused_files": refused}))
    elif not any(account["batches"] for account in accounts):
        print(f"{name}: no row has entered yet; `weir run {name}` takes in what has landed in {project.landing}")
    else:
        _print(accounts, f"{project.lake}/{name}", refused)
    return 1 if any(account["missing"] for account in accounts) else 0


def sum_up(pipeline: Pipeline, lake: Lake) -> list[dict[str, Any]]:
    """One entry per table: its counts, the rows corrected by late dimension rows, and the rows not accounted for."""
    batches = Ledger(lake).rows("batches")
    accounts = []
    for table in table_names(pipeline):
        mine = [row for row in batches if row["table"] == table]
        came = [_counts(row) for row in mine if not row["step"].startswith("reenrich")]
        counts = sum(came, Counts())
        corrected = sum(row["updated"] for row in mine if row["step"].startswith("reenrich"))
        missing = 0 if table.startswith("gold.") else counts.missing
        numbers = {**counts.as_dict(), "corrected": corrected, "missing": missing}
        accounts.append({"table": table, "version": table_version(lake.table(table)), "batches": len(mine), **numbers})
    return accounts


def refused_files(pipeline: Pipeline, lake: Lake) -> list[dict[str, str]]:
    """The landed files that were not taken, each with its reason."""
    found = (row for source in pipeline.sources for row in read_arrivals(lake.arrivals(source), ["path", "verdict", "reason"]))
    return [{"path": row["path"], "reason": row["reason"]} for row in found if row["verdict"] == REFUSED]


def _counts(row: dict[str, Any]) -> Counts:
    return Counts.of_row(row)


def _print(accounts: list[dict[str, Any]], folder: str, refused: list[dict[str, str]]) -> None:
    console = Console(highlight=False, width=None if Console().is_terminal else 140)
    shown = [name for name in (*CLASSES, "corrected") if any(account[name] for account in accounts)]
    table = Table(title="What became of every row", title_justify="left", box=None, pad_edge=False)
    table.add_column("table")
    for heading in ("rows in", *shown, "balance"):
        table.add_column(heading, justify="right")
    for account in accounts:
        is_gold = account["table"].startswith("gold.")
        balance = "" if is_gold else "ok" if account["missing"] == 0 else f"{account['missing']:+,} missing"
        numbers = (f"{account[name]:,}" if account[name] else "·" for name in ("rows_in", *shown))
        table.add_row(account["table"], *numbers, balance, style="bold red" if account["missing"] else None)
    console.print(table)
    console.print("rows in = inserted + updated + superseded + duplicate + quarantined + filtered")
    console.print("gold: the changed silver rows that came, and the rows written for them; bronze quarantines files that cannot be read")
    for file in refused[:REFUSED_SHOWN]:
        console.print(f"refused: {file['path']!r}: {file['reason']}", markup=False, soft_wrap=True)
    if len(refused) > REFUSED_SHOWN:
        console.print(f"and {len(refused) - REFUSED_SHOWN} more refused files: `weir account --json` names them all")
    console.print(f"tables: {folder}", markup=False, soft_wrap=True)
