"""The gates of a run: batches that did not simply pass, and what people decided about them."""

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from spark_jobs.lake.grounds import Grounds
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.sequence import read_ordered
from spark_jobs.report.facts import DecisionFact, GateFact
from spark_jobs.report.figures import cut

BATCH = ["run_id", "table", "step", "generation", "batch"]
GATE = [*BATCH, "judged_at", "verdict", "rows", "failed", "grounds"]
PASSED = "passed"
REASON_LENGTH = 500


def collect_decisions(lake: Lake, run_id: str, gates: Sequence[Mapping[str, Any]]) -> tuple[DecisionFact, ...]:
    """Every decision about the batches of this run that did not simply pass, also one that was taken later."""
    return _decisions(lake, run_id, {_batch_id(row) for row in gates if row["verdict"] != PASSED})


def _decisions(lake: Lake, run_id: str, batches: Collection[tuple[Any, ...]]) -> tuple[DecisionFact, ...]:
    rows = read_ordered(lake, "decisions", [*BATCH, "decided_at", "action", "decided_by", "reason"])
    mine = [row for row in rows if row["run_id"] == run_id or _batch_id(row) in batches]
    return tuple(
        DecisionFact(
            row["table"],
            row["batch"],
            row["action"],
            cut(row["decided_by"] or ""),
            cut(row["reason"] or "", REASON_LENGTH),
            row["decided_at"],
        )
        for row in mine
    )


def gate_of(row: Mapping[str, Any]) -> GateFact:
    failed = tuple(cut(name) for name in json.loads(row["failed"] or "[]"))
    grounds = Grounds.of_json(row.get("grounds"))
    seen = grounds.id if grounds else None
    return GateFact(row["table"], row["batch"], row["verdict"], row["rows"] or 0, failed, row["judged_at"], seen)


def _batch_id(row: Mapping[str, Any]) -> tuple[Any, ...]:
    return tuple(row[name] for name in BATCH[1:])
