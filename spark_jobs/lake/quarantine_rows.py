"""The rows of a quarantine table in pieces, as far as they are selected. Only the columns that are asked for are read.

Tables of earlier versions have no state, no first_seen_at and no attempts: their rows are open, seen when they were set aside, and
were never replayed.
"""

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from spark_jobs.lake.scan import scan_pieces
from spark_jobs.lake.selection import OPEN, Selection

ROWS_AT_ONCE = 65_536


def scan_selected(path: str, columns: tuple[str, ...], selection: Selection) -> Iterator[pa.Table]:
    """The selected rows in pieces, with `state` and `first_seen_at` besides these columns; none where there is no such table."""
    for batch in scan_pieces(path, (*columns, "state", "first_seen_at", "set_aside_at"), ROWS_AT_ONCE):
        rows = complete(batch)
        selected = rows.filter(_is_selected(rows, selection))
        if len(selected):
            yield selected


def complete(batch: pa.RecordBatch) -> pa.Table:
    """With the columns that an older table has not."""
    rows = pa.Table.from_batches([batch])
    seen = rows.column("first_seen_at") if "first_seen_at" in rows.column_names else pa.nulls(len(rows), rows.column("set_aside_at").type)
    state = rows.column("state") if "state" in rows.column_names else pa.nulls(len(rows), pa.string())
    columns = {name: rows.column(name) for name in rows.column_names}
    columns |= {"first_seen_at": pc.coalesce(seen, rows.column("set_aside_at")), "state": pc.fill_null(state, OPEN)}
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
