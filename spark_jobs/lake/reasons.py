"""Why rows were set aside: counts by reason, and some of the rows, from a quarantine or parked table of any
size. No JVM.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.lake.delta_log import count_rows
from spark_jobs.lake.scan import Wanted, column_names, count_where, scan

OPEN = "open"
REASONS_KEPT = 1_000
"""Rules and columns are few. Should values ever come to stand there, the count must not grow with them."""
ROWS_LOOKED_AT = 50_000
Reason = tuple[str, str]
"""A rule's name and the column that it looked at; empty where it looks at no single one."""


@dataclass(frozen=True)
class SetAsideRow:
    """One reason of one row, and where the row came from."""

    file: str
    line: int
    element: int
    value: str | None


def count_open(path: str) -> int:
    """The rows that still stand there for a person to decide; tables without a state hold only such rows."""
    return count_where(path, {"state": [OPEN, None]}) if "state" in column_names(path) else count_rows(path)


def count_reasons(path: str, run_ids: Collection[str] | None = None) -> Counter[Reason]:
    """How many open rows each reason holds back; a row with several reasons counts for each. Only of these
    runs, where they are given.
    """
    found: Counter[Reason] = Counter()
    for batch in scan(path, ["reasons"], _wanted(run_ids)):
        reasons = pc.list_flatten(batch.column(0))
        if not len(reasons):
            continue
        pairs = pa.table(
            {"rule": pc.struct_field(reasons, "rule"), "column": pc.struct_field(reasons, "column")}
        )
        for row in pairs.group_by(["rule", "column"]).aggregate([([], "count_all")]).to_pylist():
            reason = (row["rule"] or "", row["column"] or "")
            if reason in found or len(found) < REASONS_KEPT:
                found[reason] += row["count_all"]
    return found


def count_replayed_in_vain(path: str, run_id: str) -> tuple[int, Counter[str]]:
    """The rows that a run has replayed and that stay in quarantine, and how many of them each rule keeps
    there.
    """
    rows, by_rule = 0, Counter[str]()
    for batch in scan(path, ["reasons", "attempts"], _wanted([run_id])):
        again = (
            batch.filter(pc.greater(pc.fill_null(batch.column("attempts"), 0), 0))
            if "attempts" in batch.schema.names
            else batch[:0]
        )
        rows += again.num_rows
        for reasons in again.column("reasons").to_pylist():
            by_rule.update({reason["rule"] or "" for reason in reasons or ()})
    return rows, by_rule


def sample_rows(
    path: str, reasons: Collection[Reason], each: int, run_ids: Collection[str] | None = None
) -> dict[Reason, list[SetAsideRow]]:
    """Some open rows for each of these reasons, among the first that are read."""
    found: dict[Reason, list[SetAsideRow]] = defaultdict(list)
    missing = set(reasons)
    for reason, row in _reasons_of_rows(path, _wanted(run_ids)):
        if reason in missing:
            found[reason].append(row)
            if len(found[reason]) == each:
                missing.remove(reason)
        if not missing:
            break
    return dict(found)


def _reasons_of_rows(path: str, wanted: Wanted) -> Iterator[tuple[Reason, SetAsideRow]]:
    looked_at = 0
    for batch in scan(path, ["reasons", "file", "line", "element"], wanted):
        for row in batch.to_pylist():
            for reason in row["reasons"] or []:
                yield (reason["rule"] or "", reason["column"] or ""), _row(row, reason)
        looked_at += batch.num_rows
        if looked_at >= ROWS_LOOKED_AT:
            return


def _row(row: dict[str, Any], reason: dict[str, Any]) -> SetAsideRow:
    return SetAsideRow(row.get("file") or "", row.get("line") or 0, row.get("element") or 0, reason["value"])


def _wanted(run_ids: Collection[str] | None) -> Wanted:
    is_open: dict[str, Collection[Any]] = {"state": [OPEN, None]}
    return is_open if run_ids is None else {**is_open, "run_id": run_ids}
