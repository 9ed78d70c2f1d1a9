"""The page about a run or a rebuild, written when it has ended. What is in its way fails no run."""

from collections.abc import Mapping
from datetime import UTC, datetime

from spark_jobs.failure import first_line, keep_trace
from spark_jobs.run.order import RunOrder
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
