"""The runs of a pipeline as the ledger has them: a row when one starts and one when it ends."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import holder_of
from spark_jobs.lake.sequence import read_ordered
from spark_jobs.lake.states import KILLED
from spark_jobs.report.facts import Run
from spark_jobs.report.text import cut

RUN_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")
"""What a run's id looks like. It names files and is part of links, so nothing else is taken for one."""
REBUILD = "rebuild "
RUNNING = "running"
MESSAGE_LENGTH = 1_000
COLUMNS = ["run_id", "at", "event", "status", "host", "pid", "message", "origin", "seconds"]


def run_ids(lake: Lake) -> list[str]:
    """Every run of the ledger, the newest last."""
    known = dict.fromkeys(row["run_id"] or "" for row in read_ordered(lake, "runs", ["run_id"]))
    return [run_id for run_id in known if RUN_ID.fullmatch(run_id)]


def read_runs(lake: Lake, wanted: Collection[str]) -> list[Run]:
    """These runs, in the order in which they began."""
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in read_ordered(lake, "runs", COLUMNS, {"run_id": wanted}):
        rows.setdefault(row["run_id"], []).append(row)
    return [_run(lake, run_id, known) for run_id, known in rows.items()]


def _run(lake: Lake, run_id: str, known: Sequence[Mapping[str, Any]]) -> Run:
    first, ended = known[0], next((row for row in reversed(known) if row["event"].endswith("ended")), None)
    return Run(
        run_id=run_id,
        kind="rebuild" if first["event"].startswith(REBUILD) else "run",
        status=(ended["status"] or KILLED) if ended else _status_without_end(lake, first),
        message=cut(((ended or first)["message"] or "").partition("\n")[0], MESSAGE_LENGTH),
        host=cut(first["host"] or ""),
        pid=first["pid"],
        started_at=first["at"],
        ended_at=ended["at"] if ended else None,
        origin=next((row["origin"] for row in known if row["origin"]), None),
        took=ended["seconds"] if ended else None,
    )


def _status_without_end(lake: Lake, started: Mapping[str, Any]) -> str:
    """A run is at work while its process has the lease."""
    holder = holder_of(lake.lease()) or {}
    is_at_work = bool(holder) and (holder.get("host"), holder.get("pid")) == (
        started["host"],
        str(started["pid"]),
    )
    return RUNNING if is_at_work else KILLED
