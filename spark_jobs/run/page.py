"""The page about a run or a rebuild, written when it has ended, and the end of runs that were killed. What
is in the way of a page fails no run.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from spark_jobs.config import Project
from spark_jobs.config.graph import keeps_late, node_names
from spark_jobs.failure import first_line, keep_trace, keep_trace_outside
from spark_jobs.lake.counts import Counts
from spark_jobs.lake.layout import Lake
from spark_jobs.lake.lease import Lease
from spark_jobs.lake.ledger import Ledger
from spark_jobs.lake.sequence import MARKER, read_markers, read_ordered
from spark_jobs.lake.states import KILLED, TableEnd, derive_states, write_states
from spark_jobs.run.order import BEGUN, RunOrder
from spark_jobs.run.result import TableRun


def write_page(order: RunOrder, runs: Mapping[str, TableRun]) -> tuple[str | None, str | None, list[str]]:
    """Write the page about this run: gives its place below the reports, its verdict, and what was in the way,
    which fails no run.

    The verdict on each table alone is noted with what it did.
    """
    if not order.project.lakehouse.keep_reports:
        return None, None, []
    from spark_jobs.report.collect import collect_report
    from spark_jobs.report.verdict import judge_table
    from spark_jobs.report.write import write_collected

    try:
        report = collect_report(order.project, order.plan.pipeline.name, order.run_id, datetime.now(UTC))
        page = write_collected(order.project, report)
    except Exception as error:  # noqa: BLE001 - the tables are what counts; `weir report` makes the page again
        keep_trace(order.log_file, "the report", error)
        said = (
            f"the report could not be written: {first_line(error)}; `weir report {order.plan.pipeline.name}`"
            " tries again"
        )
        return None, None, [said]
    for table in report.tables:
        if table.name in runs:
            runs[table.name].verdict = judge_table(table, report.gates, report.balance).value
    return page.relative_to(order.project.reports).as_posix(), report.verdict.outcome.value, []


# Runs that were killed: they could not say so themselves, and have no page. The next start writes both,
# from what the ledger has.


PAGES = 3
"""Pages of so many killed runs are made at once; `weir report PIPELINE --run ID` makes those of others."""
MESSAGE = (
    "killed: it ended without a word, as after kill -9, a crash of the JVM or a loss of power; what is"
    " published stays"
)


def close_killed_runs(project: Project, name: str, lease: Lease) -> None:
    """Write the end of every run that is not at work any more and has not said so, how its tables ended, and
    its page.

    The lease is held, so no other run is at work; one of this process may be: the open queries of a stream.
    """
    try:
        ledger = Ledger(Lake(project.lake, name), lease.check)
        killed = [row for row in ledger.open_runs() if row["run_id"] not in BEGUN]
        for row in killed:
            _close(project, ledger, row)
        if killed and project.lakehouse.keep_reports:
            from spark_jobs.report.write import write_report  # not for a run with nothing to do

            for row in killed[-PAGES:]:
                write_report(project, name, row["run_id"])
    except Exception as error:  # noqa: BLE001 - it only tells a story: whatever is wrong with the lake, the run itself meets it next
        keep_trace_outside(project.root, name, "the report of a killed run", error)


def _close(project: Project, ledger: Ledger, started: dict[str, Any]) -> None:
    run_id, now = str(started["run_id"]), datetime.now(UTC)
    write_states(ledger, _ends(project, ledger.lake, run_id), now)
    event = str(started["event"]).replace("started", "ended")
    known = {name: started.get(name) for name in ("host", "pid", "origin")}
    ledger.write_run(run_id=run_id, at=now, event=event, status=KILLED, message=MESSAGE, **known)


def _ends(project: Project, lake: Lake, run_id: str) -> list[TableEnd]:
    """How its tables ended, with those that it had begun and not ended."""
    pipeline, wanted = project.pipelines[lake.pipeline], {"run_id": [run_id]}
    batches = read_markers(lake, ["run_id", "late"], wanted)
    begun = read_ordered(lake, "intents", ["run_id", *MARKER], wanted)
    ended = [row["table"] for row in read_ordered(lake, "tables", ["run_id", "table"], wanted)]
    gates = read_ordered(lake, "gates", ["run_id", *MARKER, "verdict", "grounds"], wanted)
    found = derive_states(run_id, KILLED, [*begun, *batches], ended, gates)
    late = {
        table: (
            sum(max(0, Counts.of_row(row).late) for row in batches if row["table"] == table)
            if keeps_late(pipeline, table)
            else 0
        )
        for table in found
    }
    known = node_names(pipeline)
    return [replace(end, late_kept=late[table]) for table, end in found.items() if table in known]
