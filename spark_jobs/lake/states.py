"""How each table ended in each run: the ledger's table `states`, one row per run and table, written when the
run ends.

The report, the list of runs, `weir status` and the terminal read it: nobody guesses a state again. A run that
was killed could not write its rows: the next start does, from what the ledger has of it (`derive_states`). So
are runs of earlier versions read, which wrote none.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from spark_jobs.lake.blocked import Grounds, allowed_actions
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.sequence import read_ordered

DONE, UP_TO_DATE, BLOCKED, FAILED, STOPPED, KILLED, NOT_REACHED = (
    "done", "up_to_date", "blocked", "failed", "stopped", "killed", "not_reached",
)  # fmt: skip
OPEN = (BLOCKED, FAILED, STOPPED, KILLED, NOT_REACHED)
"""The table is not up to date, and a run should come back to it."""
STATES = "states"
COLUMNS = [
    "run_id",
    "table",
    "generation",
    "ended_at",
    "state",
    "error",
    "seconds",
    "actions",
    "seen",
    "late_kept",
    "alarms",
]


@dataclass(frozen=True)
class TableEnd:
    """One table in one run. `actions` are what may be decided about a blocked batch, `seen` what the decision
    is about. `late_kept`: rows that came too late and do not count there; None where that is not known.
    `alarms`: sentences about shares of rows that nobody should miss.
    """

    run_id: str
    table: str
    generation: int | None
    state: str
    error: str | None = None
    seconds: float | None = None
    actions: tuple[str, ...] = ()
    seen: str | None = None
    late_kept: int | None = None
    alarms: tuple[str, ...] = ()


def write_states(ledger: Ledger, ends: Iterable[TableEnd], at: datetime) -> None:
    """Write how the tables of a run ended, in one commit."""
    rows = [
        {**asdict(end), "ended_at": at, "actions": json.dumps(end.actions), "alarms": json.dumps(end.alarms)}
        for end in ends
    ]
    if rows:
        ledger.append(STATES, rows)


def read_states(lake: Lake, run_ids: Collection[str]) -> dict[str, dict[str, TableEnd]]:
    """Per run the tables that it has a row of, the newest row of each."""
    found: dict[str, dict[str, TableEnd]] = defaultdict(dict)
    for row in read_ordered(lake, STATES, COLUMNS, {"run_id": run_ids}):
        found[row["run_id"]][row["table"]] = _end(row)
    return found


def newest_states(ledger: Ledger) -> dict[str, TableEnd]:
    """The last row about each table."""
    return {row["table"]: _end(row) for row in ledger.newest(STATES)}


def derive_states(
    run_id: str,
    status: str | None,
    batches: Iterable[Mapping[str, Any]],
    ended: Iterable[str],
    gates: Iterable[Mapping[str, Any]],
) -> dict[str, TableEnd]:
    """The states of a run that wrote none, from its other rows in the ledger: `ended` are tables that it
    brought up to date, `status` is how it ended. A table that failed before its first batch has left no
    trace.
    """
    cut = {"ok": DONE, "stopped": STOPPED, "killed": KILLED, None: KILLED}.get(status, FAILED)
    found = {row["table"]: TableEnd(run_id, row["table"], row["generation"], cut) for row in batches}
    last = {row["table"]: row for row in gates}
    for table, row in last.items():
        if row["verdict"] == BLOCKED:
            grounds = Grounds.of_json(row.get("grounds"))
            actions = allowed_actions(table, row.get("step") or "")
            seen = grounds.id if grounds else None
            found[table] = TableEnd(run_id, table, row.get("generation"), BLOCKED, actions=actions, seen=seen)
    for table in ended:
        generation = found[table].generation if table in found else None
        found[table] = TableEnd(run_id, table, generation, DONE)
    return found


def _end(row: Mapping[str, Any]) -> TableEnd:
    actions, alarms = (tuple(json.loads(row.get(name) or "[]")) for name in ("actions", "alarms"))
    return TableEnd(
        run_id=row["run_id"],
        table=row["table"],
        generation=row.get("generation"),
        state=row["state"],
        error=row.get("error"),
        seconds=row.get("seconds"),
        actions=actions,
        seen=row.get("seen"),
        late_kept=row.get("late_kept"),
        alarms=alarms,
    )
