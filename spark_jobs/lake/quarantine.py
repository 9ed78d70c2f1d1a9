"""Looks into quarantine tables without a JVM: how many rows each rule has set aside, and the rows themselves.
A table of a million rows takes seconds, and no more memory than a small one.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.lake.delta_log import count_rows
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.scan import Wanted, column_names, count_where, scan, scan_pieces
from spark_jobs.lake.selection import OPEN, Selection

# The rows of a quarantine table in pieces, as far as they are selected. Only the columns that are asked for
# are read. Tables of earlier versions have no state, no first_seen_at and no attempts: their rows are open,
# seen when they were set aside, and were never replayed.

ROWS_AT_ONCE = 65_536


def scan_selected(path: str, columns: tuple[str, ...], selection: Selection) -> Iterator[pa.Table]:
    """The selected rows in pieces, with `state` and `first_seen_at` besides these columns; none where there
    is no such table.
    """
    for batch in scan_pieces(path, (*columns, "state", "first_seen_at", "set_aside_at"), ROWS_AT_ONCE):
        rows = complete(batch)
        selected = rows.filter(_is_selected(rows, selection))
        if len(selected):
            yield selected


def complete(batch: pa.RecordBatch) -> pa.Table:
    """With the columns that an older table has not."""
    rows = pa.Table.from_batches([batch])
    seen = (
        rows.column("first_seen_at")
        if "first_seen_at" in rows.column_names
        else pa.nulls(len(rows), rows.column("set_aside_at").type)
    )
    state = rows.column("state") if "state" in rows.column_names else pa.nulls(len(rows), pa.string())
    columns = {name: rows.column(name) for name in rows.column_names}
    columns |= {
        "first_seen_at": pc.coalesce(seen, rows.column("set_aside_at")),
        "state": pc.fill_null(state, OPEN),
    }
    return pa.table(columns)


def _is_selected(rows: pa.Table, selection: Selection) -> pa.ChunkedArray:
    chosen = pc.is_in(rows.column("state"), pa.array(selection.states, pa.string()))
    seen = rows.column("first_seen_at")
    if selection.seen_from:
        chosen = pc.and_(chosen, pc.greater_equal(seen, pa.scalar(selection.seen_from, seen.type)))
    if selection.seen_before:
        chosen = pc.and_(chosen, pc.less(seen, pa.scalar(selection.seen_before, seen.type)))
    if selection.files:
        chosen = pc.and_(chosen, by_value(rows.column("file"), selection.matches_file))
    if selection.rules:
        reasons = rows.column("reasons").combine_chunks()
        is_named = by_value(pc.list_flatten(reasons).field("rule"), selection.matches_rule)
        matching = pc.unique(pc.list_parent_indices(reasons).filter(is_named))
        chosen = pc.and_(chosen, pc.is_in(pa.array(range(len(rows)), matching.type), matching))
    return chosen


def by_value(values: Any, is_wanted: Callable[[Any], bool]) -> Any:
    """Asked once per different value."""
    wanted = [value for value in pc.unique(values).to_pylist() if is_wanted(value)]
    return pc.is_in(values, pa.array(wanted, pa.string()))


PLACE = ("file_id", "line", "element")
"""What a quarantined row is known by within its table."""
SHOWN = (
    "record",
    "reasons",
    "file",
    *PLACE,
    "arrived_at",
    "set_aside_at",
    "run_id",
    "batch",
    "rules",
    "first_seen_at",
    "attempts",
    "state",
)
RECORDS_AT_ONCE = 512
ORDER = [("first_seen_at", "descending"), ("file", "ascending"), *((name, "ascending") for name in PLACE)]

Place = tuple[str, int, int]
Row = dict[str, Any]


@dataclass(frozen=True)
class RuleCount:
    """How many rows of a table are in a state for a rule. A row with several reasons counts for each of their
    rules, once.
    """

    table: str
    rule: str
    state: str
    rows: int
    first_seen_at: datetime
    newest_at: datetime
    example_file: str

    def __add__(self, other: "RuleCount") -> "RuleCount":
        newest = max(self, other, key=lambda count: count.newest_at)
        return replace(
            newest, rows=self.rows + other.rows, first_seen_at=min(self.first_seen_at, other.first_seen_at)
        )


def count_rules(lake: Lake, table: str, selection: Selection) -> list[RuleCount]:
    """The selected rows of the quarantine of one table (as in silver.orders), per rule and state, most rows
    first.
    """
    found: dict[tuple[str, str], RuleCount] = {}
    for rows in scan_selected(_path(lake, table), ("reasons", "file"), selection):
        for count in _count_batch(table, rows, selection):
            key = (count.rule, count.state)
            found[key] = found[key] + count if key in found else count
    return sorted(found.values(), key=lambda count: (-count.rows, count.rule, count.state))


def newest_rows(lake: Lake, table: str, selection: Selection, limit: int) -> tuple[list[Row], int]:
    """The newest selected rows with all that is known of them, and how many there are in all. At most `limit`
    are kept at any time.
    """
    best, total = None, 0
    for rows in scan_selected(_path(lake, table), ("reasons", "file", *PLACE), selection):
        total += len(rows)
        places = rows.select(["first_seen_at", "file", *PLACE])
        candidates = places if best is None else pa.concat_tables([best, places])
        best = candidates.take(pc.sort_indices(candidates, sort_keys=ORDER)[:limit])
    wanted = [tuple(row[name] for name in PLACE) for row in best.to_pylist()] if best is not None else []
    return find_rows(lake, table, wanted), total


def find_rows(lake: Lake, table: str, places: Iterable[Place]) -> list[Row]:
    """The rows at these places, in their order; what is not there is left out."""
    import pyarrow.dataset as ds  # takes a third of a second: not for a look that finds nothing

    wanted = list(places)
    if not wanted:
        return []
    is_near = ds.field("file_id").isin(sorted({place[0] for place in wanted})) & ds.field("line").isin(
        sorted({place[1] for place in wanted})
    )
    is_wanted, found = set(wanted), dict[Place, Row]()
    for batch in scan_pieces(_path(lake, table), SHOWN, RECORDS_AT_ONCE, is_near):
        places_here = zip(*(batch.column(name).to_pylist() for name in PLACE), strict=True)
        for index in [index for index, place in enumerate(places_here) if place in is_wanted]:
            [row] = complete(batch.slice(index, 1)).to_pylist()
            found[row["file_id"], row["line"], row["element"]] = row
    return [found[place] for place in wanted if place in found]


def _count_batch(table: str, rows: pa.Table, selection: Selection) -> Iterator[RuleCount]:
    reasons = rows.column("reasons").combine_chunks()
    parents = pc.list_parent_indices(reasons)
    rules = pc.list_flatten(reasons).field("rule")
    each = pa.table({"row": parents, "rule": rules}).group_by(["row", "rule"]).aggregate([])
    each = each.filter(by_value(each.column("rule"), selection.matches_rule))
    named = pa.table(
        {
            "rule": each.column("rule"),
            **{
                name: rows.column(name).take(each.column("row"))
                for name in ("state", "first_seen_at", "file")
            },
        }
    )
    # Sorted, so that the last file of a group is that of its newest row.
    groups = named.sort_by([("first_seen_at", "ascending"), ("file", "ascending")]).group_by(
        ["rule", "state"], use_threads=False
    )
    numbers = [
        ("first_seen_at", "count"),
        ("first_seen_at", "min"),
        ("first_seen_at", "max"),
        ("file", "last"),
    ]
    for row in groups.aggregate(numbers).to_pylist():
        count, first, newest, file = (row[f"{column}_{kind}"] for column, kind in numbers)
        yield RuleCount(table, row["rule"], row["state"], count, first, newest, file)


def _path(lake: Lake, table: str) -> str:
    return lake.table(f"quarantine.{table}")


# Why rows were set aside: counts by reason, and some of the rows, from a quarantine or parked table of any
# size. No JVM.


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
