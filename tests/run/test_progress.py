"""What is said of a table where nobody watches a terminal: when it starts, how far it has come, and once what
became of its rows.
"""

from dataclasses import replace
from io import StringIO

from spark_jobs.lake.counts import Counts
from spark_jobs.run.progress import LineProgress
from spark_jobs.run.result import State, TableRun

ONE = TableRun("silver.orders", State.RUNNING, batches=1, counts=Counts(rows_in=3, inserted=3), seconds=1.5)


def said_of(*runs: TableRun) -> list[str]:
    out = StringIO()
    progress = LineProgress(out)
    for run in runs:
        progress.show(run)
    return [" ".join(line.split()) for line in out.getvalue().splitlines()]


def test_the_counts_of_a_table_with_one_batch_come_once() -> None:
    said = said_of(TableRun("silver.orders", State.RUNNING), ONE, ONE, replace(ONE, state=State.DONE))

    assert said == ["silver.orders running", "silver.orders done 3 rows: 3 inserted in 1.5 s, 2 rows/s"]


def test_further_batches_say_how_many_rows_have_come() -> None:
    more = [
        replace(ONE, batches=number, counts=Counts(rows_in=3 * number, inserted=3 * number))
        for number in (2, 3)
    ]

    said = said_of(ONE, *more, replace(more[-1], state=State.DONE))

    assert said == [
        "silver.orders running batch 2: 6 rows so far, 1.5 s",
        "silver.orders running batch 3: 9 rows so far, 1.5 s",
        "silver.orders done 9 rows: 9 inserted in 1.5 s, 6 rows/s",
    ]


def test_files_are_no_quarantined_rows_and_of_a_table_made_anew_none_came_in() -> None:
    bronze = TableRun(
        "bronze.orders", State.DONE, 1, Counts(rows_in=5, inserted=4, quarantined=1), seconds=10
    )
    whole = TableRun("gold.top", State.DONE, 1, Counts(inserted=3), seconds=1.5)

    blocked = TableRun("silver.orders", State.BLOCKED, seconds=3.5, error="silver.orders: batch blocked")

    assert said_of(bronze, whole, blocked) == [
        "bronze.orders done 5 rows: 4 inserted, 1 unreadable file in 10.0 s, < 1 row/s",
        "gold.top done 3 inserted in 1.5 s",
        "silver.orders blocked after 3.5 s: batch blocked",
    ]
