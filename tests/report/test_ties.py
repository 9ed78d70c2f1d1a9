"""Ties in a report: a run with them needs a look, and says where."""

from datetime import UTC, datetime

from spark_jobs.lake.counts import Counts
from spark_jobs.report.facts import Outcome, Run, TableFact, TableState
from spark_jobs.report.flow_nodes import make_nodes
from spark_jobs.report.verdict import judge_run, judge_table

AT = datetime(2026, 3, 1, tzinfo=UTC)


def table(ties: int) -> TableFact:
    counts = Counts(rows_in=10, updated=10, ties=ties)
    return TableFact("silver.orders", TableState.DONE, counts, batches=1, seconds=1.0, version=1)


def test_a_run_with_ties_is_good_with_warnings_and_names_the_table_and_the_keys() -> None:
    run = Run("r1", "run", "ok", "1 table brought up to date", "host", 1, AT, AT)

    tied, clear = (judge_run("shop", run, [table(ties)], [], [], []) for ties in (3, 0))

    assert (tied.outcome, clear.outcome) == (Outcome.WARNINGS, Outcome.GOOD)
    assert tied.notes == (
        "silver.orders: 3 keys have versions with the same sequence and different content.",
    )
    assert judge_table(table(1), [], []) is Outcome.WARNINGS


def test_the_picture_of_a_run_shows_tied_keys_beside_their_table() -> None:
    [node] = make_nodes([], [table(1)], [])

    assert [(branch.text, branch.is_alarming) for branch in node.branches] == [("1 key tied", True)]
