"""runs.json, beside a pipeline's list of reports: the same lines for machines, such as the Airflow UI. No value of any row is in it."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from spark_jobs.report.facts import Outcome, Report, TableFact
from spark_jobs.report.index import RunLine

RUNS_FILE = "runs.json"


def render_runs(report: Report, lines: Sequence[RunLine]) -> str:
    """The runs that have a page, the newest first; what is in the tables and beside them is as of now."""
    whole = {
        "pipeline": report.pipeline,
        "made_at": report.made_at.isoformat(),
        "runs": [_run(line) for line in lines],
        "tables": [_table(table) for table in report.tables],
        "open_quarantine": sum(table.quarantine_open for table in report.tables),
        "parked": sum(table.parked_open for table in report.tables),
        "late": sum(table.late_open for table in report.tables),
    }
    return json.dumps(whole, indent=1) + "\n"


def read_newest(text: str) -> RunLine:
    """The first line of such a file. Raises ValueError, KeyError, TypeError or IndexError where it is of another version, or broken."""
    [first, *_] = json.loads(text)["runs"]
    started_at = datetime.fromisoformat(first["started_at"])
    known = {name: first[name] for name in ("run_id", "why", "origin", "seconds", "records", "published", "set_aside", "late", "not_met")}
    return RunLine(**known, name="", link="", outcome=Outcome(first["outcome"]), started_at=started_at)


def _run(line: RunLine) -> dict[str, Any]:
    plain = asdict(line)
    page = plain.pop("link")
    del plain["name"]
    return {**plain, "page": page, "started_at": line.started_at.isoformat()}


def _table(table: TableFact) -> dict[str, Any]:
    newest = table.newest if table.newest_of == "event" else None
    return {"table": table.name, "newest_event_at": _text(newest), "updated_at": _text(table.updated_at), "rows": table.rows}


def _text(at: datetime | None) -> str | None:
    return at.isoformat() if at else None
