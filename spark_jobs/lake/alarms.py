"""Shares of rows that a person should not miss: all of them set aside, or far more than before. Numbers enter, sentences leave."""

from collections.abc import Iterator

from spark_jobs.config.text import count
from spark_jobs.lake.counts import Counts

LEAST_ROWS = 20
"""A share of fewer rows says little."""
LEAST_SHARE = 0.05
TIMES = 3
"""A share that is so many times the one before has jumped."""
WORDS = {"quarantined": "quarantined", "parked": "parked", "late": "too late for a window and not counted"}


def is_all_set_aside(table: str, counts: Counts, late_kept: int) -> bool:
    """Whether rows came and readers get none of them, because all are in quarantine, or too late."""
    if table.startswith("gold."):
        return late_kept >= counts.rows_in > 0  # a window that they touch is written again as it was
    return table.startswith(("silver.", "dimension.")) and 0 < counts.rows_in == counts.quarantined + counts.filtered > counts.filtered


def find_alarms(table: str, counts: Counts, late_kept: int, before: Counts, late_kept_before: int) -> Iterator[str]:
    """Sentences about one table in one run; `before` is what became of its rows until then."""
    rows, rows_before = counts.rows_in, before.rows_in
    if is_all_set_aside(table, counts, late_kept):
        what = "late" if table.startswith("gold.") else "quarantined"
        kept = late_kept if what == "late" else counts.quarantined
        came = f"all {count(kept, 'row')} that came are" if kept > 1 else "the one row that came is"
        yield f"{table}: {came} {WORDS[what]}" + ("" if what == "late" else ": none is published")
        return
    pairs = {"quarantined": (counts.quarantined, before.quarantined), "parked": (counts.parked, before.parked)}
    pairs |= {"late": (late_kept, late_kept_before)}
    for what, (now, then) in pairs.items():
        if table.startswith(("bronze.", "sink.")) or rows < LEAST_ROWS or rows_before < LEAST_ROWS:
            return
        share, share_before = now / rows, max(0, then) / rows_before
        if share >= LEAST_SHARE and share >= TIMES * share_before:
            yield f"{table}: {share:.1%} of the rows are {WORDS[what]} ({now:,} of {rows:,}); before it was {share_before:.1%}"
